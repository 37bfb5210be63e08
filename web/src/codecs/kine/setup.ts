// The setup of a `kine` stream: range-coded integers that all segments share (docs/codecs/kine.md).

import { ByteReader, type Bytes } from "../../bytes.js";
import { corrupt } from "../../errors.js";
import type { Kernels } from "../../kernels.js";
import type { Skeleton } from "../../model.js";
import type { KnotRun } from "./knots.js";
import { type Prior, priorWithEnds, priorWithoutEnds, SETUP_BINS, SETUP_ESCAPE } from "./prior.js";
import { allowed, classesOf, eulerItems, type Slot, tracksOf, type Turn } from "./slots.js";

export interface Link {
  from: number;
  weight: number;
}

/** From a frame on the Euler angles of an item are those nearest to the anchors, in quarter turns. */
export interface Branch {
  item: number;
  frame: number;
  anchors: number[];
}

export interface Setup {
  prior: Prior;
  /** By item and frame. */
  branches: Branch[];
  unit: number;
  /** Frames that a key is held, and the first key. */
  hold: number;
  lead: number;
  /** Gaps between knots, if frames lie between them. */
  knots: KnotRun[];
  layers: number;
  scale: number;
  shift: number;
  /** Whether blocks begin with a line and a parabola. */
  bent: boolean;
  /** Of each turn. */
  forms: { form: number; order: number }[];
  active: boolean[];
  exponents: Int32Array;
  offsets: Int32Array;
  /** For each active track its regressors among the earlier active ones. */
  links: Link[][];
}

/** Where contexts start: forms and orders by root or not, fields and links by the track's class. */
const [FORM, ORDER, FIELDS, LINKS, CLASSES] = [1, 3, 5, 29, 6];
const HEAD = 3;
const MOST_LAYERS = 4;
/** Added to the shift of a setup whose blocks are bent. */
const BENT = 16;
/** First byte of a setup since version 3, before a zero: added to it for branches and for knots. */
const [MARK, BRANCHED, KNOTTED] = [0x80, 1, 2];
/** Numbers of a branch and of a run of knots. */
const [BRANCH, KNOT_RUN] = [5, 2];

export function unpackSetup(data: Bytes, skeleton: Skeleton, slots: Slot[], kernels: Kernels): Setup {
  const marked = data[0]! >= MARK && data[0]! < MARK + 4 && data[1] === 0;
  const prior = marked ? priorWithEnds : priorWithoutEnds;
  const flags = marked ? data[0]! - MARK : 0;
  const source = new ByteReader(prior.ends ? data.subarray(2) : data);
  const knots = flags & KNOTTED ? unpackKnots(source.block(), kernels) : [];
  const coded = source.block();
  const classes = classesOf(skeleton, slots);
  const turns = slots.filter((slot): slot is Turn => slot.type === "turn");
  const tracks = tracksOf(slots);
  const roots = turns.map((turn) => (skeleton.joints[turn.joint]!.parent < 0 ? 1 : 0));
  const contexts = [
    ...Array<number>(HEAD).fill(0),
    ...roots.flatMap((root) => [FORM + root, ORDER + root]),
    ...[0, 1, 2, 3].flatMap((field) => Array.from(classes, (c) => FIELDS + CLASSES * field + c)),
  ];
  const first = integers(coded, contexts, prior.setup, kernels);
  const [timing, scale, bentShift] = first as unknown as [number, number, number];
  const [bent, shift] = [Math.floor(bentShift / BENT), bentShift % BENT];
  const unit = ((timing - 1) % 64) + 1;
  const hold = (Math.floor((timing - 1) / 64) % 8) + 1;
  const lead = (Math.floor((timing - 1) / 512) % 8) + 1;
  const layers = Math.floor((timing - 1) / 4096) + 1;
  const fields = first.subarray(HEAD + 2 * turns.length);
  const field = (n: number) => fields.subarray(n * tracks, (n + 1) * tracks);
  const forms = turns.map((_, n) => ({ form: first[HEAD + 2 * n]!, order: first[HEAD + 2 * n + 1]! }));
  const [still, exponents, offsets, counts] = [field(0), field(1), field(2), field(3)];
  const sound =
    timing >= 1 && lead <= hold && layers <= MOST_LAYERS && Math.abs(scale) <= 64 * 40 && 
    bent >= 0 && bent <= (marked ? 1 : 0) && shift <= 12 &&
    forms.every(({ form, order }, n) => form >= 0 && form < 5 && order >= 0 && order < 6 && allowed(skeleton, turns[n]!, form)) &&
    still.every((s) => s === 0 || s === 1) &&
    exponents.every((e) => Math.abs(e) <= 200) &&
    counts.every((c, i) => c >= 0 && c <= 16 * (1 - still[i]!));
  if (!sound) throw corrupt("the codec's setup holds a number out of its range");
  const active = Array.from(still, (s) => s === 0);
  const rest = flags & BRANCHED ? source.block() : source.take(source.left);
  const moving = (_: unknown, i: number) => active[i]!;
  const links = unpackLinks(rest, counts.filter(moving), classes.filter(moving), prior, kernels);
  const branches = flags & BRANCHED ? unpackBranches(source, eulerItems(slots), kernels) : [];
  return {
    prior, branches, unit, hold, lead, knots, layers, scale, shift, bent: bent === 1, forms, active, exponents, offsets, links,
  };
}

