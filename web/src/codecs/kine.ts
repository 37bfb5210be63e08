// `kine`: body-aware transform coding of skeletal motion (docs/codecs/kine.md).

import type { Bytes } from "../bytes.js";
import { corrupt } from "../errors.js";
import type { Kernels } from "../kernels.js";
import { radiansPerAngle, type Skeleton } from "../model.js";
import type { Codec, Decoder, Run } from "./base.js";
import { ExactSynthesis, MARK } from "./kine/exact.js";
import { Between, Knots } from "./kine/knots.js";
import { type Setup, unpackSetup } from "./kine/setup.js";
import { classesOf, defaultExponents, eulerItems, poseTables, type PoseTables, slotsOf } from "./kine/slots.js";

/** Offsets of moving tracks are whole multiples of this many steps; those of still ones of CONSTANT_STEPS. */
const OFFSET_STEPS = 4;
const CONSTANT_STEPS = 0.25;
/** Steps of a layer are this many times finer than those of the layer below; 16 log2 of it. */
const LAYER_RATIO = 4;
const LAYER_QUALITY = 32;

export const kine: Codec = {
  id: "kine",
  version: 5,
  open(layout, { setup }, kernels) {
    if (layout.kind !== "skeleton") throw corrupt("the stream is not of a clip");
    if (setup[0] === MARK) return new ExactSynthesis(setup, layout.channels.length, kernels);
    return new Synthesis(layout, setup, kernels);
  },
};

/** Addresses of the levels of a segment and of its block lengths. */
interface Coefficients {
  levels: number;
  lengths: number;
  blockCount: number;
}

/** Everything that the segments of one stream share. */
class Synthesis implements Decoder {
  private readonly setup: Setup;
  private readonly offsets: Float64Array;
  private readonly classes: Uint8Array;
  private readonly steps: Float64Array;
  private readonly activeOffsets: Float64Array;
  private readonly starts: Uint32Array;
  private readonly regressors: Uint32Array;
  private readonly linkWeights: Float64Array;
  private readonly places: Uint32Array;
  private readonly tables: PoseTables;
  private readonly eulerItems: number[][];
  private readonly knots: Knots | null;
  private readonly between: Between;

  constructor(
    private readonly skeleton: Skeleton,
    data: Bytes,
    private readonly kernels: Kernels,
  ) {
    const slots = slotsOf(skeleton);
    const setup = (this.setup = unpackSetup(data, skeleton, slots, kernels));
    const moving = (_: unknown, track: number) => setup.active[track]!;
    const steps = Float64Array.from(
      defaultExponents(skeleton, slots),
      (g, track) => 2 ** (setup.scale / 64 - (g + setup.exponents[track]!) / 4),
    );
    this.offsets = steps.map((step, t) => setup.offsets[t]! * (setup.active[t] ? OFFSET_STEPS : CONSTANT_STEPS) * step);
    this.steps = steps.filter(moving);
    this.activeOffsets = this.offsets.filter(moving);
    this.classes = classesOf(skeleton, slots).filter(moving);
    this.places = Uint32Array.from(setup.active.flatMap((active, track) => (active ? [track] : [])));
    this.tables = poseTables(slots, setup.forms);
    this.eulerItems = eulerItems(slots);
    this.knots = setup.knots.length ? new Knots(setup.knots) : null;
    this.between = new Between(skeleton, slots);
    const flat = setup.links.flatMap((own, track) => own.map((link) => ({ ...link, track })));
    let count = 0;
    this.starts = Uint32Array.from([0, ...setup.links.map((own) => (count += own.length))]);
    this.regressors = Uint32Array.from(flat, (link) => link.from);
    this.linkWeights = Float64Array.from(
      flat,
      ({ from, weight, track }) => ((weight / 2 ** setup.shift) * this.steps[track]!) / this.steps[from]!,
    );
  }

  decode(run: Run): Float64Array {
    return this.knots ? this.onTheWay(run, this.knots) : this.held(run);
  }

  private onTheWay({ first, frames, data }: Run, knots: Knots): Float64Array {
    const [start, stop] = knots.span(first, first + frames);
    const width = this.skeleton.channels.length;
    const keys = this.keys(data, start, stop - start);
    const values = new Float64Array(frames * width);
    const pose = (key: number) => keys.subarray((key - start) * width, (key - start + 1) * width);
    for (let t = 0; t < frames; t++) {
      const key = knots.before(first + t);
      const since = first + t - knots.startOf(key);
      const amount = since / (knots.startOf(key + 1) - knots.startOf(key));
      this.between.pose(pose(key), pose(Math.min(key + 1, stop - 1)), amount, values.subarray(t * width, (t + 1) * width));
    }
    return values;
  }

  private held({ first, frames, data }: Run): Float64Array {
    const { hold, lead } = this.setup;
    if (hold === 1) return this.keys(data, first, frames);
    const keyOf = (frame: number) => Math.floor((frame + hold - lead) / hold);
    const start = keyOf(first);
    const width = this.skeleton.channels.length;
    const keys = this.keys(data, start, keyOf(first + frames - 1) - start + 1);
    const values = new Float64Array(frames * width);
    for (let t = 0; t < frames; t++) {
      const key = keyOf(first + t) - start;
      values.set(keys.subarray(key * width, (key + 1) * width), t * width);
    }
    return values;
  }

