// Vertices of a mesh animation that a processor has decoded, written into the geometry frame by frame.

import { BufferAttribute, type BufferGeometry, DynamicDrawUsage, type Material, type Vector3 } from "three";
import type { MeshFrames } from "./mesh.js";

/** Smooth normals cost time on every frame; meshes above this are shaded flat. */
const SMOOTH_VERTICES = 40_000;

export class CpuFrames implements MeshFrames {
  readonly kind = "cpu";
  readonly smooth: boolean;
  private readonly width: number;
  private geometry: BufferGeometry | null = null;

  /** `vertices[frame * count * 3 + …]`; may still be filled in. */
  constructor(
    readonly vertices: Float32Array,
    count: number,
  ) {
    this.width = 3 * count;
    this.smooth = count <= SMOOTH_VERTICES;
  }

  get frames(): number {
    return this.vertices.length / this.width;
  }

  /** Of one frame: what a graphics processor is sent. */
  get bytes(): number {
    return 4 * this.width;
  }

  attach(geometry: BufferGeometry): void {
    this.geometry = geometry;
    const positions = new BufferAttribute(new Float32Array(this.width), 3);
    geometry.setAttribute("position", positions.setUsage(DynamicDrawUsage));
  }

  adopt<T extends Material>(material: T): T {
    return material;
  }

  show(before: number, after: number, share: number): void {
    const [a, b] = [before * this.width, after * this.width];
    const positions = this.geometry!.getAttribute("position") as BufferAttribute;
    for (let i = 0; i < this.width; i++) {
      positions.array[i] = this.vertices[a + i]! + share * (this.vertices[b + i]! - this.vertices[a + i]!);
    }
    positions.needsUpdate = true;
    if (this.smooth) this.geometry!.computeVertexNormals();
    this.geometry!.computeBoundingSphere();
  }

  point(vertex: number, out: Vector3): Vector3 {
    return out.fromBufferAttribute(this.geometry!.getAttribute("position"), vertex);
  }

  dispose(): void {}
}
