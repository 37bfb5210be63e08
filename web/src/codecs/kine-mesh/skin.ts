// Bones that carry a baked character: joints and shares from the setup, motions from the tracks of a segment. Points
// are rows: (p, 1) times a motion, three rows of a turn and one of a move, is the moved point.

import type { ByteReader } from "../../bytes.js";
import { charge, corrupt } from "../../errors.js";
import type { Kernels } from "../../kernels.js";
import { decodeLevels, type Hierarchy, sumsOf } from "./hierarchy.js";
import { integers } from "./integers.js";

/** A share is a whole number of these parts. */
const SHARES = 16;
const JOINT_STEPS = 8;
const STILL = [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];

export interface Bones {
  count: number;
  /** Parents come first; -1 is the root's. */
  parents: Int32Array;
  /** [count * 3] points of the rest pose that bones turn about. */
  joints: Float64Array;
  /** [count * vertices] in decoding order. */
  shares: Float64Array;
}

export function readBones(head: ByteReader, tree: Hierarchy, unit: number, k: Kernels): Bones {
  const [count, jointBytes, shareBytes] = [head.u8(), head.u16(), head.u32()];
  if (!count) throw corrupt("a skin has no bones");
  charge("values", 4 * count * tree.order.length);
  const numbers = integers(head.take(jointBytes), 4 * count, k);
  const parents = Int32Array.from({ length: count }, (_, n) => n - 1 - numbers[4 * n]!);
  if (parents.some((parent, n) => parent < -1 || parent >= n)) throw corrupt("a bone comes before its parent");
  const joints = Float64Array.from({ length: 3 * count }, (_, n) => {
    return numbers[4 * Math.floor(n / 3) + 1 + (n % 3)]! * (JOINT_STEPS * unit);
  });
  const coded = decodeLevels(tree, head.take(shareBytes), count, k);
  return { count, parents, joints, shares: normalised(sumsOf(tree, coded, count, SHARES, k), count) };
}

/** Parts of their sum; a vertex without any moves with the first bone. */
function normalised(counts: Int32Array, bones: number): Float64Array {
  const vertices = counts.length / bones;
  const out = new Float64Array(counts.length);
  for (let v = 0; v < vertices; v++) {
    let sum = 0;
    for (let b = 0; b < bones; b++) sum += counts[b * vertices + v]!;
    for (let b = 0; b < bones; b++) out[b * vertices + v] = sum ? counts[b * vertices + v]! / sum : b ? 0 : 1;
  }
  return out;
}

/** Writes the bones' rows [4 * count * 3] of one frame from turns and offsets [2 * count * 3]. */
export function writeMotions({ count, parents, joints }: Bones, tracks: Float64Array, scales: Float64Array, out: Float64Array) {
  for (let b = 0; b < count; b++) {
    const parent = parents[b]!;
    const above = parent < 0 ? STILL : out.subarray(12 * parent, 12 * parent + 12);
    const [turn, offset] = [0, 1].map((n) => {
      const [at, scale] = [3 * (2 * b + n), scales[2 * b + n]!];
      return [tracks[at]! / scale, tracks[at + 1]! / scale, tracks[at + 2]! / scale];
    }) as [number[], number[]];
    const joint = joints.subarray(3 * b, 3 * b + 3);
    const own = out.subarray(12 * b, 12 * b + 12);
    const local = rotation(turn[0]!, turn[1]!, turn[2]!);
    for (let r = 0; r < 3; r++) for (let c = 0; c < 3; c++) own[3 * r + c] = along(local, 3 * r, above, c);
    const place = [0, 1, 2].map((n) => joint[n]! + offset[n]!);
    for (let c = 0; c < 3; c++) own[9 + c] = along(place, 0, above, c) + above[9 + c]! - along(joint, 0, own, c);
  }
}

/**
 * Makes motions [4 * count * 3] those of points about `centre`, with moves from the first bone's, which is given back. Shares
 * sum to one, so that nothing else changes; but however far from the origin a mesh is, numbers stay as small as the mesh.
 */
export function recentre(motions: Float64Array, count: number, centre: Float64Array): number[] {
  for (let b = 0; b < count; b++) {
    const own = motions.subarray(12 * b, 12 * b + 12);
    for (let c = 0; c < 3; c++) own[9 + c]! += along(centre, 0, own, c);
  }
  const first = Array.from(motions.subarray(9, 12));
  for (let b = 0; b < count; b++) for (let c = 0; c < 3; c++) motions[12 * b + 9 + c]! -= first[c]!;
  return first;
}

/** Row of three numbers times column c of a turn. */
function along(row: ArrayLike<number>, at: number, turn: ArrayLike<number>, c: number): number {
  return row[at]! * turn[c]! + row[at + 1]! * turn[3 + c]! + row[at + 2]! * turn[6 + c]!;
}

/** The turn of a rotation vector (Rodrigues). */
function rotation(x: number, y: number, z: number): number[] {
  const angle = Math.sqrt(x * x + y * y + z * z);
  const [s, c] = angle < 1e-8 ? [1, 0.5] : [Math.sin(angle) / angle, (1 - Math.cos(angle)) / angle ** 2];
  return [
    1 - c * (y * y + z * z), c * x * y + s * z, c * x * z - s * y,
    c * x * y - s * z, 1 - c * (x * x + z * z), c * y * z + s * x,
    c * x * z + s * y, c * y * z - s * x, 1 - c * (x * x + y * y),
  ];
}
