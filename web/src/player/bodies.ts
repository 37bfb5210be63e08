// A motion in the scene: bones and joints of a skeleton, or a mesh.

import {
  BufferAttribute,
  type BufferGeometry,
  Color,
  CylinderGeometry,
  DoubleSide,
  DynamicDrawUsage,
  EqualStencilFunc,
  Group,
  IncrementStencilOp,
  InstancedMesh,
  type Material,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
  MeshStandardMaterial,
  Quaternion,
  SphereGeometry,
  Vector3,
} from "three";
import { CpuFrames } from "../three/cpu-frames.js";
import { KineMesh } from "../three/mesh.js";
import { heat, themedNumber } from "./colours.js";
import type { Motion } from "./motion.js";

export interface Body {
  readonly root: Group;
  /** A part of the root whose matrix presses the body flat. */
  readonly shadow: Group;
  show(frame: number): void;
  /** Colours by error where there is one, else one colour. */
  paint(colour: Color, errors: Float32Array | null, scale: number): void;
  /** Its shadow as the page's colours ask for. */
  recolour(): void;
  /** How much of it is seen through, for one body over another. */
  ghost(opacity: number): void;
  dispose(): void;
}

export function bodyOf(motion: Motion, size: number): Body {
  return motion.clip.layout.kind === "skeleton" ? new SkeletonBody(motion, size) : new MeshBody(motion);
}

const UP = new Vector3(0, 1, 0);
/** Of a bone's far end, against its near one. */
const THIN = 0.55;

/** The stencil lets every pixel darken once, however many parts lie over it. */
const shade = new MeshBasicMaterial({
  color: 0x000000, transparent: true, depthWrite: false, side: DoubleSide,
  stencilWrite: true, stencilFunc: EqualStencilFunc, stencilRef: 0, stencilZPass: IncrementStencilOp,
});

/** Depth alone, a little behind: drawn before a see-through body, it hides the body's own inside. */
const hull = new MeshBasicMaterial({
  colorWrite: false, transparent: true, side: DoubleSide, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1,
});
const [HULL_ORDER, BODY_ORDER] = [1, 2];

/** The parts again in another material, sharing all that moves them. */
function twins(parts: Mesh<BufferGeometry, Material | Material[]>[], material: Material, order = 0): Group {
  const group = new Group();
  for (const part of parts) {
    const own = part instanceof KineMesh ? part.twin(material) : twin(part as InstancedMesh, material.clone());
    own.scale.copy(part.scale);
    own.frustumCulled = false;
    own.renderOrder = order;
    group.add(own);
  }
  return group;
}

function twin(part: InstancedMesh, material: Material): InstancedMesh {
  const own = new InstancedMesh(part.geometry, material, part.count);
  own.instanceMatrix = part.instanceMatrix;
  return own;
}

const materialsOf = (group: Group) => group.children.map((part) => (part as Mesh).material as Material);

/** What all bodies have beside their own parts. */
abstract class Solid {
  readonly root = new Group();
  readonly shadow: Group;
  private readonly hull: Group;

  constructor(
    parts: Mesh[],
    protected readonly material: Material,
  ) {
    for (const part of parts) {
      part.frustumCulled = false;
      part.renderOrder = BODY_ORDER;
    }
    this.shadow = twins(parts, shade);
    this.shadow.matrixAutoUpdate = false;
    this.hull = twins(parts, hull, HULL_ORDER);
    this.root.add(...parts, this.shadow, this.hull);
    this.ghost(1);
    this.recolour();
  }

  recolour(): void {
    for (const material of materialsOf(this.shadow)) material.opacity = themedNumber("shadow");
  }

  ghost(opacity: number): void {
    const { material } = this;
    const transparent = opacity < 1;
    if (material.transparent !== transparent) material.needsUpdate = true;
    material.transparent = transparent;
    material.opacity = opacity;
    this.hull.visible = transparent;
  }

  dispose(): void {
    for (const material of [this.material, ...materialsOf(this.shadow), ...materialsOf(this.hull)]) material.dispose();
  }
}

class SkeletonBody extends Solid implements Body {
  private readonly radius: number;
  private readonly bones: InstancedMesh;
  private readonly joints: InstancedMesh;

  constructor(
    private readonly motion: Motion,
    size: number,
  ) {
    const material = new MeshStandardMaterial({ roughness: 0.55, metalness: 0.05 });
    const bone = new CylinderGeometry(THIN, 1, 1, 10).translate(0, 0.5, 0); // from its joint, thinner at the end
    const bones = new InstancedMesh(bone, material, Math.max(1, motion.segments.length));
    const joints = new InstancedMesh(new SphereGeometry(1, 14, 10), material, motion.drawn);
    bones.count = motion.segments.length;
    for (const part of [bones, joints]) part.instanceMatrix.setUsage(DynamicDrawUsage);
    super([bones, joints], material);
    this.radius = size * 0.0125;
    [this.bones, this.joints] = [bones, joints];
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
    for (let n = 0; n < this.motion.drawn; n++) {
      const own = (n < this.motion.measured ? 1.25 : THIN) * this.radius;
      this.joints.setMatrixAt(n, matrix.makeScale(own, own, own).setPosition(points[3 * n]!, points[3 * n + 1]!, points[3 * n + 2]!));
    }
    this.bones.instanceMatrix.needsUpdate = true;
    this.joints.instanceMatrix.needsUpdate = true;
  }

  paint(colour: Color, errors: Float32Array | null, scale: number): void {
    const own = new Color();
    const of = (measured: number) => (errors ? heat(errors[measured]! / scale, own) : colour);
    for (let n = 0; n < this.motion.measured; n++) this.joints.setColorAt(n, of(n));
    this.motion.segments.forEach(({ measured, to }, n) => {
      this.bones.setColorAt(n, of(measured));
      if (to >= this.motion.measured) this.joints.setColorAt(to, of(measured));
    });
    for (const part of [this.bones, this.joints]) if (part.instanceColor) part.instanceColor.needsUpdate = true;
  }

  override dispose(): void {
    super.dispose();
    for (const part of [this.bones, this.joints]) {
      part.geometry.dispose();
      part.dispose();
    }
  }
}

class MeshBody extends Solid implements Body {
  private readonly mesh: KineMesh;

  constructor(motion: Motion) {
    const { layout, frames } = motion.clip;
    if (layout.kind !== "mesh") throw new Error("not a mesh");
    const source = motion.factors?.gpu ?? new CpuFrames(layout.vertices, frames, (frame) => motion.drawnAt(frame));
    const mesh = new KineMesh(layout, source);
    mesh.scale.setScalar(source.kind === "gpu" ? layout.unitCm : 1); // drawn points are in centimetres already
    const colours = new BufferAttribute(new Float32Array(3 * layout.vertices), 3);
    mesh.geometry.setAttribute("color", colours.setUsage(DynamicDrawUsage));
    const material = new MeshStandardMaterial({
      vertexColors: true, side: DoubleSide, roughness: 0.65, flatShading: !source.smooth,
    });
    mesh.material = material;
    super([mesh], material);
    this.mesh = mesh;
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

  override dispose(): void {
    super.dispose();
    this.mesh.dispose();
  }
}
