// An open `.kine` file: clips by name or number, frames by number or time, nothing read before it is needed.

import type { Bytes } from "./bytes.js";
import type { Decoder } from "./codecs/base.js";
import { codecFor } from "./codecs/index.js";
import { checkFinite, type Product, type Rows } from "./codecs/product.js";
import type { SegmentEntry } from "./clip-record.js";
import { type ClipEntry, Container } from "./container.js";
import { charge, corrupt, usage, withinMemory } from "./errors.js";
import { HttpSource, type HttpOptions } from "./http-source.js";
import { kernels } from "./kernels.js";
import { type Pose, Rig } from "./kinematics.js";
import { type Frames, type Layout, unpackStatic, widthOf } from "./model.js";
import { BlobSource, type ByteSource, BytesSource } from "./source.js";

export type Place = string | URL | Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | ByteSource;

export interface OpenOptions extends HttpOptions {
  /** The file that keeps the skeleton or mesh, for files that only refer to it. */
  skeleton?: Place;
}

/** Opens a file by URL, File, Blob or bytes; of a URL only the front is fetched. */
export async function open(place: Place, options: OpenOptions = {}): Promise<KineFile> {
  void kernels().catch(() => {}); // compiled while the first bytes are on their way
  const container = await Container.open(await sourceOf(place, options));
  const shared = options.skeleton ? await open(options.skeleton) : null;
  return new KineFile(container, shared);
}

async function sourceOf(place: Place, options: HttpOptions): Promise<ByteSource> {
  if (typeof place === "string" || place instanceof URL) return HttpSource.open(String(place), options);
  if (place instanceof Blob) return new BlobSource(place);
  if (place instanceof ArrayBuffer) return new BytesSource(new Uint8Array(place));
  if (place instanceof Uint8Array) return new BytesSource(place);
  return place;
}

export class KineFile {
  private readonly layouts = new Map<number | string, Layout>();

  constructor(
    readonly container: Container,
    private readonly shared: KineFile | null,
  ) {}

  /** Names of the clips, in file order. */
  get names(): string[] {
    return this.container.names;
  }

  get bytes(): number {
    return this.container.source.size;
  }

  /** A clip by its name or number. */
  async clip(which: string | number = 0): Promise<KineClip> {
    const index = typeof which === "number" ? which : this.names.indexOf(which);
    if (!(index in this.names)) throw usage(`the file has no clip '${which}'; it has ${this.names.slice(0, 20).join(", ")}`);
    const entry = await this.container.clip(index);
    const layout = await this.layout(entry.record.static);
    return new KineClip(this, entry, layout);
  }

  close(): void {
    this.container.source.close();
    this.shared?.close();
  }

  private async layout(which: number | string): Promise<Layout> {
    let layout = this.layouts.get(which);
    if (!layout) {
      if (typeof which === "number") layout = await unpackStatic(await this.container.static(which));
      else layout = await this.sharedLayout(which);
      this.layouts.set(which, layout);
    }
    return layout;
  }

  private async sharedLayout(digest: string): Promise<Layout> {
    const hint = `the file's skeleton (${digest.slice(0, 8)}…) is kept in another file; pass it as options.skeleton`;
    if (!this.shared) throw usage(hint);
    return unpackStatic(await this.shared.container.static(0));
  }
}

/** Frames [first, first + frames) that decode together, and the segment of each layer. */
export interface RunEntry {
  first: number;
  frames: number;
  segments: SegmentEntry[];
}

export class KineClip {
  readonly runs: RunEntry[] = [];
  /** Time spent in decoding so far, and the frames it gave. */
  readonly decoding = { seconds: 0, frames: 0 };
  private decoder: Promise<Decoder> | null = null;
  private rigged: Promise<Rig> | null = null;

  constructor(
    readonly file: KineFile,
    readonly entry: ClipEntry,
    readonly layout: Layout,
  ) {
    for (const segment of entry.record.segments) {
      if (segment.layer === 0) this.runs.push({ first: segment.first, frames: segment.frames, segments: [] });
      this.runs[this.runs.length - 1]!.segments.push(segment);
    }
  }

  get name(): string {
    return this.entry.record.name;
  }
  get codec(): string {
    return this.entry.record.codec;
  }
  get settings(): string {
    return this.entry.record.settings;
  }
  get frames(): number {
    return this.entry.record.frames;
  }
  /** Seconds from one frame to the next. */
  get frameTime(): number {
    return this.entry.record.frameTime;
  }
  /** Seconds. */
  get duration(): number {
    return this.frames * this.frameTime;
  }
  /** Quality layers: 1 if the clip cannot be refined. */
  get layers(): number {
    return this.entry.record.layers;
  }
  get width(): number {
    return widthOf(this.layout);
  }
  /** Bytes of the clip without its skeleton or mesh. */
  get motionBytes(): number {
    return this.motionBytesOf(this.layers);
  }
  /** The same from the lowest `layers` layers. */
  motionBytesOf(layers: number): number {
    const left = this.entry.record.segments.filter(({ layer }) => layer >= layers);
    return this.entry.chunkBytes + this.entry.record.dataBytes - left.reduce((sum, { size }) => sum + size, 0);
  }
  /** frames x numbers x float32 */
  get rawBytes(): number {
    return this.frames * this.width * 4;
  }

