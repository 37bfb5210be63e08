// Which MPEG-4 body parameter (BAP) carries which channel of a rig, and in what unit (docs/codecs/mpeg4-predictive.md).

import table from "../../../../src/kinepack/formats/bap_table.csv";
import { unsupported } from "../../errors.js";
import { radiansPerAngle, type Skeleton } from "../../model.js";

interface Bap {
  name: string;
  joint: string;
  kind: string;
  sign: number;
  group: number;
  position: number;
  /** Quantiser steps: the alternative table's, the standard's. */
  steps: [number, number];
  /** The CMU bone and degree of freedom of the same name, "bone.kind". */
  cmu: string;
}

export const TABLES = 2;
/** Parameters from this place on are extensions without a meaning of their own. */
const PREDEFINED = 186;
/** Channels without a parameter of their name: one alternative step is so many radians, millimetres, or shares of one. */
const FINE: Record<string, number> = { r: 1.7e-3, v: 1.7e-3, t: 2 };
const FINE_RATIO = 1.7e-3;

const baps = readTable(table);
const byChannel = new Map(baps.map((bap, n) => [bap.kind === "scalar" ? `.${bap.name}` : `${bap.joint}.${bap.kind}`, n]));
const byCmu = new Map(baps.flatMap(({ cmu }, n) => (cmu ? [[cmu, n] as const] : [])));

/** Parameters in group order, as an FBA stream numbers them. */
const order = [...baps.keys()].sort((a, b) => baps[a]!.group - baps[b]!.group || baps[a]!.position - baps[b]!.position);
export const groupSizes = sizesOf(order.map((n) => baps[n]!.group));
export const parameterCount = baps.length;
export const stepsInOrder = (which: number) => Int32Array.from(order, (n) => baps[n]!.steps[which]!);

export class Carriers {
  /** Parameter of each channel, its number less one. */
  readonly chosen: number[];
  /** Parameter steps in one of the channel's own unit, with the parameter's sign. */
  readonly perUnit: Float64Array;

  constructor(skeleton: Skeleton) {
    const { channels } = skeleton;
    if (channels.length > baps.length) throw unsupported(`MPEG-4 has ${baps.length} body parameters, the clip more channels`);
    const own = channels.map((_, channel) => named(skeleton, channel));
    const taken = new Set(own);
    const numbers = [...baps.keys()];
    const free = [...numbers.slice(PREDEFINED), ...numbers.slice(0, PREDEFINED)].filter((n) => !taken.has(n));
    this.chosen = own.map((n) => n ?? free.shift()!);
    this.perUnit = Float64Array.from(this.chosen, (n, channel) => factor(skeleton, channel, baps[n]!, own[channel] !== undefined));
  }

  /** [channels] quantiser steps. */
  steps(which: number): number[] {
    return this.chosen.map((n) => baps[n]!.steps[which]!);
  }

  /** [parameters in group order] the channel of each, or -1. */
  columns(): Int32Array {
    return Int32Array.from(order, (n) => this.chosen.lastIndexOf(n));
  }

  /** Parameters [frames * channels] in the channels' units. */
  toValues(parameters: Float64Array): Float64Array {
    const width = this.perUnit.length;
    return parameters.map((value, i) => value / this.perUnit[i % width]!);
  }
}

/** The parameter that has the channel's name and unit. */
function named({ channels, joints }: Skeleton, channel: number): number | undefined {
  const { joint, kind, name } = channels[channel]!;
  if (kind === "scalar") return byChannel.get(`.${name}`);
  const key = `${joint >= 0 ? joints[joint]!.name : ""}.${kind}`;
  return byCmu.get(key) ?? byChannel.get(key);
}

function factor(skeleton: Skeleton, channel: number, bap: Bap, isNamed: boolean): number {
  const { joint, kind } = skeleton.channels[channel]!;
  const perUnit = bap.kind[0] === "r" ? 1e5 : 1;
  if (kind === "scalar") return isNamed ? perUnit : bap.steps[0] / FINE_RATIO;
  const physical = kind[0] === "r" ? radiansPerAngle(skeleton) : kind[0] === "t" ? skeleton.unitCm * 10 : 1;
  if (!isNamed) return (bap.steps[0] / (FINE[kind[0]!] ?? FINE_RATIO)) * physical;
  const sameBone = joint >= 0 && bap.cmu === `${skeleton.joints[joint]!.name}.${kind}`;
  return (sameBone ? 1 : bap.sign) * perUnit * physical;
}

function readTable(text: string): Bap[] {
  const [head, ...lines] = text.trim().split(/\r?\n/).map((line) => line.split(","));
  const column = (line: string[], name: string) => line[head!.indexOf(name)]!;
  return lines.map((line) => {
    const axis = column(line, "axis").slice(1);
    return {
      name: column(line, "name"),
      joint: column(line, "joint"),
      kind: axis === "" ? "scalar" : axis[0] === "t" ? axis : `r${axis}`,
      sign: column(line, "axis")[0] === "-" ? -1 : 1,
      group: Number(column(line, "group")),
      position: Number(column(line, "position")),
      steps: [Number(column(line, "step_alt")), Number(column(line, "step"))],
      cmu: column(line, "cmu"),
    };
  });
}

function sizesOf(groups: number[]): Uint8Array {
  const sizes = new Uint8Array(Math.max(...groups));
  for (const group of groups) sizes[group - 1]!++;
  return sizes;
}
