// How far a copy is from its original, point by point, in centimetres.

import type { Motion } from "./motion.js";

export class Comparison {
  /** Root of the mean square over points, and the largest, of each frame; NaN where it is not known yet. */
  readonly rms: Float32Array;
  readonly largest: Float32Array;

  constructor(
    readonly copy: Motion,
    readonly original: Motion,
  ) {
    this.rms = new Float32Array(copy.clip.frames).fill(NaN);
    this.largest = new Float32Array(copy.clip.frames).fill(NaN);
  }

  /** Whether the two have the same points at all. */
  get possible(): boolean {
    return this.copy.measured === this.original.measured;
  }

  /** The original's frame at the time of a frame of the copy. */
  originalFrame(frame: number): number {
    const at = Math.round((frame * this.copy.clip.frameTime) / this.original.clip.frameTime);
    return Math.min(at, this.original.clip.frames - 1);
  }

  /** Measures every frame that both have by now. */
  update(): void {
    if (!this.possible) return;
    const { copy, original } = this;
    for (let frame = 0; frame < copy.clip.frames; frame++) {
      const twin = this.originalFrame(frame);
      if (!Number.isNaN(this.rms[frame]!) || !here(copy, frame) || !here(original, twin)) continue;
      this.measure(frame, twin);
    }
  }

  forget(first: number, count: number): void {
    this.rms.fill(NaN, first, first + count);
    this.largest.fill(NaN, first, first + count);
  }

  /** [points] distances at one frame. */
  distances(frame: number, out: Float32Array): Float32Array {
    const [a, b] = [this.copy.measuredAt(frame), this.original.measuredAt(this.originalFrame(frame))];
    for (let p = 0; p < out.length; p++) {
      out[p] = Math.hypot(a[3 * p]! - b[3 * p]!, a[3 * p + 1]! - b[3 * p + 1]!, a[3 * p + 2]! - b[3 * p + 2]!);
    }
    return out;
  }

  /** Over all frames measured so far. */
  get totals(): { rms: number; largest: number; frames: number } {
    let [square, largest, frames] = [0, 0, 0];
    for (let frame = 0; frame < this.rms.length; frame++) {
      if (Number.isNaN(this.rms[frame]!)) continue;
      square += this.rms[frame]! ** 2;
      largest = Math.max(largest, this.largest[frame]!);
      frames++;
    }
    return { rms: frames ? Math.sqrt(square / frames) : NaN, largest: frames ? largest : NaN, frames };
  }

  private measure(frame: number, twin: number): void {
    const [a, b] = [this.copy.measuredAt(frame), this.original.measuredAt(twin)];
    let [square, largest] = [0, 0];
    for (let i = 0; i < a.length; i += 3) {
      const [x, y, z] = [a[i]! - b[i]!, a[i + 1]! - b[i + 1]!, a[i + 2]! - b[i + 2]!];
      const own = x * x + y * y + z * z;
      square += own;
      if (own > largest) largest = own;
    }
    this.rms[frame] = Math.sqrt(square / Math.max(1, a.length / 3));
    this.largest[frame] = Math.sqrt(largest);
  }
}

const here = (motion: Motion, frame: number) => motion.stream.have[motion.clip.runAt(frame)] !== 0;
