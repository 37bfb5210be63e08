// Poses and their first derivatives: what each channel turns or shifts.

import type { Rig } from "./kinematics.js";
import { radiansPerAngle, type Skeleton } from "./model.js";

export interface Derivatives {
  joints: number;
  channels: number;
  /** [frames * channels * 3] axes of Euler channels, directions of translations, in object space per unit; else 0. */
  axes: Float64Array;
  /** [frames * channels] what a squared unit of each channel moves the whole pose, bones weighted by their length. */
  diagonal: Float64Array;
  /** [frames * joints * 3] */
  origins: Float64Array;
  points: Float64Array;
}

const KINDS: Record<string, number> = { r: 1, q: 1, v: 1, t: 2 };

export function derivativesOf(rig: Rig, values: Float64Array, frames: number): Derivatives {
  const { kernels: k, skeleton } = rig;
  const [joints, channels] = [skeleton.joints.length, skeleton.channels.length];
  return k.scope(() => {
    const pose = rig.poseAt(values, frames);
    const axes = k.put(new Float64Array(3 * frames * channels));
    const parents = k.put(rig.parents);
    k.call("kp_pose_axes", "the pose", rigStruct(rig, frames, parents), k.put(values), pose.rotations, axes);
    const kinds = k.put(Int32Array.from(skeleton.channels, ({ kind, joint }) => (joint < 0 || kind === "scalar" ? 0 : (KINDS[kind[0]!] ?? 0))));
    const owners = k.put(Int32Array.from(skeleton.channels, ({ joint }) => joint));
    const shares = boneWeights(skeleton);
    const weights = k.put(Float64Array.from({ length: frames * joints }, (_, n) => shares[n % joints]!));
    // kp_motion
    const motion = k.put(Uint32Array.of(frames, joints, channels, parents, kinds, owners, weights, axes, pose.origins, pose.points));
    const [scratch, diagonal] = [k.room(80 * joints), k.room(8 * frames * channels)];
    k.call("kp_pose_diagonal", "the pose", motion, scratch, diagonal);
    const copy = (address: number, size: number) => k.view(Float64Array, address, size).slice();
    return {
      joints,
      channels,
      axes: copy(axes, 3 * frames * channels),
      diagonal: copy(diagonal, frames * channels),
      origins: copy(pose.origins, 3 * frames * joints),
      points: copy(pose.points, 3 * frames * joints),
    };
  });
}

/** Address of a kp_rig with the tables that kp_pose_axes reads: sixteen words, then the angles' scale. */
function rigStruct(rig: Rig, frames: number, parents: number): number {
  const { kernels: k, skeleton } = rig;
  const words = new Uint32Array(20);
  words.set([frames, skeleton.joints.length, skeleton.channels.length, parents]);
  words.set([k.put(rig.axisChannel), k.put(rig.axisId), k.put(rig.translation)], 4);
  words[10] = k.put(rig.frames);
  new Float64Array(words.buffer)[8] = radiansPerAngle(skeleton);
  return k.put(words);
}

/** [joints] each bone's share in the total length; equal shares if no bone has a length. */
function boneWeights({ joints }: Skeleton): number[] {
  const tips = joints.map(({ direction, length }) => Math.hypot(...direction.map((d) => d * length)));
  const own = tips.some((length) => length > 0) ? tips : joints.map(({ offset, parent }) => (parent < 0 ? 0 : Math.hypot(...offset)));
  const total = own.reduce((sum, length) => sum + length, 0);
  return own.map((length) => (total > 0 ? length / total : 1 / joints.length));
}
