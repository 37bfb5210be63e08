// What a skeleton alone says of its tracks: where they come from, their first steps, their kinds.

import { channelsByJoint, radiansPerAngle, type Skeleton } from "../../model.js";

/** A rotation of three degrees of freedom: three tracks. */
export interface Turn {
  type: "turn";
  joint: number;
  channels: number[];
  /** "q" quaternion, "v" rotation vector, or Euler angles about `axes`. */
  family: "q" | "v" | "r";
  axes: number[];
  rest: number[];
}

/** A channel that is a track as it is. */
export interface Plain {
  type: "plain";
  joint: number;
  channel: number;
  kind: string;
  toTrack: number;
  /** The channel's value where the track is zero. */
  rest: number;
}

export type Slot = Turn | Plain;

export const tracksOf = (slots: Slot[]) => slots.reduce((sum, slot) => sum + (slot.type === "turn" ? 3 : 1), 0);

/** The tracks of a skeleton in coding order: joints from the root on, then free scalars. */
export function slotsOf(skeleton: Skeleton): Slot[] {
  const slots: Slot[] = [];
  channelsByJoint(skeleton).forEach((own, joint) => {
    const plain = (kinds: string[]) => {
      for (const kind of kinds) if (own.has(kind)) slots.push(plainSlot(skeleton, own.get(kind)!));
    };
    plain(["tx", "ty", "tz"]);
    const turn = turnOf(skeleton, joint, own);
    if (turn) slots.push(turn);
    else plain([...skeleton.joints[joint]!.order].map((axis) => "r" + axis));
    plain(["sx", "sy", "sz"]);
  });
  skeleton.channels.forEach(({ kind }, channel) => {
    if (kind === "scalar") slots.push(plainSlot(skeleton, channel));
  });
  return slots;
}

function plainSlot(skeleton: Skeleton, channel: number): Plain {
  const { joint, kind } = skeleton.channels[channel]!;
  const slot: Plain = { type: "plain", joint, channel, kind, toTrack: 1, rest: 0 };
  if (kind === "scalar") return slot;
  const axis = "xyz".indexOf(kind[1]!);
  const { offset, restScale } = skeleton.joints[joint]!;
  if (kind[0] === "t") slot.toTrack = skeleton.unitCm;
  if (kind[0] === "r") slot.toTrack = radiansPerAngle(skeleton);
  if (kind[0] === "t" && skeleton.translation === "replace") slot.rest = offset[axis]!;
  if (kind[0] === "s") slot.rest = restScale[axis]!;
  return slot;
}

function turnOf(skeleton: Skeleton, joint: number, own: Map<string, number>): Turn | null {
  const { rest, order } = skeleton.joints[joint]!;
  for (const names of ["qx qy qz qw", "vx vy vz"]) {
    if (!own.has(names.slice(0, 2))) continue;
    const channels = names.split(" ").map((name) => own.get(name)!);
    const start = rest.some((x) => x !== 0) ? rest : [0, 0, 0, 1];
    return { type: "turn", joint, channels, family: names[0] as "q" | "v", axes: [], rest: start };
  }
  const letters = [...order].filter((axis) => own.has("r" + axis));
  if (letters.length !== 3) return null;
  const channels = letters.map((axis) => own.get("r" + axis)!);
  return { type: "turn", joint, channels, family: "r", axes: letters.map((a) => "xyz".indexOf(a)), rest: [0, 0, 0, 1] };
}

/** Kind of each track, for the coder's model. */
export function classesOf(skeleton: Skeleton, slots: Slot[]): Uint8Array {
  return Uint8Array.from(
    slots.flatMap((slot) => {
      const root = slot.joint >= 0 && skeleton.joints[slot.joint]!.parent < 0;
      if (slot.type === "turn") return root ? [1, 1, 1] : [2, 3, 3];
      if (slot.kind[0] === "r") return [root ? 1 : 4];
      return [root && slot.kind[0] === "t" ? 0 : 5];
    }),
  );
}