function unpackLinks(
  data: Bytes, counts: Int32Array, classes: Uint8Array, prior: Prior, kernels: Kernels,
): Link[][] {
  const contexts = Array.from(counts).flatMap((count, track) =>
    Array.from({ length: 2 * count }, (_, n) => LINKS + classes[track]! + (n % 2) * CLASSES),
  );
  const flat = integers(data, contexts, prior.setup, kernels);
  let at = 0;
  return Array.from(counts, (count, track) =>
    Array.from({ length: count }, () => {
      const link = { from: track - flat[at]!, weight: flat[at + 1]! };
      at += 2;
      if (!(link.from >= 0 && link.from < track) || Math.abs(link.weight) > 1 << 20) {
        throw corrupt("a track is predicted from one that does not exist");
      }
      return link;
    }),
  );
}

function unpackKnots(data: Bytes, kernels: Kernels): KnotRun[] {
  const flat = unpackRows(new ByteReader(data), KNOT_RUN, kernels);
  const runs = Array.from({ length: flat.length / KNOT_RUN }, (_, n) => ({ gap: flat[2 * n]! + 1, count: flat[2 * n + 1]! + 1 }));
  const frames = runs.reduce((sum, { gap, count }) => sum + gap * count, 0);
  if (!runs.length || runs.some(({ gap, count }) => gap < 1 || count < 1) || frames >= 2 ** 30)
    throw corrupt("the codec's setup holds knots out of range");
  return runs;
}

/** A varint of the number of rows, then integers, each column with a context of its own. */
function unpackRows(source: ByteReader, width: number, kernels: Kernels): Int32Array {
  const count = source.varint();
  if (count > 1024 * (source.left + 1)) throw corrupt("the codec's setup is too short for what it says to hold");
  const contexts = Array.from({ length: width * count }, (_, n) => n % width);
  const fresh = new Uint32Array(width * SETUP_BINS).fill(0x80000000);
  return integers(source.take(source.left), contexts, fresh, kernels);
}

function unpackBranches(source: ByteReader, items: number[][], kernels: Kernels): Branch[] {
  const steps = unpackRows(source, BRANCH, kernels);
  const count = steps.length / BRANCH;
  const branches: Branch[] = [];
  let at = [0, 0, 0, 0, 0];
  for (let n = 0; n < count; n++) {
    const step = steps.subarray(BRANCH * n, BRANCH * (n + 1));
    at = at.map((before, i) => (i === 0 || step[0] === 0 ? before : 0) + step[i]!);
    const [item, frame, ...anchors] = at as [number, number, ...number[]];
    const later = step[0]! > 0 || n === 0 || step[1]! > 0;
    const sound = step[0]! >= 0 && item < items.length && later && frame >= 0 && frame < 2 ** 30;
    if (!sound || anchors.some((a) => Math.abs(a) > 1 << 20)) throw corrupt("the codec's setup holds a branch out of range");
    branches.push({ item, frame, anchors });
  }
  return branches;
}

export function integers(data: Bytes, contexts: number[], first: Uint32Array, k: Kernels): Int32Array {
  return k.scope(() => {
    const [bytes, chosen, states] = [k.put(data), k.put(Int32Array.from(contexts)), k.put(first)];
    const out = k.room(4 * contexts.length);
    k.call(
      "kp_decode_integers", "the codec's setup",
      bytes, data.length, out, contexts.length, chosen, 1, states, first.length / SETUP_BINS, 0, SETUP_ESCAPE, 5, 20,
    );
    return k.view(Int32Array, out, contexts.length).slice();
  });
}
