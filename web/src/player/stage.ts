// The 3D view: one or two bodies, a floor, a camera that can follow.

import {
  AmbientLight,
  Box3,
  DirectionalLight,
  Group,
  HemisphereLight,
  PerspectiveCamera,
  Scene,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import type { Body } from "./bodies.js";
import { Floor } from "./floor.js";
import type { Motion } from "./motion.js";

export type View = "overlay" | "side" | "copy" | "original";

export class Stage {
  view: View = "copy";
  follow = true;
  original: Body | null = null;
  copy: Body | null = null;
  private readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly world = new Group();
  private readonly camera = new PerspectiveCamera(38, 1, 1, 1e5);
  private readonly controls: OrbitControls;
  private readonly floor = new Floor();
  private readonly centre = new Vector3();
  private size = 200;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.renderer.setClearAlpha(0);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.scene.add(this.world, this.floor, new AmbientLight(0xffffff, 0.7), new HemisphereLight(0xffffff, 0x8090a0, 1.1));
    const sun = new DirectionalLight(0xffffff, 2.2);
    sun.position.set(1, 2.2, 1.6);
    this.scene.add(sun);
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  /** How large the motion is and where it starts, from its frames at hand. */
  fit(motion: Motion, frame: number): void {
    const box = new Box3().setFromArray(Array.from(motion.drawnAt(frame)));
    this.size = Math.max(box.getSize(new Vector3()).length(), 1e-3);
    const low = this.lowest(motion);
    box.getCenter(this.centre);
    this.world.localToWorld(this.centre);
    this.floor.place(low, 10 ** Math.round(Math.log10(this.size / 3)));
    this.home();
  }

  get bodySize(): number {
    return this.size;
  }

  home(): void {
    this.controls.target.copy(this.centre);
    const narrow = this.canvas.clientWidth < this.canvas.clientHeight ? 1.25 : 1;
    this.camera.position.copy(this.centre).add(new Vector3(0.75, 0.35, 1.55).multiplyScalar(this.size * narrow));
    this.camera.near = this.size / 200;
    this.camera.far = this.size * 200;
    this.camera.updateProjectionMatrix();
    this.controls.update();
  }

  set zUp(wanted: boolean) {
    this.world.rotation.x = wanted ? -Math.PI / 2 : 0;
    this.world.updateMatrixWorld(true);
  }

  put(original: Body | null, copy: Body | null): void {
    for (const body of [this.original, this.copy]) {
      if (body && body !== original && body !== copy) {
        this.world.remove(body.root);
        body.dispose();
      }
    }
    [this.original, this.copy] = [original, copy];
    for (const body of [original, copy]) if (body) this.world.add(body.root);
  }

  /** Moves the camera with the body by what its middle moved since the last time. */
  track(point: number[]): void {
    const middle = this.world.localToWorld(new Vector3().fromArray(point));
    if (this.follow) {
      const moved = middle.clone().sub(this.centre);
      moved.y = 0; // jumps and steps stay visible
      this.camera.position.add(moved);
      this.controls.target.add(moved);
    }
    this.centre.copy(middle);
  }

  recolour(): void {
    this.floor.recolour();
  }

  /** Panes of the canvas: one, or two side by side (one over the other where it is taller than wide). */
  get panes(): "single" | "row" | "column" {
    if (this.view !== "side" || !this.original || !this.copy) return "single";
    return this.canvas.clientWidth >= this.canvas.clientHeight * 0.95 ? "row" : "column";
  }

  render(): void {
    this.controls.update();
    this.floor.follow(this.controls.target, this.size);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const [a, b] = [this.original, this.copy];
    const panes = this.panes;
    this.renderer.setScissorTest(panes !== "single");
    if (panes === "single") {
      if (a) a.root.visible = this.view === "overlay" || this.view === "original" || !b;
      if (b) b.root.visible = this.view !== "original" || !a;
      this.pane(0, 0, width, height);
    } else {
      const [w, h] = panes === "row" ? [width / 2, height] : [width, height / 2];
      a!.root.visible = true;
      b!.root.visible = false;
      this.pane(0, panes === "row" ? 0 : h, w, h);
      a!.root.visible = false;
      b!.root.visible = true;
      this.pane(panes === "row" ? w : 0, 0, w, h);
    }
  }

  private pane(x: number, y: number, width: number, height: number): void {
    this.renderer.setViewport(x, y, width, height);
    this.renderer.setScissor(x, y, width, height);
    this.camera.aspect = width / Math.max(height, 1);
    this.camera.updateProjectionMatrix();
    this.renderer.render(this.scene, this.camera);
  }

  private lowest(motion: Motion): number {
    let low = Infinity;
    const point = new Vector3();
    const step = Math.max(1, Math.floor(motion.clip.frames / 50));
    for (let frame = 0; frame < motion.clip.frames; frame += step) {
      if (motion.stream.have[motion.clip.runAt(frame)]! <= 0) continue;
      const points = motion.drawnAt(frame);
      for (let i = 0; i < points.length; i += 3) {
        low = Math.min(low, this.world.localToWorld(point.fromArray(points, i)).y);
      }
    }
    return Number.isFinite(low) ? low : 0;
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(clientWidth, clientHeight, false);
  }
}
