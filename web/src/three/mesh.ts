// A mesh animation as a Mesh whose `frame` an AnimationMixer can drive.

import {
  AnimationClip,
  BufferAttribute,
  BufferGeometry,
  type Material,
  Mesh,
  MeshDepthMaterial,
  MeshDistanceMaterial,
  MeshStandardMaterial,
  NumberKeyframeTrack,
  type Sphere,
  type Vector3,
} from "three";
import type { Topology } from "../model.js";
import type { KineClip } from "../reader.js";

/** Where a mesh's vertices come from. */
export interface MeshFrames {
  readonly kind: "gpu" | "cpu";
  readonly frames: number;
  /** What the graphics processor keeps of the animation. */
  readonly bytes: number;
  /** Whether there are normals at the vertices; else faces are flat. */
  readonly smooth: boolean;
  /** A sphere around the frame shown, if the geometry does not have one. */
  readonly sphere?: Sphere;
  attach(geometry: BufferGeometry): void;
  adopt<T extends Material>(material: T): T;
  /** A place between two frames; share 0 is the first. */
  show(before: number, after: number, share: number): void;
  /** Where a vertex is, as shown. */
  point(vertex: number, out: Vector3): Vector3;
  dispose(): void;
}

export class KineMesh extends Mesh<BufferGeometry, Material | Material[]> {
  /** Around the frame shown; what three.js culls and sorts by. */
  readonly boundingSphere?: Sphere;
  private shown = -1;

  /** Vertices are in the file's unit; the mesh is scaled to metres. */
  constructor(
    readonly topology: Topology,
    readonly source: MeshFrames,
  ) {
    super(new BufferGeometry());
    this.geometry.setIndex(new BufferAttribute(topology.faces, 1));
    source.attach(this.geometry);
    if (source.sphere) this.boundingSphere = source.sphere;
    this.adoptMaterials();
    this.material = new MeshStandardMaterial({ color: 0x9aa5b1, roughness: 0.7, flatShading: !source.smooth });
    this.scale.setScalar(topology.unitCm / 100);
    this.frame = 0;
  }

  get frame(): number {
    return this.shown;
  }

  /** Frames may be fractions: positions in between lie on straight lines. */
  set frame(frame: number) {
    if (frame === this.shown) return;
    this.shown = frame;
    this.refresh();
  }

  /** Shows the frame again, as it may have come anew. */
  refresh(): void {
    const { frame } = this;
    const last = this.source.frames - 1;
    const before = Math.min(Math.max(Math.floor(frame), 0), last);
    this.geometry.boundingBox = this.geometry.boundingSphere = null;
    this.source.show(before, Math.min(before + 1, last), Math.min(Math.max(frame - before, 0), 1));
  }

  override getVertexPosition(vertex: number, out: Vector3): Vector3 {
    return this.source.point(vertex, out);
  }

  /** The same vertices, always, drawn once more with a copy of another material: shadows, outlines. */
  twin<T extends Material>(material: T): Mesh<BufferGeometry, T> {
    const twin = new Mesh(this.geometry, this.source.adopt(material.clone()));
    twin.scale.copy(this.scale);
    twin.frustumCulled = false; // the sphere is this mesh's
    return twin;
  }

  override dispose(): void {
    this.geometry.dispose();
    for (const material of [this.material, this.customDepthMaterial, this.customDistanceMaterial].flat()) material?.dispose();
    this.source.dispose();
  }

  /** Whatever material the mesh is given draws it, and casts its shadow. */
  private adoptMaterials(): void {
    const { source } = this;
    let own = this.material;
    Object.defineProperty(this, "material", {
      get: () => own,
      set: (wanted: Material | Material[]) => {
        if (wanted !== own) own = Array.isArray(wanted) ? wanted.map((one) => source.adopt(one)) : source.adopt(wanted);
      },
    });
    if (source.kind === "cpu") return;
    this.customDepthMaterial = source.adopt(new MeshDepthMaterial());
    this.customDistanceMaterial = source.adopt(new MeshDistanceMaterial());
  }
}

/** Drives the mesh's `frame` evenly through time. */
export function meshClip(source: KineClip, mesh: KineMesh): AnimationClip {
  mesh.name ||= "mesh";
  const last = source.frames - 1;
  const track = new NumberKeyframeTrack(".frame", [0, Math.max(last, 1) * source.frameTime], [0, last]);
  return new AnimationClip(source.name || "clip", source.duration, [track]);
}
