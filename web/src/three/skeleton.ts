// Bones and keyframe tracks of a skeletal clip.

import {
  AnimationClip,
  Bone,
  Group,
  type KeyframeTrack,
  PropertyBinding,
  QuaternionKeyframeTrack,
  Skeleton as ThreeSkeleton,
  VectorKeyframeTrack,
} from "three";
import type { LocalTransforms } from "../kinematics.js";
import type { Skeleton } from "../model.js";
import type { KineClip } from "../reader.js";
import { matrixToQuaternion } from "../rotation.js";

/** A group in metres with a bone for each joint, in the order of the joints. */
export function bonesOf(skeleton: Skeleton): { root: Group; skeleton: ThreeSkeleton } {
  const root = new Group();
  root.scale.setScalar(skeleton.unitCm / 100);
  const taken = new Set<string>();
  const bones = skeleton.joints.map((joint) => {
    const bone = new Bone();
    bone.name = uniqueName(joint.name, taken);
    bone.position.set(...joint.offset);
    bone.userData = { name: joint.name, endSites: joint.endSites };
    return bone;
  });
  skeleton.joints.forEach(({ parent }, index) => (parent < 0 ? root : bones[parent]!).add(bones[index]!));
  root.updateMatrixWorld(true);
  return { root, skeleton: new ThreeSkeleton(bones) };
}

/** Track names may not hold dots, brackets and the like, and two joints must not become one. */
function uniqueName(name: string, taken: Set<string>): string {
  const plain = PropertyBinding.sanitizeNodeName(name) || "joint";
  let unique = plain;
  for (let n = 2; taken.has(unique); n++) unique = `${plain}_${n}`;
  taken.add(unique);
  return unique;
}

export function skeletonClip(source: KineClip, bones: Bone[], local: LocalTransforms): AnimationClip {
  const times = Float32Array.from({ length: local.frames }, (_, t) => t * source.frameTime);
  const tracks: KeyframeTrack[] = [];
  bones.forEach((bone, joint) => {
    const quaternions = quaternionsOf(local, bones.length, joint);
    addTrack(tracks, times, quaternions, 4, (t, v) => new QuaternionKeyframeTrack(`${bone.name}.quaternion`, t, v));
    const vectors: [string, Float64Array | null][] = [["position", local.translations], ["scale", local.scales]];
    for (const [property, values] of vectors) {
      if (!values) continue;
      const own = column(values, bones.length, joint, local.frames);
      addTrack(tracks, times, own, 3, (t, v) => new VectorKeyframeTrack(`${bone.name}.${property}`, t, v));
    }
  });
  return new AnimationClip(source.name || "clip", source.duration, tracks);
}

/** A track that never changes needs one key only. */
function addTrack(
  tracks: KeyframeTrack[],
  times: Float32Array,
  values: Float32Array,
  size: number,
  make: (times: Float32Array, values: Float32Array) => KeyframeTrack,
): void {
  const constant = values.every((value, i) => value === values[i % size]);
  tracks.push(constant ? make(times.slice(0, 1), values.slice(0, size)) : make(times, values));
}

/** [frames * 4], neighbours on the same side of the sphere, so that interpolating never goes the long way. */
function quaternionsOf({ rotations, frames }: LocalTransforms, joints: number, joint: number): Float32Array {
  const out = new Float32Array(4 * frames);
  const q = [0, 0, 0, 1];
  for (let t = 0; t < frames; t++) {
    matrixToQuaternion(rotations, 9 * (t * joints + joint), q);
    const before = out.subarray(4 * Math.max(0, t - 1));
    const dot = q[0]! * before[0]! + q[1]! * before[1]! + q[2]! * before[2]! + q[3]! * before[3]!;
    for (let i = 0; i < 4; i++) out[4 * t + i] = dot < 0 ? -q[i]! : q[i]!;
  }
  return out;
}

function column(values: Float64Array, joints: number, joint: number, frames: number): Float32Array {
  const out = new Float32Array(3 * frames);
  for (let t = 0; t < frames; t++) out.set(values.subarray(3 * (t * joints + joint), 3 * (t * joints + joint) + 3), 3 * t);
  return out;
}