  /** [keys * channels] of a segment whose frames are all different, the first being key `first` of the stream. */
  private keys(layers: Bytes[], first: number, frames: number): Float64Array {
    const { kernels: k } = this;
    const channels = this.skeleton.channels.length;
    return k.scope(() => {
      const tracks = this.tracks(layers, frames);
      const { turns, rests, plain, scales } = this.tables;
      const tables = [k.put(turns), k.put(rests), rests.length / 4, k.put(plain), k.put(scales), plain.length / 2];
      const values = k.room(8 * frames * channels);
      const perAngle = 1 / radiansPerAngle(this.skeleton);
      const continuous = this.setup.prior.ends ? 0 : 1;
      k.call("kp_kine_pose", "a segment", tracks, frames, frames, channels, ...tables, perAngle, continuous, values);
      const branches = this.branches(first, frames);
      if (branches.length)
        k.call("kp_kine_branches", "a segment", values, frames, channels, k.put(branches), branches.length / 9, perAngle);
      return k.view(Float64Array, values, frames * channels).slice();
    });
  }

  /** The stretches of a run of keys whose angles have anchors, nine numbers each as kine_pose.c has them. */
  private branches(first: number, frames: number): Int32Array {
    const { branches } = this.setup;
    const rows = branches.flatMap(({ item, frame, anchors }, n) => {
      const next = branches[n + 1];
      const start = Math.max(frame - first, 0);
      const stop = Math.min(next?.item === item ? next.frame - first : frames, frames);
      const channels = this.eulerItems[item]!;
      return start < stop ? [start, stop, channels.length, channels[0]!, channels[1] ?? 0, channels[2] ?? 0, ...anchors] : [];
    });
    return Int32Array.from(rows);
  }

  /** Address of [tracks * frames]: the still ones at their offsets, the moving ones decoded. */
  private tracks(layers: Bytes[], frames: number): number {
    const { kernels: k } = this;
    const out = k.room(8 * this.offsets.length * frames);
    const rows = k.view(Float64Array, out, this.offsets.length * frames);
    this.offsets.forEach((offset, track) => rows.fill(offset, track * frames, (track + 1) * frames));
    const tracks = this.steps.length;
    const { levels, lengths, blockCount } = this.levels(layers, frames);
    const longest = k.view(Uint32Array, lengths, blockCount).reduce((most, own) => Math.max(most, own), 1);
    const half = (longest + 1) >> 1;
    const scratchSize = 2 * longest + 3 + 2 * half + longest * half;
    const shapes = [k.put(this.steps), k.put(this.activeOffsets), k.put(this.starts), k.put(this.regressors)];
    const [links, places, scratch] = [k.put(this.linkWeights), k.put(this.places), k.room(8 * scratchSize)];
    k.call(
      "kp_kine_synthesise", "a segment",
      levels, frames, tracks, lengths, blockCount, ...shapes, links, places,
      Number(this.setup.bent), 0, frames, scratch, scratchSize, out,
    );
    return out;
  }

  /** Addresses of the levels in the steps of the finest layer, and of the block lengths. */
  private levels(layers: Bytes[], frames: number): Coefficients {
    const { kernels: k, setup } = this;
    if (layers.length > setup.layers) throw corrupt("a segment has more layers than its stream");
    const parts = layers.map((data, layer) => this.layer(data, layer, frames));
    const base = parts[0]!;
    const sum = k.view(Int32Array, base.levels, frames * this.steps.length);
    const lengths = k.view(Uint32Array, base.lengths, base.blockCount);
    for (const part of parts.slice(1)) {
      const own = k.view(Uint32Array, part.lengths, part.blockCount);
      if (own.length !== lengths.length || own.some((length, block) => length !== lengths[block]))
        throw corrupt("the layers of a segment differ in their blocks");
      const added = k.view(Int32Array, part.levels, sum.length);
      for (let i = 0; i < sum.length; i++) sum[i] = LAYER_RATIO * sum[i]! + added[i]!;
    }
    const missing = LAYER_RATIO ** (setup.layers - parts.length);
    if (missing > 1) for (let i = 0; i < sum.length; i++) sum[i] = missing * sum[i]!;
    return base;
  }

  private layer(data: Bytes, layer: number, frames: number): Coefficients {
    const { kernels: k, setup } = this;
    const tracks = this.steps.length;
    const above = setup.layers - 1 - layer;
    const quality = Math.min(Math.max(64 - Math.floor(setup.scale / 4) - LAYER_QUALITY * above, 0), 255);
    const [bytes, levels, lengths] = [k.put(data), k.room(4 * frames * tracks), k.room(4 * frames)];
    const { model, states, weights, ends } = setup.prior;
    const [blocks, classes, prior] = [k.room(4), k.put(this.classes), k.put(model)];
    const learning = [k.put(states), k.put(weights), k.room(frames * tracks + 1), k.room(12 * tracks + 12)];
    k.call(
      "kp_kine_decode", "a segment",
      bytes, data.length, levels, frames, tracks, lengths, frames, blocks, classes, setup.unit, quality, prior,
      ends ? 1 : 0, ...learning,
    );
    return { levels, lengths, blockCount: k.view(Uint32Array, blocks, 1)[0]! };
  }
}
