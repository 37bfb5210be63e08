// The lossless mode of `kine`: every channel as the decimals it was printed in (docs/codecs/kine.md).

import { ByteReader, type Bytes, floats64 } from "../../bytes.js";
import { inflateRaw, inflateZlib } from "../../deflate.js";
import { corrupt, truncated } from "../../errors.js";
import type { Kernels } from "../../kernels.js";
import type { Decoder, Run } from "../base.js";
import { readDeflated, readLatest } from "./exact-numbers.js";
import { readPast } from "./exact-past.js";

/** First byte of the setup; a lossy setup never starts with it. */
export const MARK = 0;
export const [CONSTANT, DECIMAL, VARYING, RAW, COPY, ODD] = [0, 1, 2, 3, 4, 8];
export const MODES = [CONSTANT, DECIMAL, RAW, COPY, DECIMAL + ODD];
export const MOST_DECIMALS = 22;

/** What a setup says of its channels, and how whole numbers [frames, coded channels] are read from a segment. */
export interface Layout {
  modes: Uint8Array;
  /** Decimals of each coded channel. */
  places: Uint8Array;
  sound: boolean;
  /** What each copy repeats, if that is known already; else it follows. */
  copied?: number[];
  /** And the constants. */
  constants?: Float64Array;
  /** Sizes are varints, and plain numbers raw deflate. */
  latest?: boolean;
  numbers(data: Bytes, frames: number): BigInt64Array;
  /** So many odd numbers. */
  odd(data: Bytes, count: number): Float64Array;
}

export const codedOf = (modes: Uint8Array) =>
  [...modes.keys()].filter((c) => modes[c]! % ODD === DECIMAL || modes[c]! % ODD === VARYING);

export class ExactSynthesis implements Decoder {
  private readonly layout: Layout;
  /** Channels that are coded as decimals, kept as they are, have odd numbers, are constant, or copy another. */
  private readonly coded: number[];
  private readonly raw: number[];
  private readonly odd: number[];
  private readonly constants: Map<number, number>;
  private readonly copies: Map<number, number>;

  constructor(
    setup: Bytes,
    private readonly width: number,
    kernels: Kernels,
  ) {
    const { read, source } = opened(setup, width);
    this.layout = read(source, width, kernels);
    const { modes, places } = this.layout;
    const having = (check: (mode: number) => boolean) => [...modes.keys()].filter((c) => check(modes[c]!));
    this.coded = codedOf(modes);
    this.raw = having((mode) => mode === RAW);
    this.odd = having((mode) => mode >= ODD);
    const copying = having((mode) => mode === COPY);
    const { copied } = this.layout;
    this.copies = new Map(copying.map((channel, n) => [channel, copied ? copied[n]! : source.u32()]));
    const { constants } = this.layout;
    const still = having((mode) => mode === CONSTANT);
    this.constants = new Map(still.map((channel, n) => [channel, constants ? constants[n]! : source.f64()]));
    const sound =
      !source.left &&
      this.layout.sound &&
      copying.every((channel) => this.copies.get(channel)! >= 0 && this.copies.get(channel)! < channel && modes[this.copies.get(channel)!] !== COPY) &&
      places.every((n) => n <= MOST_DECIMALS);
    if (!sound) throw corrupt("the codec's setup holds a number out of its range");
  }

  decode({ frames, data }: Run): Float64Array {
    const { width } = this;
    const values = new Float64Array(frames * width);
    const extras = this.raw.length || this.odd.length ? new ByteReader(data[0]!) : null;
    const own = extras ? (this.layout.latest ? extras.block() : extras.take(extras.u32())) : data[0]!;
    this.decimals(this.layout.numbers(own, frames), frames, values);
    if (extras) this.plain(extras.take(extras.left), frames, values);
    for (let t = 0; t < frames; t++) {
      this.constants.forEach((value, channel) => (values[t * width + channel] = value));
      this.copies.forEach((from, channel) => (values[t * width + channel] = values[t * width + from]!));
    }
    return values;
  }

  private decimals(numbers: BigInt64Array, frames: number, values: Float64Array): void {
    const count = this.coded.length;
    for (let t = 0, n = 0; t < frames; t++) {
      for (let c = 0; c < count; c++, n++) {
        values[t * this.width + this.coded[c]!] = Number(numbers[n]!) / 10 ** this.layout.places[c]!;
      }
    }
  }

  /** Channels that are no decimals, then which numbers are odd, then those. */
  private plain(packed: Bytes, frames: number, values: Float64Array): void {
    const rawSize = 8 * frames * this.raw.length;
    const mapSize = Math.ceil((frames * this.odd.length) / 8);
    const inflate = this.layout.latest ? inflateRaw : inflateZlib;
    const plain = inflate(packed, rawSize + mapSize + 11 * frames * this.odd.length);
    if (plain.length < rawSize + mapSize) throw truncated("a segment's plain numbers are cut short");
    const raw = floats64(plain.subarray(0, rawSize));
    this.raw.forEach((channel, n) => {
      for (let t = 0; t < frames; t++) values[t * this.width + channel] = raw[n * frames + t]!;
    });
    const map = plain.subarray(rawSize, rawSize + mapSize);
    const numbers = this.layout.odd(plain.subarray(rawSize + mapSize), map.reduce((sum, byte) => sum + ones(byte), 0));
    let used = 0;
    this.odd.forEach((channel, n) => {
      for (let t = 0, bit = n * frames; t < frames; t++, bit++) {
        if ((map[bit >> 3]! >> (7 - (bit & 7))) & 1) values[t * this.width + channel] = numbers[used++]!;
      }
    });
    if (used !== numbers.length) throw truncated("a segment's odd numbers are cut short");
  }
}

const ones = (byte: number) => [...byte.toString(2)].filter((bit) => bit === "1").length;

/** Deflated data never starts with 0 or 1, so that the second byte tells the versions apart. */
function opened(setup: Bytes, width: number) {
  if (setup[1] === 1) return { read: readLatest, source: new ByteReader(setup.subarray(2)) };
  const plain = inflateZlib(setup.subarray(setup[1] === 0 ? 2 : 1), 83 * width);
  return { read: setup[1] === 0 ? readDeflated : readPast, source: new ByteReader(plain) };
}
