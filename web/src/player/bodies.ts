// A motion in the scene: bones and joints of a skeleton, or a mesh.

import {
  BufferAttribute,
  BufferGeometry,
  Color,
  CylinderGeometry,
  DoubleSide,
  DynamicDrawUsage,
  Group,
  InstancedMesh,
  type Material,
  Matrix4,
  Mesh,
  MeshStandardMaterial,
  Quaternion,
  SphereGeometry,
  Vector3,
} from "three";
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

/** Smooth normals cost time on every frame; meshes above this are shaded flat. */
const SMOOTH_VERTICES = 40_000;

class MeshBody implements Body {
  readonly root = new Group();
  private readonly geometry = new BufferGeometry();
  private readonly material: MeshStandardMaterial;
  private readonly smooth: boolean;

  constructor(private readonly motion: Motion) {
    const { layout } = motion.clip;
    if (layout.kind !== "mesh") throw new Error("not a mesh");
    this.smooth = layout.vertices <= SMOOTH_VERTICES;
    for (const name of ["position", "color"]) {
      const attribute = new BufferAttribute(new Float32Array(3 * layout.vertices), 3);
      this.geometry.setAttribute(name, attribute.setUsage(DynamicDrawUsage));
    }
    this.geometry.setIndex(new BufferAttribute(layout.faces, 1));
    this.material = new MeshStandardMaterial({
      vertexColors: true, side: DoubleSide, roughness: 0.65, flatShading: !this.smooth,
    });
    const mesh = new Mesh(this.geometry, this.material);
    mesh.frustumCulled = false;
    this.root.add(mesh);
  }

  show(frame: number): void {
    const positions = this.geometry.getAttribute("position") as BufferAttribute;
    positions.array.set(this.motion.drawnAt(frame));
    positions.needsUpdate = true;
    if (this.smooth) this.geometry.computeVertexNormals();
  }

  paint(colour: Color, errors: Float32Array | null, scale: number): void {
    const colours = this.geometry.getAttribute("color") as BufferAttribute;
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
    this.geometry.dispose();
    this.material.dispose();
  }
}

function seeThrough(material: Material, opacity: number): void {
  const transparent = opacity < 1;
  if (material.transparent !== transparent) material.needsUpdate = true;
  material.transparent = transparent;
  material.opacity = opacity;
  material.depthWrite = !transparent;
}
