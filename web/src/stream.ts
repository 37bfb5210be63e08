// Plays a clip while it is being fetched: base layers before refinements, what is needed next before what is
// needed later, refinements only as far as the throughput carries them.

import type { SegmentEntry } from "./clip-record.js";
import { isDamage } from "./container.js";
import { HttpSource } from "./http-source.js";
import type { Bytes } from "./bytes.js";
import type { KineClip } from "./reader.js";

type Values = Float64Array | Float32Array;

export interface StreamOptions<T = Values> {
  /** Seconds of base layer kept ahead of the playing frame. */
  target?: number;
  /** Seconds of base layer that must be ahead before refinements are fetched. */
  comfort?: number;
  /** What becomes of a run's bytes; the clip's values by default. */
  decode?: (run: number, data: Bytes[]) => Promise<T>;
  /** Only the lowest so many layers are fetched; all by default. */
  layers?: number;
  /** Called whenever a run of frames is decoded, or decoded again with more layers. */
  onRun?: (run: number, values: T, layers: number) => void;
  /** Called when a run cannot be decoded; its frames stay empty and the others play on. */
  onDamage?: (run: number, error: unknown) => void;
}

export type StreamState = "idle" | "fetching" | "stalled" | "failed" | "closed";

/** Share of the measured throughput that refinements may count on. */
const SAFETY = 0.8;
/** Segments fetched by one request at most, while they lie side by side. */
const MOST_SEGMENTS = 64;
/** Seconds of play that one request should cover at the most, so that a seek is never far behind. */
const REQUEST_S = 4;
/** The same of a refinement, which must not keep the base layer waiting. */
const REFINE_S = 1;

interface Wish {
  run: number;
  layer: number;
}

export class KineStream<T = Values> {
  /** Layers at hand of each run; -1 for a damaged run. */
  readonly have: Int8Array;
  state: StreamState = "idle";
  failure: unknown = null;
  /** Layers that a run has when it is complete. */
  readonly layers: number;
  /** Times that playing had to wait for frames. */
  stalls = 0;
  /** Resolves when nothing more is to come: all is here, or `failure` tells why not. */
  readonly done: Promise<void>;
  private frame = 0;
  private readonly data: Uint8Array<ArrayBuffer>[][];
  private stop = new AbortController();
  private wakeUp: () => void = () => {};
  private closed = false;
  private readonly options: Required<Pick<StreamOptions, "target" | "comfort">> & StreamOptions<T>;

  constructor(
    readonly clip: KineClip,
    options: StreamOptions<T> = {},
  ) {
    this.options = { target: Infinity, comfort: 3, ...options };
    this.layers = Math.min(options.layers ?? clip.layers, clip.layers);
    this.have = new Int8Array(clip.runs.length);
    this.data = clip.runs.map(() => []);
    this.done = this.loop();
  }

  /** Tells where playing is; fetching goes on from there. A jump drops what is being fetched elsewhere. */
  playAt(frame: number): void {
    const run = this.clip.runAt(frame);
    const jumped = run !== this.clip.runAt(this.frame) && run !== this.clip.runAt(this.frame) + 1;
    this.frame = frame;
    if (jumped && this.have[run] === 0) this.stop.abort();
    this.wakeUp();
  }

  /** Whether a frame can be shown. Asking for one that cannot be counts as a stall until it can. */
  ready(frame: number): boolean {
    const ready = this.have[this.clip.runAt(frame)] !== 0;
    if (!ready && this.state !== "stalled" && this.state !== "failed") {
      this.stalls++;
      this.state = "stalled";
    } else if (ready && this.state === "stalled") this.state = "fetching";
    return ready;
  }

  /** Seconds of base layer without a gap from the playing frame on. */
  get ahead(): number {
    const { runs } = this.clip;
    let n = this.clip.runAt(this.frame);
    while (n < runs.length && this.have[n] !== 0) n++;
    const end = n < runs.length ? runs[n]!.first : this.clip.frames;
    return Math.max(0, end - this.frame) * this.clip.frameTime;
  }

  /** Bytes a second over the recent past, 0 if not measured. */
  get throughput(): number {
    const { source } = this.clip.file.container;
    return source instanceof HttpSource ? source.throughput.bytesPerSecond : 0;
  }

  get complete(): boolean {
    return this.have.every((layers) => layers === -1 || layers === this.layers);
  }

  close(): void {
    this.closed = true;
    this.state = "closed";
    this.stop.abort();
    this.wakeUp();
  }

