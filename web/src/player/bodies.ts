// A motion in the scene: bones and joints of a skeleton, or a mesh.

import {
  BufferAttribute,
  Color,
  CylinderGeometry,
  DoubleSide,
  DynamicDrawUsage,
  Group,
  InstancedMesh,
  type Material,
  Matrix4,
  MeshStandardMaterial,
  Quaternion,
  SphereGeometry,
  Vector3,
} from "three";
import { CpuFrames } from "../three/cpu-frames.js";
import { KineMesh } from "../three/mesh.js";
import { heat } from "./colours.js";
import type { Motion } from "./motion.js";

export interface Body {
  readonly root: Group;
  show(frame: number): void;
  /** Colours by error where there is one, else one colour. */
  paint(colour: Color, errors: Float32Array | null, scale: number): void;
  /** How much of it is seen through, for one body over another. */
  ghost(opacity: number): void;
  dispose(): void;
}

export function bodyOf(motion: Motion, size: number): Body {
  return motion.clip.layout.kind === "skeleton" ? new SkeletonBody(motion, size) : new MeshBody(motion);
}

const UP = new Vector3(0, 1, 0);

class SkeletonBody implements Body {
  readonly root = new Group();
  private readonly bones: InstancedMesh;
  private readonly joints: InstancedMesh;
  private readonly material = new MeshStandardMaterial({ roughness: 0.55, metalness: 0.05 });
  private readonly radius: number;

  constructor(
    private readonly motion: Motion,
    size: number,
  ) {
    this.radius = size * 0.0125;
    const bone = new CylinderGeometry(0.55, 1, 1, 10).translate(0, 0.5, 0); // from its joint, thinner at the end
    this.bones = new InstancedMesh(bone, this.material, Math.max(1, motion.segments.length));
    this.joints = new InstancedMesh(new SphereGeometry(1, 14, 10), this.material, motion.measured);
    for (const part of [this.bones, this.joints]) {
      part.instanceMatrix.setUsage(DynamicDrawUsage);
      part.frustumCulled = false;
      this.root.add(part);
    }
    this.bones.count = motion.segments.length;
  }

  show(frame: number): void {
    const points = this.motion.drawnAt(frame);
    const matrix = new Matrix4();
    const [a, b, along, scale, turn] = [new Vector3(), new Vector3(), new Vector3(), new Vector3(), new Quaternion()];
    this.motion.segments.forEach(({ from, to }, n) => {
      a.fromArray(points, 3 * from);
      b.fromArray(points, 3 * to);
      const length = along.subVectors(b, a).length();
      turn.setFromUnitVectors(UP, length > 1e-9 ? along.divideScalar(length) : UP);
      this.bones.setMatrixAt(n, matrix.compose(a, turn, scale.set(this.radius, Math.max(length, 1e-6), this.radius)));
    });
    for (let n = 0; n < this.motion.measured; n++) {
      const own = 1.25 * this.radius;
      this.joints.setMatrixAt(n, matrix.makeScale(own, own, own).setPosition(points[3 * n]!, points[3 * n + 1]!, points[3 * n + 2]!));
    }
    this.bones.instanceMatrix.needsUpdate = true;
    this.joints.instanceMatrix.needsUpdate = true;
  }

  paint(colour: Color, errors: Float32Array | null, scale: number): void {
    const own = new Color();
    const of = (measured: number) => (errors ? heat(errors[measured]! / scale, own) : colour);
    this.motion.segments.forEach(({ measured }, n) => this.bones.setColorAt(n, of(measured)));
    for (let n = 0; n < this.motion.measured; n++) this.joints.setColorAt(n, of(n));
    for (const part of [this.bones, this.joints]) if (part.instanceColor) part.instanceColor.needsUpdate = true;
  }

  ghost(opacity: number): void {
    seeThrough(this.material, opacity);
  }

  dispose(): void {
    this.bones.geometry.dispose();
    this.joints.geometry.dispose();
    this.bones.dispose();
    this.joints.dispose();
    this.material.dispose();
  }
}

class MeshBody implements Body {
  readonly root = new Group();
  private readonly mesh: KineMesh;
  private readonly material: MeshStandardMaterial;

  constructor(motion: Motion) {
    const { layout, frames } = motion.clip;
    if (layout.kind !== "mesh") throw new Error("not a mesh");
    const source = motion.factors?.gpu ?? new CpuFrames(layout.vertices, frames, (frame) => motion.drawnAt(frame));
    this.mesh = new KineMesh(layout, source);
    this.mesh.scale.setScalar(source.kind === "gpu" ? layout.unitCm : 1); // drawn points are in centimetres already
    const colours = new BufferAttribute(new Float32Array(3 * layout.vertices), 3);
    this.mesh.geometry.setAttribute("color", colours.setUsage(DynamicDrawUsage));
    this.material = new MeshStandardMaterial({
      vertexColors: true, side: DoubleSide, roughness: 0.65, flatShading: !source.smooth,
    });
    this.mesh.material = this.material;
    this.mesh.frustumCulled = false;
    this.root.add(this.mesh);
  }

  show(frame: number): void {
    if (frame === this.mesh.frame) this.mesh.refresh();
    else this.mesh.frame = frame;
  }

  paint(colour: Color, errors: Float32Array | null, scale: number): void {
    const colours = this.mesh.geometry.getAttribute("color") as BufferAttribute;
    const own = new Color();
    for (let n = 0; n < colours.count; n++) {
      (errors ? heat(errors[n]! / scale, own) : colour).toArray(colours.array as Float32Array, 3 * n);
    }
    colours.needsUpdate = true;
  }

  ghost(opacity: number): void {
    seeThrough(this.material, opacity);
  }

  dispose(): void {
    this.mesh.dispose();
  }
}

function seeThrough(material: Material, opacity: number): void {
  const transparent = opacity < 1;
  if (material.transparent !== transparent) material.needsUpdate = true;
  material.transparent = transparent;
  material.opacity = opacity;
  material.depthWrite = !transparent;
}
