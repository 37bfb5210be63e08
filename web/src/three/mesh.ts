// A mesh animation as a Mesh whose `frame` an AnimationMixer can drive.

import {
  AnimationClip,
  BufferAttribute,
  BufferGeometry,
  DynamicDrawUsage,
  Mesh,
  MeshStandardMaterial,
  NumberKeyframeTrack,
} from "three";
import type { Topology } from "../model.js";
import type { KineClip } from "../reader.js";

export class KineMesh extends Mesh<BufferGeometry, MeshStandardMaterial> {
  private shown = -1;

  /** `vertices[frame * topology.vertices * 3 + …]` in the file's unit; the mesh is scaled to metres. */
  constructor(
    readonly topology: Topology,
    readonly vertices: Float32Array,
  ) {
    const geometry = new BufferGeometry();
    const positions = new BufferAttribute(new Float32Array(3 * topology.vertices), 3);
    geometry.setAttribute("position", positions.setUsage(DynamicDrawUsage));
    geometry.setIndex(new BufferAttribute(topology.faces, 1));
    super(geometry, new MeshStandardMaterial({ color: 0x9aa5b1, roughness: 0.7 }));
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
    const width = 3 * this.topology.vertices;
    const last = this.vertices.length / width - 1;
    const before = Math.min(Math.max(Math.floor(frame), 0), last);
    const [a, b] = [before * width, Math.min(before + 1, last) * width];
    const share = Math.min(Math.max(frame - before, 0), 1);
    const positions = this.geometry.getAttribute("position") as BufferAttribute;
    for (let i = 0; i < width; i++) {
      positions.array[i] = this.vertices[a + i]! + share * (this.vertices[b + i]! - this.vertices[a + i]!);
    }
    positions.needsUpdate = true;
    this.geometry.computeVertexNormals();
    this.geometry.computeBoundingSphere();
  }
}

/** Drives the mesh's `frame` evenly through time. */
export function meshClip(source: KineClip, mesh: KineMesh): AnimationClip {
  mesh.name ||= "mesh";
  const last = source.frames - 1;
  const track = new NumberKeyframeTrack(".frame", [0, Math.max(last, 1) * source.frameTime], [0, last]);
  return new AnimationClip(source.name || "clip", source.duration, [track]);
}