  private async loop(): Promise<void> {
    while (!this.closed && !this.complete) {
      const wishes = this.plan();
      if (!wishes.length) {
        this.state = "idle";
        await new Promise<void>((resolve) => (this.wakeUp = resolve));
        continue;
      }
      if (this.state === "idle") this.state = "fetching";
      try {
        await this.fetch(wishes);
      } catch (error) {
        if (this.stop.signal.aborted) this.stop = new AbortController();
        else {
          this.failure = error;
          this.state = "failed";
          return;
        }
      }
    }
    if (!this.closed) this.state = "idle";
  }

  /** The next segments to fetch in one go. */
  private plan(): Wish[] {
    const start = this.clip.runAt(this.frame);
    const order = [...this.clip.runs.keys()];
    const cyclic = [...order.slice(start), ...order.slice(0, start)]; // playing may loop
    const ahead = this.ahead;
    const base = cyclic.find((run) => this.have[run] === 0);
    const refined = cyclic.find((run) => this.have[run]! > 0 && this.have[run]! < this.layers);
    const hungry = base !== undefined && ahead < this.options.target;
    if (refined !== undefined && !(hungry && ahead < this.options.comfort) && this.affordable(refined)) {
      return this.stretch(refined, REFINE_S);
    }
    return hungry ? this.stretch(base, REQUEST_S) : refined !== undefined && base === undefined ? this.stretch(refined, REFINE_S) : [];
  }

  /** Whether a refinement arrives before its frames play and before the base layer runs out. */
  private affordable(run: number): boolean {
    const { runs, frameTime, frames } = this.clip;
    const size = runs[run]!.segments[this.have[run]!]!.stored;
    const distance = ((runs[run]!.first - this.frame + frames) % frames) * frameTime;
    const seconds = this.throughput ? size / (SAFETY * this.throughput) : Infinity;
    const baseRate = this.baseBytes() / this.clip.duration;
    const spare = this.throughput * SAFETY > baseRate || this.ahead >= this.clip.duration;
    return this.layers > 1 && spare && seconds < Math.max(distance, this.ahead - this.options.comfort);
  }

  private baseBytes(): number {
    return this.clip.runs.reduce((sum, run) => sum + run.segments[0]!.stored, 0);
  }

  /** The next segments of `run` and of runs behind it, as far as they are of one layer and lie side by side in the file. */
  private stretch(run: number, most: number): Wish[] {
    const { runs, frameTime } = this.clip;
    const layer = this.have[run]!;
    const wishes: Wish[] = [];
    let end: number | undefined;
    for (let n = run, seconds = 0; n < runs.length && this.have[n] === layer; n++) {
      const { offset, stored } = runs[n]!.segments[layer]!;
      const apart = end !== undefined && offset !== end;
      if (apart || wishes.length >= MOST_SEGMENTS || (wishes.length && seconds > most)) break;
      wishes.push({ run: n, layer });
      seconds += runs[n]!.frames * frameTime;
      end = offset + stored;
    }
    return wishes;
  }

  private async fetch(wishes: Wish[]): Promise<void> {
    const { container } = this.clip.file;
    const entry = ({ run, layer }: Wish): SegmentEntry => this.clip.runs[run]!.segments[layer]!;
    const last = entry(wishes[wishes.length - 1]!);
    const first = entry(wishes[0]!);
    // Asking for the whole stretch starts one request; the segments below are handed out as its bytes arrive.
    const signal = this.stop.signal;
    const span = last.offset + last.stored - first.offset;
    const whole = container.source.readAt(this.clip.entry.dataAt + first.offset, span, signal);
    whole.catch(() => {});
    for (const wish of wishes) {
      const { offset, stored } = entry(wish);
      await container.source.readAt(this.clip.entry.dataAt + offset, stored, signal);
      await this.take(wish);
      signal.throwIfAborted();
    }
    await whole;
  }

  private async take({ run, layer }: Wish): Promise<void> {
    try {
      const segment = this.clip.runs[run]!.segments[layer]!;
      this.data[run]![layer] = await this.clip.file.container.segment(this.clip.entry, segment);
      const decode = this.options.decode ?? ((n, data) => this.clip.decodeBytes(n, data) as Promise<T>);
      const values = await decode(run, this.data[run]!.slice(0, layer + 1));
      this.have[run] = layer + 1;
      this.options.onRun?.(run, values, layer + 1);
      if (layer + 1 === this.layers) this.data[run] = []; // nothing will refine it any more
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.have[run] = -1;
      this.options.onDamage?.(run, error);
    }
  }
}
