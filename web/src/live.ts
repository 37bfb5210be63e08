// A live stream over a WebSocket: packets to frames (docs/guides/streaming.md has the wire format). Each segment decodes alone,
// so a viewer joins at any moment, and what is lost or damaged on the way costs nothing but itself.

import { type Bytes, ByteReader, crc32 } from "./bytes.js";
import type { ClipRecord } from "./clip-record.js";
import type { Decoder } from "./codecs/base.js";
import { codecFor } from "./codecs/index.js";
import { charge, corrupt, ioFailure, KineError, truncated, unsupported, withinMemory } from "./errors.js";
import { kernels } from "./kernels.js";
import { type Frames, type Layout, unpackStatic, widthOf } from "./model.js";

const HEAD_BYTES = 12;
const VERSION = 1;
/** Where a packet tells its kind. */
const KIND_AT = 3;
const KIND = { hello: 1, segment: 2, end: 3 } as const;
const SEQUENCES = 2 ** 32;
const MOST_PARTS = 1024;
/** Frames of one segment, at most. */
const MOST_FRAMES = 20_000;

/** What a viewer knows before the first segment. */
export interface Hello {
  session: number;
  name: string;
  codec: string;
  codecVersion: number;
  settings: string;
  frameTime: number;
  setup: Bytes;
  layout: Layout;
}

/** A run of frames of a live stream; `first` counts from the stream's beginning. */
export interface LiveFrames extends Frames {
  sequence: number;
  /** Segments missing just before this one. */
  lost: number;
  /** When the first frame was captured: milliseconds since 1970 by the source's clock. */
  captured: number;
  /** Bytes of the packet. */
  bytes: number;
}

interface Part {
  frames: number;
  layer: number;
  data: Bytes;
}

/** Follows one stream, packet by packet. Damaged packets are counted and left; the next whole one decodes by itself. */
export class LiveDecoder {
  hello: Hello | null = null;
  /** Segments that never came. */
  lost = 0;
  /** Packets that came damaged or did not decode. */
  bad = 0;
  ended = false;
  /** What was wrong with the last bad packet. */
  problem: unknown = null;
  /** Why nothing of the stream can be decoded: this reader has not its codec. */
  refusal: KineError | null = null;
  private expected: number | null = null;

  /** Takes one message; frames if it was a segment that decodes. */
  async feed(data: Bytes): Promise<LiveFrames | null> {
    try {
      return await this.take(data);
    } catch (error) {
      if (!(error instanceof KineError)) throw error;
      this.bad++;
      this.problem = error;
      return null;
    }
  }

  private async take(data: Bytes): Promise<LiveFrames | null> {
    const { kind, sequence, body } = unpackPacket(data);
    if (kind === KIND.hello) await this.greet(new ByteReader(body));
    else if (kind === KIND.segment) return this.segment(new ByteReader(body), sequence, data.length);
    else if (kind === KIND.end) this.ended = true;
    return null;
  }

  private async greet(source: ByteReader): Promise<void> {
    const session = source.varint();
    const [name, codec, codecVersion, settings] = [source.text(), source.text(), source.varint(), source.text()];
    const [frameTime, setup, body] = [source.frameTime(), source.block(), source.block()];
    if (source.left) throw corrupt("a live packet is longer than its content");
    try {
      codecFor({ codec, codecVersion });
    } catch (error) {
      this.refusal = error as KineError;
      throw error;
    }
    const layout = await unpackStatic(body);
    if (this.hello?.session !== session) this.expected = null;
    this.hello = { session, name, codec, codecVersion, settings, frameTime, setup, layout };
  }

