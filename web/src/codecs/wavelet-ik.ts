// `wavelet-ik`: optimised wavelets whose feet are put back by inverse kinematics (docs/codecs/wavelet-ik.md).

import { ByteReader, type Bytes } from "../bytes.js";
import { corrupt, truncated } from "../errors.js";
import { InverseKinematics } from "../ik.js";
import type { Kernels } from "../kernels.js";
import { Rig } from "../kinematics.js";
import type { Skeleton } from "../model.js";
import type { Codec, Decoder, Run } from "./base.js";
import { channelScale, decodeBlock } from "./wavelet.js";

/** Frames over which a correction fades before and after a contact. */
const FADE = 8;
/** Step in which the places of contacts are stored. */
const ANCHOR_CM = 0.05;
const HEAD = 4;
const SOLVERS = ["dls", "ccd"] as const;
const SHARES = Float64Array.from({ length: FADE }, (_, n) => 0.5 + 0.5 * Math.cos((Math.PI * (n + 1)) / (FADE + 1)));

export const waveletIk: Codec = {
  id: "wavelet-ik",
  version: 1,
  open(layout, { setup }, kernels) {
    if (layout.kind !== "skeleton") throw corrupt("a mesh cannot be coded as joint angles");
    return new Corrected(layout, setup, kernels);
  },
};

/** An effector at rest from frame `start` to `stop` - 1. */
interface Contact {
  effector: number;
  start: number;
  stop: number;
  /** Centimetres. */
  anchor: number[];
}

class Corrected implements Decoder {
  private readonly scale: Float64Array;
  private readonly deflated: boolean;
  private readonly effectors: number[];
  private readonly rig: Rig;
  private readonly solver: InverseKinematics;
  private readonly steps: number;

  constructor(
    private readonly skeleton: Skeleton,
    setup: Bytes,
    private readonly kernels: Kernels,
  ) {
    if (setup.length < HEAD || setup[0]! > 1) throw truncated("the codec's setup is not of its size");
    const [deflated, solver, steps, count] = setup as unknown as [number, number, number, number];
    const sound = setup.length === HEAD + 2 * count && solver < SOLVERS.length && steps >= 1 && steps <= 64 && count > 0;
    if (!sound) throw corrupt("the codec's setup does not describe a correction");
    this.effectors = Array.from({ length: count }, (_, n) => setup[HEAD + 2 * n]! + 256 * setup[HEAD + 2 * n + 1]!);
    const rising = this.effectors.every((joint, n) => joint < skeleton.joints.length && (n === 0 || joint > this.effectors[n - 1]!));
    if (!rising) throw corrupt("the codec's setup names joints that are not there");
    this.scale = channelScale(skeleton);
    this.deflated = deflated === 1;
    this.steps = steps;
    this.rig = new Rig(skeleton, kernels);
    this.solver = new InverseKinematics(this.rig, this.effectors, SOLVERS[solver]!);
  }

  decode({ frames, data }: Run): Float64Array {
    const values = decodeBlock(data[0]!, frames, this.scale, this.deflated, this.kernels);
    if (data.length < 2) return values;
    const { targets, weights } = this.targets(data[1]!, values, frames);
    return this.solver.solve(values, frames, targets, weights, this.steps);
  }

  /** Where effectors should be [frames * effectors * 3], in the skeleton's unit, and how much that counts. */
  private targets(data: Bytes, values: Float64Array, frames: number) {
    const count = this.effectors.length;
    const source = new ByteReader(data);
    const contacts = readContacts(source, count, frames);
    const ones = new Float64Array(3 * count).fill(1);
    const remainders = decodeBlock(source.take(source.left), frames, ones, this.deflated, this.kernels);
    const points = this.pointsCm(values, frames);
    const { shift, weights } = corrections(points, remainders, contacts, count);
    const targets = points.map((place, i) => (place + shift[i]!) / this.skeleton.unitCm);
    if (!targets.every(Number.isFinite)) throw corrupt("the stream's corrections are not finite");
    return { targets, weights };
  }

  /** [frames * effectors * 3] */
  private pointsCm(values: Float64Array, frames: number): Float64Array {
    const { points } = this.rig.pose(values, frames);
    const [count, joints] = [this.effectors.length, this.skeleton.joints.length];
    const out = new Float64Array(3 * count * frames);
    for (let t = 0; t < frames; t++) {
      this.effectors.forEach((joint, n) => {
        for (let a = 0; a < 3; a++) out[3 * (t * count + n) + a] = points[3 * (t * joints + joint) + a]! * this.skeleton.unitCm;
      });
    }
    return out;
  }
}

/** Varints: contacts of each effector, then for each the gap before it, its length and its anchor's difference. */
function readContacts(source: ByteReader, count: number, frames: number): Contact[] {
  const counts = Array.from({ length: count }, () => source.varint());
  const total = counts.reduce((sum, n) => sum + n, 0);
  if (total > count * (frames + 1) || 5 * total > source.data.length) throw corrupt("there are more contacts than frames");
  const contacts: Contact[] = [];
  let at = [0, 0, 0];
  counts.forEach((own, effector) => {
    for (let n = 0, end = 0; n < own; n++) {
      const start = end + source.varint();
      end = start + source.varint();
      at = at.map((place) => place + unfold(source.varint()));
      if (end <= start || end > frames || at.some((place) => Math.abs(place) > 2 ** 52)) {
        throw corrupt("a contact does not lie inside the clip");
      }
      contacts.push({ effector, start, stop: end, anchor: at.map((place) => place * ANCHOR_CM) });
    }
  });
  return contacts;
}

const unfold = (value: number) => (value % 2 ? -(value + 1) / 2 : value / 2);

/** How far to move each effector, and how much that counts: all of it in contacts, fading before and after them. */
function corrections(points: Float64Array, remainders: Float64Array, contacts: Contact[], count: number) {
  const frames = points.length / (3 * count);
  const [shift, faded] = [new Float64Array(points.length), new Float64Array(points.length)];
  const [fade, held] = [new Float64Array(frames * count), new Uint8Array(frames * count)];
  const addFade = (frame: number, edge: number, effector: number, share: number) => {
    const [at, from] = [frame * count + effector, 3 * (edge * count + effector)];
    for (let a = 0; a < 3; a++) faded[3 * at + a]! += share * shift[from + a]!;
    fade[at]! += share;
  };
  for (const { effector, start, stop, anchor } of contacts) {
    for (let t = start; t < stop; t++) {
      const at = t * count + effector;
      for (let a = 0; a < 3; a++) shift[3 * at + a] = anchor[a]! + remainders[3 * at + a]! - points[3 * at + a]!;
      held[at] = 1;
    }
    for (let n = 0; n < FADE; n++) {
      if (stop + n < frames) addFade(stop + n, stop - 1, effector, SHARES[n]!);
      if (start - 1 - n >= 0) addFade(start - 1 - n, start, effector, SHARES[n]!);
    }
  }
  const weights = fade.map((share, at) => (held[at] ? 1 : Math.min(share, 1)));
  for (let i = 0; i < shift.length; i++) {
    const at = Math.floor(i / 3);
    if (!held[at]) shift[i] = faded[i]! / Math.max(fade[at]!, 1);
  }
  return { shift, weights };
}