/** Quarter octaves of each track's sensitivity, cm per unit, from the lengths of bones. */
export function defaultExponents(skeleton: Skeleton, slots: Slot[]): number[] {
  const { turning, moving } = reaches(skeleton);
  return slots.flatMap((slot) => {
    if (slot.type === "turn") return Array<number>(3).fill(quarterOctaves(turning[slot.joint]!));
    if (slot.kind === "scalar") return [quarterOctaves(1e4)];
    return [quarterOctaves((slot.kind[0] === "t" ? moving : turning)[slot.joint]!)];
  });
}

/** Mean square of how far points move per radian, and per centimetre, of each joint. */
function reaches(skeleton: Skeleton) {
  const { joints, unitCm } = skeleton;
  const chain: number[] = [];
  joints.forEach(({ parent, offset }, joint) => {
    chain[joint] = parent < 0 ? 0 : chain[parent]! + norm(offset) * unitCm;
  });
  const tips = joints.map(({ direction, length }) => norm(direction.map((d) => d * length)) * unitCm);
  const carried = joints.map(() => [] as number[]);
  for (let i = 0; i < joints.length; i++) for (let j = i; j >= 0; j = joints[j]!.parent) carried[j]!.push(i);
  const turning = carried.map((own, joint) => {
    const squares = own.map((i) => (chain[i]! + tips[i]! - chain[joint]!) ** 2);
    return (0.5 * squares.reduce((sum, s) => sum + s, 0) + 1) / joints.length;
  });
  return { turning, moving: carried.map((own) => own.length / joints.length) };
}

const norm = (v: number[]) => Math.sqrt(v.reduce((sum, x) => sum + x * x, 0));

/** round(4 log2 √square), by exponents of powers: the same in every build. */
function quarterOctaves(square: number): number {
  const [mantissa, exponent] = frexp(Math.min(Math.max(square, 1e-12), 1e12));
  return 2 * exponent + frexp(mantissa * mantissa * 1.4142135623730951)[1] - 1;
}

/** value = mantissa 2^exponent with the mantissa in [1/2, 1), for positive normal numbers. */
function frexp(value: number): [number, number] {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const exponent = ((view.getUint16(0) >> 4) & 0x7ff) - 1022;
  return [value * 2 ** -exponent, exponent];
}

/** In which order a turn's three numbers become tracks. */
const ORDERS = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
const TARGETS = { r: 0, q: 1, v: 2 };

/** The channels of each joint's Euler angles: three of a turn, or a lone one. */
export function eulerItems(slots: Slot[]): number[][] {
  return slots.flatMap((slot) => {
    if (slot.type === "plain") return slot.kind[0] === "r" ? [[slot.channel]] : [];
    return slot.family === "r" ? [slot.channels] : [];
  });
}

/** The inverse of all tracks as the tables of kp_kine_pose. */
export interface PoseTables {
  turns: Int32Array;
  rests: Float64Array;
  plain: Int32Array;
  scales: Float64Array;
}

export function poseTables(slots: Slot[], forms: { form: number; order: number }[]): PoseTables {
  const turns: number[] = [];
  const rests: number[] = [];
  const plain: number[] = [];
  const scales: number[] = [];
  let [at, turn] = [0, 0];
  for (const slot of slots) {
    if (slot.type === "plain") {
      plain.push(at++, slot.channel);
      scales.push(1 / slot.toTrack, slot.rest);
      continue;
    }
    const { form, order } = forms[turn++]!;
    const places = [0, 1, 2].map((number) => ORDERS[order]!.indexOf(number));
    const channels = [...slot.channels, 0].slice(0, 4);
    const axes = slot.family === "r" ? slot.axes : [0, 1, 2];
    turns.push(form, ...places, TARGETS[slot.family], ...channels, ...axes, at);
    rests.push(...slot.rest);
    at += 3;
  }
  return {
    turns: Int32Array.from(turns), rests: Float64Array.from(rests), plain: Int32Array.from(plain), scales: Float64Array.from(scales),
  };
}

/** Whether a turn can be written in a form: Euler angles need Euler channels, headings a root. */
export function allowed(skeleton: Skeleton, turn: Turn, form: number): boolean {
  if (form === 0) return true;
  if (form === 1) return turn.family === "r";
  return turn.family !== "v" && skeleton.joints[turn.joint]!.parent < 0;
}