  private async segment(source: ByteReader, sequence: number, bytes: number): Promise<LiveFrames | null> {
    const gap = this.expected === null ? 0 : sequenceGap(this.expected, sequence);
    if (gap < 0) return null; // an echo of what was seen
    this.expected = (sequence + 1) % SEQUENCES;
    this.lost += gap;
    if (!this.hello) return null;
    const first = source.varint();
    const frames = source.varint();
    const captured = source.varint() / 1000;
    const setup = source.u8() ? source.block() : this.hello.setup;
    const parts = unpackParts(source, frames);
    const { layout } = this.hello;
    const values = await this.decode(setup, frames, parts);
    return { layout, first, frames, width: widthOf(layout), values, sequence, lost: gap, captured, bytes };
  }

  /** The parts alone, as frames 0 to frames - 1 of a stream of that setup. */
  private async decode(setup: Bytes, frames: number, parts: Part[]): Promise<Float64Array | Float32Array> {
    const { layout, ...about } = this.hello!;
    charge("values", frames * widthOf(layout));
    const record: ClipRecord = { ...about, frames, setup, static: 0, segments: [], layers: 1, dataBytes: 0 };
    const k = await kernels();
    return withinMemory(() => decodeParts(codecFor(record).open(layout, record, k), layout, frames, parts));
  }
}

function decodeParts(decoder: Decoder, layout: Layout, frames: number, parts: Part[]): Float64Array | Float32Array {
  const width = widthOf(layout);
  const values = layout.kind === "mesh" ? new Float32Array(frames * width) : new Float64Array(frames * width);
  let first = 0;
  for (const [n, base] of parts.entries()) {
    if (base.layer) continue;
    const upper = parts.slice(n + 1);
    const end = upper.findIndex((part) => !part.layer);
    const data = [base, ...upper.slice(0, end < 0 ? upper.length : end)].map((part) => part.data);
    const run = decoder.decode({ first, frames: base.frames, data });
    if (run.length !== base.frames * width) throw corrupt("a live segment has the wrong size");
    values.set(run, first * width);
    first += base.frames;
  }
  if (!values.every(Number.isFinite)) throw corrupt("a live segment decodes to numbers that are not finite");
  return values;
}

function unpackPacket(data: Bytes): { kind: number; sequence: number; body: Bytes } {
  if (data.length < HEAD_BYTES) throw truncated("a live packet is shorter than its head");
  const head = new ByteReader(data);
  if (head.u8() !== 0x4b || head.u8() !== 0x4c) throw corrupt("this is not a live packet");
  const version = head.u8();
  if (version !== VERSION) throw unsupported(`the live packet is of version ${version}, this reader knows ${VERSION}`);
  const [kind, sequence, sum] = [head.u8(), head.u32(), head.u32()];
  const covered = new Uint8Array(data.length - 4);
  covered.set(data.subarray(0, 8));
  covered.set(data.subarray(HEAD_BYTES), 8);
  if (crc32(covered) !== sum) throw corrupt("a live packet is damaged");
  return { kind, sequence, body: data.subarray(HEAD_BYTES) };
}

function unpackParts(source: ByteReader, frames: number): Part[] {
  const count = source.varint();
  if (!(frames >= 1 && frames <= MOST_FRAMES && count >= 1 && count <= MOST_PARTS)) throw corrupt("a live segment has no parts");
  const parts = Array.from({ length: count }, () => ({ frames: source.varint(), layer: source.varint(), data: source.block() }));
  const base = parts.filter((part) => !part.layer).reduce((sum, part) => sum + part.frames, 0);
  const sound = !source.left && !parts[0]!.layer && parts.every((part) => part.frames >= 1) && base === frames;
  if (!sound) throw corrupt("the parts of a live segment are not its frames");
  return parts;
}

/** Segments lost before `got`; negative for one that came before. */
function sequenceGap(expected: number, got: number): number {
  const ahead = (got - expected + SEQUENCES) % SEQUENCES;
  return ahead < SEQUENCES / 2 ? ahead : ahead - SEQUENCES;
}

export type LiveState = "connecting" | "playing" | "lost" | "ended" | "failed";

