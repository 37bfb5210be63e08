// The chunks of a `.kine` file over anything with `readAt(offset, size)` (docs/format.md).

import { type Bytes, ByteReader, crc32 } from "./bytes.js";
import { checkedSegment, type ClipRecord, type Order, type SegmentEntry, unpackClip } from "./clip-record.js";
import { charge, corrupt, KineError, truncated, unsupported } from "./errors.js";
import { Library } from "./library.js";
import type { ByteSource } from "./source.js";

const MAGIC = [0x8b, 0x4b, 0x4e, 0x45];
const VERSION = 1;
const HEADER_BYTES = 5;
export const TAG = { contents: 1, static: 2, plainClip: 3, data: 4, library: 5, catalogue: 6, clip: 7, layeredClip: 8 } as const;
const ORDERS = new Map<number, Order>([[TAG.plainClip, "plain"], [TAG.clip, "runs"], [TAG.layeredClip, "layers"]]);
const isClip = (tag: number) => ORDERS.has(tag);
const SKIPPABLE = 0x80;
const CRC_BYTES = 4;
/** A tag and the longest varint. */
const LONGEST_HEAD = 11;

export interface ClipEntry {
  record: ClipRecord;
  dataAt: number;
  chunkBytes: number;
}

export interface Chunk {
  tag: number;
  body: Bytes;
  /** Offset of what follows. */
  end: number;
}

export class Container {
  names: string[] = [];
  /** Bodies of the static chunks; those of a library are read when asked for. */
  private statics: (Bytes | undefined)[] = [];
  /** Bytes that skeletons and meshes take in the file. */
  staticBytes = 0;
  private places: number[] = [];
  private clips = new Map<number, ClipEntry>();
  private library: Library | null = null;

  private constructor(readonly source: ByteSource) {}

  /** Reads everything before the first clip. */
  static async open(source: ByteSource): Promise<Container> {
    const file = new Container(source);
    const header = await source.readAt(0, Math.min(HEADER_BYTES, source.size));
    if (MAGIC.some((byte, i) => header[i] !== byte)) throw corrupt("this is not a .kine file");
    if (header[4] !== VERSION) throw unsupported(`the file has version ${header[4]} of the format, not ${VERSION}`);
    const tag = await file.tagAt(HEADER_BYTES);
    if (tag === TAG.library) await file.openLibrary();
    else await file.walk();
    return file;
  }

  async clip(index: number): Promise<ClipEntry> {
    let entry = this.clips.get(index);
    if (!entry) {
      const at = this.places[index]!;
      const chunk = await this.chunk(at);
      if (!isClip(chunk.tag)) throw corrupt(`there is no clip at byte ${at}`);
      entry = await this.clipEntry(chunk, chunk.end - at);
      this.clips.set(index, entry);
    }
    return entry;
  }

  async static(index: number): Promise<Bytes> {
    const listed = this.library?.statics[index];
    if (!this.statics[index] && listed) {
      const chunk = await this.chunk(listed.at);
      if (chunk.tag !== TAG.static) throw corrupt(`there is no skeleton or mesh at byte ${listed.at}`);
      this.statics[index] = chunk.body;
    }
    const body = this.statics[index];
    if (!body) throw corrupt("a clip refers to a skeleton or mesh that is not in the file");
    return body;
  }

  /** A segment's bytes, checked. */
  async segment(clip: ClipEntry, entry: SegmentEntry): Promise<Bytes> {
    const data = checkedSegment(entry, await this.source.readAt(clip.dataAt + entry.offset, entry.stored));
    if (!data) throw corrupt(`the segment at frame ${entry.first}, layer ${entry.layer} is damaged`);
    return data;
  }

  private async openLibrary(): Promise<void> {
    this.library = await Library.read(this.source, HEADER_BYTES);
    this.names = this.library.clips.map((clip) => clip.name);
    this.places = this.library.clips.map((clip) => clip.at);
    this.statics = this.library.statics.map(() => undefined);
    this.staticBytes = this.library.statics.reduce((sum, one) => sum + one.bytes, 0);
  }

  private async walk(): Promise<void> {
    let at = HEADER_BYTES;
    while (at < this.source.size) {
      const { tag, body, end } = await this.chunk(at);
      if (tag === TAG.contents) this.readContents(new ByteReader(body), end);
      else if (tag === TAG.static) {
        this.statics.push(body);
        this.staticBytes += end - at;
      } else if (isClip(tag)) {
        await this.firstClip({ tag, body, end }, at);
        return;
      } else if (!(tag & SKIPPABLE)) throw unsupported(`the file has a chunk of an unknown kind (${tag})`);
      at = end;
    }
  }

  private async firstClip(chunk: Chunk, at: number): Promise<void> {
    const entry = await this.clipEntry(chunk, chunk.end - at);
    if (!this.places.length) {
      this.places = [at];
      this.names = [entry.record.name];
    }
    if (this.places[0] === at) this.clips.set(0, entry);
  }

  private readContents(source: ByteReader, end: number): void {
    const count = charge("clips", source.varint());
    for (let i = 0; i < count; i++) {
      this.names.push(source.text());
      this.places.push(end + source.varint());
    }
  }

  private async tagAt(at: number): Promise<number> {
    return at < this.source.size ? (await this.source.readAt(at, 1))[0]! : -1;
  }

  private async head(at: number): Promise<{ tag: number; length: number; bytes: number }> {
    if (at >= this.source.size) throw truncated("the file ends too early");
    const head = new ByteReader(await this.source.readAt(at, Math.min(LONGEST_HEAD, this.source.size - at)));
    const tag = head.u8();
    return { tag, length: head.varint(), bytes: head.at };
  }

  private async chunk(at: number): Promise<Chunk> {
    const { tag, length, bytes } = await this.head(at);
    const end = at + bytes + length + CRC_BYTES;
    if (end > this.source.size) throw truncated(`the chunk at byte ${at} is longer than the file`);
    const whole = await this.source.readAt(at, end - at);
    const sum = new ByteReader(whole.subarray(whole.length - CRC_BYTES)).u32();
    if (crc32(whole.subarray(0, whole.length - CRC_BYTES)) !== sum) throw corrupt(`the chunk at byte ${at} is damaged`);
    return { tag, body: whole.subarray(bytes, whole.length - CRC_BYTES), end };
  }

  private async clipEntry(chunk: Chunk, chunkBytes: number): Promise<ClipEntry> {
    const record = await unpackClip(chunk.body, ORDERS.get(chunk.tag)!);
    const { tag, length, bytes } = await this.head(chunk.end);
    if (tag !== TAG.data || length !== record.dataBytes) {
      throw corrupt(`the data of clip '${record.name}' does not follow its index`);
    }
    return { record, dataAt: chunk.end + bytes, chunkBytes };
  }
}

/** Whether an error is the file's fault in one place only, so that the rest may be played on. */
export const isDamage = (error: unknown) =>
  error instanceof KineError && (error.kind === "corrupt" || error.kind === "truncated");
