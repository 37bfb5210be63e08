// The 3D view: one or two bodies, a floor, a camera that can follow.

import {
  AmbientLight,
  Box3,
  DirectionalLight,
  Group,
  HemisphereLight,
  Matrix4,
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

/** Where the light comes from. */
const SUN = new Vector3(1, 2.2, 1.6);
/** Radians between the camera and a straight look at the body's broad side, and above the floor. */
const [TURNED, RAISED] = [0.6, 0.2];
/** Distance of the camera in sizes of the body, its angle of view, and the air around the body. */
const [DISTANCE, ANGLE_DEG, AIR] = [1.78, 38, 1.15];

export class Stage {
  view: View = "copy";
  follow = true;
  original: Body | null = null;
  copy: Body | null = null;
  private readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly world = new Group();
  private readonly camera = new PerspectiveCamera(ANGLE_DEG, 1, 1, 1e5);
  private readonly controls: OrbitControls;
  private readonly floor = new Floor();
  private readonly centre = new Vector3();
  /** Direction from the body to the camera when it is brought back. */
  private readonly outlook = new Vector3(0, 0, 1);
  private size = 200;
  /** How wide the body is over the floor. */
  private breadth = 100;

  /** Told when the graphics processor cannot run a shader. */
  onRefusal: () => void = () => {};

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true, stencil: true });
    this.renderer.debug.onShaderError = () => this.onRefusal();
    this.renderer.setClearAlpha(0);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.scene.add(this.world, this.floor, new AmbientLight(0xffffff, 0.7), new HemisphereLight(0xffffff, 0x8090a0, 1.1));
    const sun = new DirectionalLight(0xffffff, 2.2);
    sun.position.copy(SUN);
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
    this.lookAtBroadSide(motion.drawnAt(frame));
    this.castShadows();
    this.home();
  }

  get bodySize(): number {
    return this.size;
  }

  /** The longest side that a texture may have. */
  get longestTexture(): number {
    return this.renderer.capabilities.maxTextureSize;
  }

  home(): void {
    this.controls.target.copy(this.centre);
    this.camera.position.copy(this.centre).addScaledVector(this.outlook, DISTANCE * this.size);
    this.camera.near = this.size / 200;
    this.camera.far = this.size * 200;
    this.camera.updateProjectionMatrix();
    this.controls.update();
  }

  /** Turns the camera about the body and toward it, by radians and by a factor of the distance. */
  orbit(around: number, up: number, nearer: number): void {
    const { target } = this.controls;
    const arm = this.camera.position.clone().sub(target);
    const polar = Math.min(Math.max(Math.acos(arm.y / arm.length()) - up, 0.05), Math.PI - 0.05);
    const azimuth = Math.atan2(arm.x, arm.z) + around;
    arm.setFromSphericalCoords(arm.length() * nearer, polar, azimuth);
    this.camera.position.copy(target).add(arm);
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
    this.castShadows();
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
    for (const body of [this.original, this.copy]) body?.recolour();
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

  /** The outlook on the side where points spread most over the floor, a little from the front and from above. */
  private lookAtBroadSide(points: Float32Array): void {
    let [xx, xz, zz, farthest] = [0, 0, 0, 0];
    const place = new Vector3();
    for (let i = 0; i < points.length; i += 3) {
      const { x, z } = this.world.localToWorld(place.fromArray(points, i)).sub(this.centre);
      xx += x * x;
      xz += x * z;
      zz += z * z;
      farthest = Math.max(farthest, Math.hypot(x, z));
    }
    this.breadth = 2 * farthest;
    const along = 0.5 * Math.atan2(2 * xz, xx - zz);
    const facing = -along; // the azimuth that is square to it, or its opposite: the one that looks from the front, z
    const azimuth = (Math.cos(facing) < 0 ? facing + Math.PI : facing) + TURNED;
    this.outlook.setFromSphericalCoords(1, Math.PI / 2 - RAISED, azimuth);
  }

  /** Shadows are the bodies pressed flat on the floor along the light. */
  private castShadows(): void {
    const [x, z] = [SUN.x / SUN.y, SUN.z / SUN.y];
    const height = this.floor.position.y;
    const flat = new Matrix4().set(1, -x, 0, x * height, 0, 0, 0, height, 0, -z, 1, z * height, 0, 0, 0, 1);
    const world = this.world.matrixWorld;
    flat.premultiply(world.clone().invert()).multiply(world);
    for (const body of [this.original, this.copy]) body?.shadow.matrix.copy(flat);
  }

  private pane(x: number, y: number, width: number, height: number): void {
    this.renderer.setViewport(x, y, width, height);
    this.renderer.setScissor(x, y, width, height);
    this.camera.aspect = width / Math.max(height, 1);
    // A narrow pane sees a wider angle, so that the body still fits into it.
    const needed = (AIR * this.breadth) / (2 * DISTANCE * this.size * this.camera.aspect);
    this.camera.fov = Math.max(ANGLE_DEG, (360 / Math.PI) * Math.atan(needed));
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