  frameAt(seconds: number): number {
    return Math.min(this.frames - 1, Math.max(0, Math.floor(seconds / this.frameTime + 1e-9)));
  }

  /** Number of the run that holds a frame. */
  runAt(frame: number): number {
    let [low, high] = [0, this.runs.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.runs[middle]!.first <= frame) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Frames start..stop-1 from the lowest `layers` layers; only their segments are read. */
  async decode(start = 0, stop = this.frames, { layers = this.layers } = {}): Promise<Frames> {
    if (!(start >= 0 && start < stop && stop <= this.frames)) {
      throw usage(`frames ${start}..${stop} are not inside the clip's ${this.frames}`);
    }
    const { width } = this;
    charge("values", (stop - start) * width);
    const Values = this.layout.kind === "mesh" ? Float32Array : Float64Array;
    const values = withinMemory(() => new Values((stop - start) * width));
    for (let n = this.runAt(start); n < this.runs.length && this.runs[n]!.first < stop; n++) {
      const run = this.runs[n]!;
      const part = await this.decodeRun(n, layers);
      const low = Math.max(run.first, start);
      const high = Math.min(run.first + run.frames, stop);
      values.set(part.subarray((low - run.first) * width, (high - run.first) * width), (low - start) * width);
    }
    return { layout: this.layout, first: start, frames: stop - start, width, values };
  }

  /** The frames from `begin` up to `end` seconds. */
  decodeTime(begin: number, end: number): Promise<Frames> {
    const start = this.frameAt(begin);
    return this.decode(start, Math.min(this.frames, Math.max(start + 1, Math.ceil(end / this.frameTime - 1e-9))));
  }

  /** [frames * width] of one run. */
  async decodeRun(number: number, layers = this.layers): Promise<Float64Array | Float32Array> {
    const wanted = this.runs[number]!.segments.slice(0, Math.max(1, layers));
    const data = await Promise.all(wanted.map((segment) => this.file.container.segment(this.entry, segment)));
    return this.decodeBytes(number, data);
  }

  /** The same from bytes at hand: those of the lowest layer, then of as many refinements as there are. */
  async decodeBytes(number: number, data: Bytes[]): Promise<Float64Array | Float32Array> {
    const { first, frames } = this.runs[number]!;
    charge("values", frames * this.width);
    const decoder = await this.opened();
    const begun = performance.now();
    const values = withinMemory(() => decoder.decode({ first, frames, data }));
    this.decoding.seconds += (performance.now() - begun) / 1000;
    this.decoding.frames += frames;
    if (values.length !== frames * this.width) throw corrupt(`the segment at frame ${first} has the wrong size`);
    if (!allFinite(values)) throw corrupt("the stream decodes to numbers that are not finite");
    return values;
  }

  /** Of a mesh whose frames are products (codecs/product.ts): the factors; null for all other clips. */
  async product(): Promise<Product | null> {
    return (await this.opened()).product ?? null;
  }

  /** What the frames of one run have in that product, from bytes at hand or fetched. */
  async rows(number: number, data?: Bytes[]): Promise<Rows> {
    const product = await this.product();
    if (!product) throw usage("the clip is not a product");
    const { first, frames, segments } = this.runs[number]!;
    data ??= await Promise.all(segments.map((segment) => this.file.container.segment(this.entry, segment)));
    const begun = performance.now();
    const rows = withinMemory(() => product.rows({ first, frames, data }));
    this.decoding.seconds += (performance.now() - begun) / 1000;
    this.decoding.frames += frames;
    checkFinite(rows.offsets);
    checkFinite(rows.values);
    return rows;
  }

  /** Poses of decoded frames of a skeleton. */
  async pose(frames: Frames): Promise<Pose> {
    if (!(frames.values instanceof Float64Array)) throw usage("a mesh has no pose");
    return (await this.rig()).pose(frames.values, frames.frames);
  }

  /** The skeleton's kinematics. */
  rig(): Promise<Rig> {
    const { layout } = this;
    if (layout.kind !== "skeleton") throw usage("a mesh has no skeleton");
    return (this.rigged ??= kernels().then((k) => new Rig(layout, k)));
  }

  private opened(): Promise<Decoder> {
    const { record } = this.entry;
    return (this.decoder ??= kernels().then((k) => withinMemory(() => codecFor(record).open(this.layout, record, k))));
  }
}

function allFinite(values: Float64Array | Float32Array): boolean {
  for (let i = 0; i < values.length; i++) if (!Number.isFinite(values[i]!)) return false;
  return true;
}