export interface LiveOptions {
  /** Called with every run of frames, in order. */
  onFrames: (frames: LiveFrames) => void;
  onHello?: (hello: Hello) => void;
  onState?: (state: LiveState) => void;
  /** Milliseconds after which a lost connection is given up. */
  patience?: number;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 4000;
const ASK_HELLO = "hello";
const ENDED = 1000;
/** Close codes after which another try is of no use. */
const FINAL = [4400, 4401, 1008, 1009];
/** Packets that wait for the decoder; what is live is what is newest. */
const MOST_WAITING = 16;

/** Watches a stream, and comes back to it when the connection breaks. */
export class LiveStream {
  readonly decoder = new LiveDecoder();
  state: LiveState = "connecting";
  failure: KineError | null = null;
  /** Bytes received so far. */
  bytes = 0;
  private socket: WebSocket | null = null;
  private waiting: Bytes[] = [];
  private busy = false;
  private pause = FIRST_PAUSE_MS;
  private lostAt = performance.now();
  private timer = 0;

  constructor(
    readonly url: string,
    private readonly options: LiveOptions,
  ) {
    this.connect();
  }

  close(): void {
    this.set("ended");
    clearTimeout(this.timer);
    this.socket?.close();
  }

  private get over(): boolean {
    return this.state === "ended" || this.state === "failed";
  }

  private set(state: LiveState): void {
    if (state === this.state || this.over) return;
    this.state = state;
    this.options.onState?.(state);
  }

  private fail(failure: KineError): void {
    this.failure = failure;
    this.set("failed");
    this.socket?.close();
  }

  private connect(): void {
    const socket = (this.socket = new WebSocket(this.url));
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
      if (socket !== this.socket || !(data instanceof ArrayBuffer)) return;
      this.bytes += data.byteLength;
      this.waiting.push(new Uint8Array(data));
      void this.work();
    };
    socket.onclose = ({ code, reason }) => {
      if (socket === this.socket) void this.closed(code, reason);
    };
  }

  private async closed(code: number, reason: string): Promise<void> {
    while (this.busy) await new Promise((done) => setTimeout(done, 10)); // what came is still shown
    if (this.over) return;
    if (code === ENDED || this.decoder.ended) return this.set("ended");
    if (this.state === "playing") this.lostAt = performance.now();
    const patience = this.options.patience ?? 60_000;
    if (FINAL.includes(code) || performance.now() - this.lostAt > patience) {
      return this.fail(ioFailure(`${this.url}: ${reason || "the connection is lost"}`));
    }
    this.set("lost");
    // Not at the same moment as all other viewers of a server that went away.
    this.timer = setTimeout(() => this.connect(), this.pause * (0.75 + 0.5 * Math.random())) as unknown as number;
    this.pause = Math.min(2 * this.pause, LONGEST_PAUSE_MS);
  }

  /** Leaves the oldest segments that wait too long; they count as lost by their numbers. */
  private catchUp(): void {
    while (this.waiting.length > MOST_WAITING && this.decoder.hello) {
      const oldest = this.waiting.findIndex((data) => data[KIND_AT] === KIND.segment);
      if (oldest < 0) return;
      this.waiting.splice(oldest, 1);
    }
  }

  /** Decodes what waits, one packet after the other. */
  private async work(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.waiting.length && !this.over) {
        this.catchUp();
        const known = this.decoder.hello;
        const frames = await this.decoder.feed(this.waiting.shift()!);
        const { hello, refusal } = this.decoder;
        if (refusal) return this.fail(refusal);
        if (hello && hello !== known) this.options.onHello?.(hello);
        if (!hello && this.socket?.readyState === WebSocket.OPEN) this.socket.send(ASK_HELLO);
        if (frames) {
          this.pause = FIRST_PAUSE_MS;
          this.set("playing");
          this.options.onFrames(frames);
        }
      }
    } finally {
      this.busy = false;
    }
  }
}
