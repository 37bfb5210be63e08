// `wavelet-quaternion`: wavelets of quaternions, told in the clip's own channels (docs/codecs/wavelet-quaternion.md).

import { corrupt, truncated } from "../errors.js";
import { type Channel, channelsByJoint, radiansPerAngle, type Skeleton } from "../model.js";
import { eulerOf, normalize, quaternionToMatrix, quaternionToRotvec } from "../rotation.js";
import type { Codec, Decoder } from "./base.js";
import { channelScale, decodeBlock } from "./wavelet.js";

const PARTS = ["qx", "qy", "qz", "qw"];

export const waveletQuaternion: Codec = {
  id: "wavelet-quaternion",
  version: 1,
  open(layout, { setup }, kernels): Decoder {
    if (layout.kind !== "skeleton") throw corrupt("a mesh cannot be coded as joint angles");
    if (setup.length !== 1 || setup[0]! > 1) throw truncated("the codec's setup is not of its size");
    const rig = quaternionRig(layout);
    const scale = channelScale(rig);
    const back = new Back(layout, rig);
    return {
      decode: ({ frames, data }) => back.values(decodeBlock(data[0]!, frames, scale, setup[0] === 1, kernels), frames),
    };
  },
};

const turns = ({ joint, kind }: Channel) => kind !== "scalar" && joint >= 0 && "rqv".includes(kind[0]!);

/** The rig with a quaternion in place of every joint's rotation channels, where its first one stands. */
function quaternionRig(skeleton: Skeleton): Skeleton {
  const done = new Set<number>();
  const channels = skeleton.channels.flatMap((channel) => {
    if (!turns(channel)) return [channel];
    if (done.has(channel.joint)) return [];
    done.add(channel.joint);
    return PARTS.map((kind) => ({ joint: channel.joint, kind, name: "" }));
  });
  return { ...skeleton, channels };
}

/** From the quaternion rig's values to the clip's own. */
class Back {
  private readonly plain: { from: number; to: number }[];
  private readonly turning: { from: number[]; to: number[]; write: (q: number[]) => number[] }[] = [];

  constructor(
    private readonly skeleton: Skeleton,
    private readonly rig: Skeleton,
  ) {
    const keyOf = ({ joint, kind, name }: Channel) => `${joint} ${kind} ${name}`;
    const where = new Map(rig.channels.map((channel, n) => [keyOf(channel), n]));
    this.plain = skeleton.channels.flatMap((channel, to) => (turns(channel) ? [] : [{ from: where.get(keyOf(channel))!, to }]));
    channelsByJoint(skeleton).forEach((own, joint) => {
      const from = PARTS.map((part) => where.get(`${joint} ${part} `)!);
      if (from[0] !== undefined) this.turning.push({ from, ...this.writer(own, joint) });
    });
  }

  values(decoded: Float64Array, frames: number): Float64Array {
    const [width, wide] = [this.skeleton.channels.length, this.rig.channels.length];
    const out = new Float64Array(frames * width);
    for (let t = 0; t < frames; t++) {
      for (const { from, to } of this.plain) out[t * width + to] = decoded[t * wide + from]!;
      for (const { from, to, write } of this.turning) {
        const q = from.map((column) => decoded[t * wide + column]!);
        normalize(q);
        write(q).forEach((value, n) => (out[t * width + to[n]!] = value));
      }
    }
    return out;
  }

  /** The joint's rotation channels, and what they are of a unit quaternion. */
  private writer(own: Map<string, number>, joint: number): { to: number[]; write: (q: number[]) => number[] } {
    const of = (kinds: string[]) => kinds.map((kind) => own.get(kind)!);
    if (own.has("qx")) return { to: of(PARTS), write: (q) => q };
    if (own.has("vx")) return { to: of(["vx", "vy", "vz"]), write: quaternionToRotvec };
    const axes = [...this.skeleton.joints[joint]!.order].filter((axis) => own.has(`r${axis}`));
    const perAngle = radiansPerAngle(this.skeleton);
    return { to: of(axes.map((axis) => `r${axis}`)), write: (q) => angles(q, axes).map((angle) => angle / perAngle) };
  }
}

/** Radians about `axes`. A missing axis is taken out where it disturbs least: alone, or from the middle. */
function angles(q: number[], axes: string[]): number[] {
  const numbers = axes.map((axis) => "xyz".indexOf(axis));
  if (numbers.length === 1) {
    const angle = 2 * Math.atan2(q[numbers[0]!]!, q[3]!);
    return [angle - 2 * Math.PI * Math.floor((angle + Math.PI) / (2 * Math.PI))];
  }
  const matrix = new Array<number>(9);
  quaternionToMatrix(q, matrix);
  const [first, last] = [numbers[0]!, numbers[numbers.length - 1]!];
  const all = eulerOf(matrix, [first, 3 - first - last, last]);
  return numbers.length === 2 ? [all[0], all[2]] : all;
}
