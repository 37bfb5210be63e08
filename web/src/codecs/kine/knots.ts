// Key frames, and all other frames on the way from one to the next (docs/codecs/kine.md).

import { corrupt } from "../../errors.js";
import { radiansPerAngle, type Skeleton } from "../../model.js";
import { multiply, normalize, quaternionToRotvec, rotvecToQuaternion, unwoundRotvec } from "../../rotation.js";
import type { Slot, Turn } from "./slots.js";

/** A gap between knots in frames, and how often it comes in a row. */
export interface KnotRun {
  gap: number;
  count: number;
}

/** Knots from the first frame to the last. */
export class Knots {
  /** First frame and first key of each run. */
  private readonly starts: { frame: number; key: number; gap: number }[];
  private readonly last: number;

  constructor(runs: KnotRun[]) {
    let [frame, key] = [0, 0];
    this.starts = runs.map(({ gap, count }) => {
      const start = { frame, key, gap };
      frame += gap * count;
      key += count;
      return start;
    });
    this.last = frame;
  }

  /** The last key that is not after a frame. */
  before(frame: number): number {
    const run = this.run((start) => start.frame <= frame);
    return run.key + Math.floor((frame - run.frame) / run.gap);
  }

  startOf(key: number): number {
    const run = this.run((start) => start.key <= key);
    return run.frame + (key - run.key) * run.gap;
  }

  /** The first key that frames first..stop-1 need, and the one after the last. */
  span(first: number, stop: number): [number, number] {
    if (stop - 1 > this.last) throw corrupt("a segment goes on after its stream's last key");
    const last = this.before(stop - 1);
    return [this.before(first), last + (this.startOf(last) < stop - 1 ? 2 : 1)];
  }

  /** The last run that has begun. */
  private run(begun: (start: { frame: number; key: number }) => boolean) {
    let [low, high] = [0, this.starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (begun(this.starts[middle]!)) low = middle;
      else high = middle;
    }
    return this.starts[low]!;
  }
}

/** Poses on the way from one to another. */
export class Between {
  private readonly turns: Turn[];
  private readonly angles: boolean[];
  private readonly full: number;

  constructor(skeleton: Skeleton, slots: Slot[]) {
    this.turns = slots.filter((slot): slot is Turn => slot.type === "turn" && slot.family !== "r");
    this.angles = skeleton.channels.map(({ kind }) => kind !== "scalar" && kind[0] === "r");
    this.full = (2 * Math.PI) / radiansPerAngle(skeleton);
  }

  /** Quaternions and rotation vectors on the shortest arc, Euler angles the shorter way round, all else straight. */
  pose(start: Float64Array, end: Float64Array, amount: number, out: Float64Array): void {
    for (let c = 0; c < out.length; c++) {
      let move = end[c]! - start[c]!;
      if (this.angles[c]) move -= this.full * Math.ceil(move / this.full - 0.5);
      out[c] = start[c]! + move * amount;
    }
    for (const { channels, family } of this.turns) {
      const [from, to] = [start, end].map((pose) => quaternionOf(channels.map((c) => pose[c]!), family));
      const turned = slerp(from!, to!, amount);
      const numbers = family === "q" ? turned : unwoundRotvec(turned);
      channels.forEach((c, n) => (out[c] = numbers[n]!));
    }
  }
}

function quaternionOf(numbers: number[], family: Turn["family"]): number[] {
  const [x, y, z] = numbers as [number, number, number];
  const q = family === "q" ? numbers : [0, 0, 0, 1];
  if (family !== "q") rotvecToQuaternion(x, y, z, q);
  normalize(q);
  return q;
}

/** Constant speed along the shorter arc between unit quaternions. */
function slerp(start: number[], end: number[], amount: number): number[] {
  const [step, turn] = [[0, 0, 0, 1], [0, 0, 0, 1]];
  multiply([-start[0]!, -start[1]!, -start[2]!, start[3]!], end, step);
  const [x, y, z] = quaternionToRotvec(step).map((v) => v * amount) as [number, number, number];
  rotvecToQuaternion(x, y, z, turn);
  multiply(start, turn, turn);
  normalize(turn);
  return turn;
}
