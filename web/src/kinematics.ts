// From channel values to poses, with the same kernels as the Python package (docs/conventions.md).

import { withinMemory } from "./errors.js";
import type { Kernels } from "./kernels.js";
import { channelsByJoint, radiansPerAngle, type Skeleton } from "./model.js";
import { axisFrame, multiplyMatrices, quaternionToMatrix, rotvecToQuaternion, transposed } from "./rotation.js";

/** Frames that go through the kernels at once; keeps their memory small. */
const BLOCK = 512;
const LARGEST_ANGLE = 1e6;

interface Family {
  joint: number;
  channels: number[];
}

/** What each joint does in its parent's frame, [frames * joints * n]. */
export interface LocalTransforms {
  frames: number;
  rotations: Float64Array;
  translations: Float64Array;
  scales: Float64Array | null;
}

/** Where joints are in object space, [frames * joints * 3], in the skeleton's unit. */
export interface Pose {
  origins: Float64Array;
  /** Ends of bones where the rig has them, else origins: what all errors are measured at. */
  points: Float64Array;
  /** [frames * joints * 9] */
  rotations: Float64Array;
}

/** A rig as index arrays, and its kinematics. */
export class Rig {
  readonly parents: Int32Array;
  /** [joints * 3] Euler channels in the order of the matrix product, -1 for those a joint lacks, and their axes. */
  readonly axisChannel: Int32Array;
  readonly axisId: Int32Array;
  /** [joints * 9] */
  readonly frames: Float64Array;
  /** [joints * 3] */
  readonly translation: Int32Array;
  private readonly hasFrames: boolean;
  private readonly rest: Float64Array;
  private readonly tips: Float64Array;
  private readonly scale: Int32Array;
  private readonly hasScale: boolean;
  private readonly quaternions: Family[] = [];
  private readonly vectors: Family[] = [];

  constructor(
    readonly skeleton: Skeleton,
    readonly kernels: Kernels,
  ) {
    const { joints } = skeleton;
    const own = channelsByJoint(skeleton);
    const table = (family: string) =>
      Int32Array.from(own.flatMap((kinds) => ["x", "y", "z"].map((axis) => kinds.get(family + axis) ?? -1)));
    this.parents = Int32Array.from(joints, (joint) => joint.parent);
    this.axisChannel = new Int32Array(3 * joints.length).fill(-1);
    this.axisId = new Int32Array(3 * joints.length);
    this.translation = table("t");
    this.scale = table("s");
    this.hasScale = this.scale.some((c) => c >= 0) || joints.some((j) => j.restScale.some((s) => s !== 1));
    this.hasFrames = joints.some((joint) => joint.axisDeg.some((angle) => angle !== 0));
    this.frames = Float64Array.from(joints.flatMap((joint) => axisFrame(joint.axisDeg)));
    this.tips = Float64Array.from(joints.flatMap((joint) => joint.direction.map((d) => d * joint.length)));
    this.rest = new Float64Array(9 * joints.length);
    own.forEach((kinds, joint) => this.readJoint(joint, kinds));
  }

  private readJoint(joint: number, kinds: Map<string, number>): void {
    const { order, rest } = this.skeleton.joints[joint]!;
    const axes = [...order].filter((axis) => kinds.has("r" + axis));
    axes.forEach((axis, slot) => {
      this.axisChannel[3 * joint + slot] = kinds.get("r" + axis)!;
      this.axisId[3 * joint + slot] = "xyz".indexOf(axis);
    });
    const turn = new Array<number>(9);
    quaternionToMatrix(rest, turn);
    this.inFrame(joint, turn, this.rest, 9 * joint);
    const family = (names: string) => names.split(" ").map((name) => kinds.get(name)!);
    if (kinds.has("qx")) this.quaternions.push({ joint, channels: family("qx qy qz qw") });
    if (kinds.has("vx")) this.vectors.push({ joint, channels: family("vx vy vz") });
  }

  /** C M C⁻¹ */
  private inFrame(joint: number, turn: number[], out: Float64Array, at: number): void {
    const frame = Array.from(this.frames.subarray(9 * joint, 9 * joint + 9));
    const half = new Array<number>(9);
    multiplyMatrices(frame, turn, half);
    multiplyMatrices(half, transposed(frame), out, at);
  }

  /** Local transforms of [frames * channels] values. */
  local(values: Float64Array, frames: number): LocalTransforms {
    const { kernels: k } = this;
    const joints = this.parents.length;
    return k.scope(() => {
      const { rotations, translations, scales } = this.localAt(values, frames);
      const copy = (address: number, size: number) => k.view(Float64Array, address, size * frames * joints).slice();
      return {
        frames: joints ? frames : 0,
        rotations: copy(rotations, 9),
        translations: copy(translations, 3),
        scales: scales ? copy(scales, 3) : null,
      };
    });
  }

