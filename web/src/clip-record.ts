// The bodies of clip chunks: what a clip is, the codec's setup, and the index of its segments (docs/format.md).

import { type Bytes, ByteReader, crc16, crc32 } from "./bytes.js";
import { charge, corrupt } from "./errors.js";
import { unpackIntegers } from "./integers.js";

export interface SegmentEntry {
  first: number;
  frames: number;
  layer: number;
  size: number;
  /** From the start of the clip's segment bytes. */
  offset: number;
  /** Bytes of the segment and its check. */
  stored: number;
  /** Where the index has it; else the check follows the segment. */
  crc?: number;
}

export interface ClipRecord {
  name: string;
  codec: string;
  codecVersion: number;
  settings: string;
  frames: number;
  frameTime: number;
  /** Number of the static chunk from 0, or the digest (hexadecimal) of one kept in another file. */
  static: number | string;
  setup: Bytes;
  segments: SegmentEntry[];
  layers: number;
  /** Of the segments with their checks. */
  dataBytes: number;
}

const SHORT = 4096;
const LAYER_CONTEXTS = 7;

/** How a clip's segments lie: run by run with the checks in the index, run by run, or layer by layer. */
export type Order = "plain" | "runs" | "layers";

/** The body of a clip chunk. */
export async function unpackClip(body: Bytes, order: Order): Promise<ClipRecord> {
  const source = new ByteReader(body);
  const number = source.varint();
  const staticRef = number ? number - 1 : hex(source.take(16));
  const name = source.text();
  const codec = source.text();
  const codecVersion = source.varint();
  const settings = source.text();
  const frames = charge("frames", source.varint());
  const frameTime = source.frameTime();
  const setup = source.block();
  const segments = order === "plain" ? unpackPlainIndex(source, frames) : await unpackIndex(source, frames, order);
  if (source.left) throw corrupt("a clip's description is longer than its content");
  const last = segments[segments.length - 1]!;
  const about = { layers: last.layer + 1, dataBytes: last.offset + last.stored };
  return { name, codec, codecVersion, settings, frames, frameTime, static: staticRef, setup, segments, ...about };
}

/** A segment's bytes out of what is stored, or null if they are not those that were written. */
export function checkedSegment(entry: SegmentEntry, stored: Bytes): Bytes | null {
  const data = stored.subarray(0, entry.size);
  if (entry.crc !== undefined) return crc32(data) === entry.crc ? data : null;
  const check = new ByteReader(stored.subarray(entry.size));
  const whole = entry.size < SHORT ? crc16(data) === check.u8() + 256 * check.u8() : crc32(data) === check.u32();
  return whole ? data : null;
}

async function unpackIndex(source: ByteReader, frames: number, order: Order): Promise<SegmentEntry[]> {
  const [runs, layers] = [source.varint(), source.varint()];
  charge("segments", runs * layers);
  if (!(runs >= 1 && runs <= frames && layers >= 1 && layers <= source.left)) {
    throw corrupt("the index of segments does not fit the clip");
  }
  const usualLength = runs > 1 ? source.varint() : frames;
  const usual = Array.from({ length: layers }, () => source.varint());
  const contexts = new Int32Array(runs - 1 + runs * layers);
  for (let n = runs - 1; n < contexts.length; n++) contexts[n] = 1 + Math.min((n - runs + 1) % layers, LAYER_CONTEXTS - 1);
  const values = await unpackIntegers(source.take(source.left), contexts, 1 + LAYER_CONTEXTS, "the index of segments");
  const lengths = Array.from(values.subarray(0, runs - 1), (value) => usualLength + value);
  lengths.push(frames - lengths.reduce((sum, length) => sum + length, 0));
  checkLengths(lengths, frames);
  const sizes = Array.from(values.subarray(runs - 1), (value, n) => usual[n % layers]! + value);
  if (sizes.some((size) => size < 0)) throw corrupt("the index of segments has a size below nothing");
  let n = 0;
  const segments = placed(lengths, layers, () => {
    const size = sizes[n++]!;
    return { size, stored: size + (size < SHORT ? 2 : 4) };
  });
  if (order === "layers") layOut([...segments].sort((a, b) => a.layer - b.layer)); // sorting keeps the order of runs
  return segments;
}

/** Gives segments their places, one behind the other. */
function layOut(segments: SegmentEntry[]): void {
  let offset = 0;
  for (const segment of segments) {
    segment.offset = offset;
    offset += segment.stored;
  }
}

/** Entries of segments that lie run by run, layer by layer. */
function placed(lengths: number[], layers: number, next: () => Pick<SegmentEntry, "size" | "stored" | "crc">) {
  const segments: SegmentEntry[] = [];
  let first = 0;
  for (const frames of lengths) {
    for (let layer = 0; layer < layers; layer++) segments.push({ first, frames, layer, offset: 0, ...next() });
    first += frames;
  }
  layOut(segments);
  return segments;
}

function unpackPlainIndex(source: ByteReader, frames: number): SegmentEntry[] {
  const count = charge("segments", source.varint());
  if (!(count >= 1 && count <= Math.max(source.left, 1))) throw corrupt("the index of segments is cut short");
  let lengths = [frames];
  if (count > 1) {
    const common = source.varint();
    lengths = Array.from({ length: count }, () => common || source.varint());
    if (common) lengths[count - 1] = frames - common * (count - 1);
  }
  checkLengths(lengths, frames);
  const layers = source.varint();
  if (!(layers >= 1 && layers * count <= source.left / 5)) throw corrupt("the index of segments is cut short");
  return placed(lengths, layers, () => {
    const size = source.varint();
    return { size, stored: size, crc: source.u32() };
  });
}

function checkLengths(lengths: number[], frames: number): void {
  const sound = lengths.every((n) => n >= 1) && lengths.reduce((sum, n) => sum + n, 0) === frames;
  if (!sound) throw corrupt(`the index of segments does not cover the clip's ${frames} frames`);
}

const hex = (data: Uint8Array) => Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");
