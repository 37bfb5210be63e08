// The head and the catalogue of a library: many clips in one file that grows at its end.

import { type Bytes, ByteReader, crc32, inflate, parseJson } from "./bytes.js";
import { charge, corrupt, isPlainObject, truncated } from "./errors.js";
import type { ByteSource } from "./source.js";

const SLOT_BYTES = 24;
const CATALOGUE_TAG = 6;
const LARGEST_CATALOGUE = 1_000_065_536;

interface Listed {
  at: number;
  bytes: number;
}

export class Library {
  private constructor(
    readonly statics: Listed[],
    readonly clips: (Listed & { name: string })[],
  ) {}

  /** The catalogue of the newest valid slot, or the one before it where the newest is damaged. */
  static async read(source: ByteSource, headAt: number): Promise<Library> {
    const slotsAt = headAt + 2; // tag and a length of one byte
    const head = await source.readAt(headAt, 2 + 2 * SLOT_BYTES);
    if (head[1] !== 2 * SLOT_BYTES) throw corrupt("the library's head is damaged");
    const slots = [0, 1].flatMap((n) => slotFrom(head.subarray(2 + n * SLOT_BYTES, 2 + (n + 1) * SLOT_BYTES)));
    slots.sort((a, b) => b.generation - a.generation);
    let fault: unknown = corrupt("both places in the library's head are damaged");
    for (const [index, slot] of slots.entries()) {
      try {
        return await Library.catalogue(source, slot, slotsAt + 2 * SLOT_BYTES);
      } catch (error) {
        if (index === 0) fault = error;
      }
    }
    throw fault;
  }

  private static async catalogue(source: ByteSource, place: Listed, bodyAt: number): Promise<Library> {
    if (place.at < bodyAt || place.at + place.bytes > source.size) {
      throw truncated("the library ends before its catalogue");
    }
    const whole = await source.readAt(place.at, place.bytes);
    const sum = new ByteReader(whole.subarray(whole.length - 4)).u32();
    const head = new ByteReader(whole);
    if (head.u8() !== CATALOGUE_TAG || crc32(whole.subarray(0, whole.length - 4)) !== sum) {
      throw corrupt("the library's catalogue is damaged");
    }
    const plain = parseJson(await inflate(head.block(), LARGEST_CATALOGUE), "the library's catalogue");
    const statics = checked(plain?.statics, source.size);
    const clips = checked(plain?.clips, source.size) as (Listed & { name: string })[];
    charge("clips", clips.length);
    if (!clips.every(({ name }) => typeof name === "string")) throw corrupt("a clip of the library's catalogue has no name");
    return new Library(statics, clips);
  }
}

function slotFrom(slot: Bytes) {
  const view = new DataView(slot.buffer, slot.byteOffset, SLOT_BYTES);
  const [at, bytes] = [Number(view.getBigUint64(0, true)), Number(view.getBigUint64(8, true))];
  const generation = view.getUint32(16, true);
  const whole = crc32(slot.subarray(0, 20)) === view.getUint32(20, true);
  return whole && generation ? [{ at, bytes, generation }] : [];
}

function checked(entries: unknown, size: number): Listed[] {
  const whole = (value: unknown) => Number.isSafeInteger(value);
  const sound = (e: any) => isPlainObject(e) && whole(e.at) && whole(e.bytes) && e.at >= 0 && e.bytes >= 1 && e.at + e.bytes <= size;
  if (!Array.isArray(entries) || !entries.every(sound)) {
    throw corrupt("the library's catalogue is not what the format says");
  }
  return entries;
}