  /** Poses of [frames * channels] values. */
  pose(values: Float64Array, frames: number): Pose {
    const { kernels: k } = this;
    const joints = this.parents.length;
    const width = this.skeleton.channels.length;
    const room = (numbers: number) => withinMemory(() => new Float64Array(frames * joints * numbers));
    const pose = { origins: room(3), points: room(3), rotations: room(9) };
    for (let at = 0; at < frames; at += BLOCK) {
      const count = Math.min(BLOCK, frames - at);
      k.scope(() => {
        const found = this.poseAt(values.subarray(at * width, (at + count) * width), count);
        for (const [name, size] of [["origins", 3], ["points", 3], ["rotations", 9]] as const) {
          pose[name].set(k.view(Float64Array, found[name], size * count * joints), size * at * joints);
        }
      });
    }
    return pose;
  }

  /** The same as addresses, valid in the kernels' present scope. */
  poseAt(values: Float64Array, frames: number): Record<keyof Pose, number> {
    const { kernels: k } = this;
    const joints = this.parents.length;
    const n = frames * joints;
    const local = this.localAt(values, frames);
    const [parents, tips] = [k.put(this.parents), k.put(this.tips)];
    const [rotations, origins, points] = [k.room(72 * n), k.room(24 * n), k.room(24 * n)];
    k.call(
      "kp_forward_kinematics", "the pose",
      frames, joints, parents, local.rotations, local.translations, local.scales, tips, rotations, origins, points,
    );
    return { rotations, origins, points };
  }

  /** Addresses of local transforms; scales are 0 where there are none. */
  private localAt(values: Float64Array, frames: number): Record<"rotations" | "translations" | "scales", number> {
    const { joints, translation } = this.skeleton;
    const rotations = this.eulerRotations(values, frames);
    const offsets = joints.flatMap((joint) => joint.offset);
    const translations = this.vectorsOf(values, frames, this.translation, offsets, translation === "add");
    const scales = this.hasScale ? this.vectorsOf(values, frames, this.scale, joints.flatMap((joint) => joint.restScale), false) : 0;
    this.fillOthers(values, frames, this.kernels.view(Float64Array, rotations, 9 * frames * joints.length));
    return { rotations, translations, scales };
  }

  private eulerRotations(values: Float64Array, frames: number): number {
    const { kernels: k } = this;
    const joints = this.parents.length;
    const moderate = k.put(this.moderateAngles(values));
    const [axisChannel, axisId] = [k.put(this.axisChannel), k.put(this.axisId)];
    const [frame, rest] = [this.hasFrames ? k.put(this.frames) : 0, k.put(this.rest)];
    const out = k.room(72 * frames * joints);
    k.call(
      "kp_local_rotations", "the pose",
      frames, joints, this.skeleton.channels.length, moderate, radiansPerAngle(this.skeleton), axisChannel, axisId, frame, rest, out,
    );
    return out;
  }

  /** Whole turns leave angles that the kernels' sine and cosine would refuse. */
  private moderateAngles(values: Float64Array): Float64Array {
    const scale = radiansPerAngle(this.skeleton);
    const turn = (2 * Math.PI) / scale;
    const { channels } = this.skeleton;
    if (!values.some((v) => Math.abs(v) * scale >= LARGEST_ANGLE)) return values;
    return values.map((v, i) => (channels[i % channels.length]!.kind[0] === "r" ? v % turn : v));
  }

  private fillOthers(values: Float64Array, frames: number, rotations: Float64Array): void {
    const width = this.skeleton.channels.length;
    const joints = this.parents.length;
    const turn = new Array<number>(9);
    const q = [0, 0, 0, 1];
    for (const [family, isVector] of [[this.quaternions, false], [this.vectors, true]] as const) {
      for (const { joint, channels } of family) {
        for (let t = 0; t < frames; t++) {
          const own = channels.map((channel) => values[t * width + channel]!);
          if (isVector) rotvecToQuaternion(own[0]!, own[1]!, own[2]!, q);
          quaternionToMatrix(isVector ? q : own, turn);
          this.inFrame(joint, turn, rotations, 9 * (t * joints + joint));
        }
      }
    }
  }

  /** Address of [frames * joints * 3]: channels that replace what rests, or add to it. */
  private vectorsOf(values: Float64Array, frames: number, table: Int32Array, rest: number[], add: boolean): number {
    const width = this.skeleton.channels.length;
    const address = this.kernels.room(8 * frames * rest.length);
    const [still, out] = [Float64Array.from(rest), this.kernels.view(Float64Array, address, frames * rest.length)];
    for (let t = 0; t < frames; t++) out.set(still, t * rest.length);
    table.forEach((channel, i) => {
      if (channel < 0) return;
      const base = add ? rest[i]! : 0;
      for (let t = 0; t < frames; t++) out[t * rest.length + i] = base + values[t * width + channel]!;
    });
    return address;
  }
}
