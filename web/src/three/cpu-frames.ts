// Vertices of a mesh animation that a processor has decoded, written into the geometry frame by frame.

import { BufferAttribute, type BufferGeometry, DynamicDrawUsage, type Material, type Vector3 } from "three";
import type { MeshFrames } from "./mesh.js";

/** Smooth normals cost time on every frame; meshes above this are shaded flat. */
const SMOOTH_VERTICES = 40_000;

export class CpuFrames implements MeshFrames {
  readonly kind = "cpu";
  readonly smooth: boolean;
  private geometry: BufferGeometry | null = null;

  /** `read(frame)` gives the [vertices * 3] numbers of a frame; they may be overwritten when it is called again. */
  constructor(
    readonly vertices: number,
    readonly frames: number,
    private readonly read: (frame: number) => Float32Array,
  ) {
    this.smooth = vertices <= SMOOTH_VERTICES;
  }

  /** Of one frame: what a graphics processor is sent. */
  get bytes(): number {
    return 12 * this.vertices;
  }

  attach(geometry: BufferGeometry): void {
    this.geometry = geometry;
    const positions = new BufferAttribute(new Float32Array(3 * this.vertices), 3);
    geometry.setAttribute("position", positions.setUsage(DynamicDrawUsage));
  }

  adopt<T extends Material>(material: T): T {
    return material;
  }

  show(before: number, after: number, share: number): void {
    const positions = this.geometry!.getAttribute("position") as BufferAttribute;
    const { array } = positions;
    array.set(this.read(before));
    if (share) this.read(after).forEach((value, i) => (array[i]! += share * (value - array[i]!)));
    positions.needsUpdate = true;
    if (this.smooth) this.geometry!.computeVertexNormals();
    this.geometry!.computeBoundingSphere();
  }

  point(vertex: number, out: Vector3): Vector3 {
    return out.fromBufferAttribute(this.geometry!.getAttribute("position"), vertex);
  }

  dispose(): void {}
}
