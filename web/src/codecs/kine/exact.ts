// The lossless mode of `kine`: every channel as the decimals it was printed in (docs/codecs/kine.md).

import { ByteReader, type Bytes, floats64 } from "../../bytes.js";
import { inflateZlib } from "../../deflate.js";
import { corrupt, truncated } from "../../errors.js";
import type { Kernels } from "../../kernels.js";
import type { Decoder, Run } from "../base.js";

/** First byte of the setup; a lossy setup never starts with it. */
export const MARK = 0;
const [CONSTANT, DECIMAL, VARYING, RAW, COPY, ODD] = [0, 1, 2, 3, 4, 8];
const MODES = [CONSTANT, DECIMAL, VARYING, RAW, COPY, DECIMAL + ODD, VARYING + ODD];
const [TAPS, TAP_UNIT, LINK_SHIFT] = [8, 64, 6];
const [MOST_DECIMALS, MOST_LINKS, MOST_WEIGHT, MOST_SCALE] = [22, 16, 2047, 40];
const POWERS = Array.from({ length: 16 }, (_, n) => 10n ** BigInt(n));

export class ExactSynthesis implements Decoder {
  private readonly modes: Uint8Array;
  /** Channels that are coded as decimals, kept as they are, have odd numbers, are constant, or copy another. */
  private readonly coded: number[];
  private readonly raw: number[];
  private readonly odd: number[];
  private readonly constants: Map<number, number>;
  private readonly copies: Map<number, number>;
  private readonly places: Uint8Array;
  private readonly taps: Int32Array;
  private readonly varies: Uint8Array;
  private readonly starts: Uint32Array;
  private readonly links: Int32Array;

  constructor(
    setup: Bytes,
    private readonly width: number,
    private readonly kernels: Kernels,
  ) {
    const source = new ByteReader(inflateZlib(setup.subarray(1), width * (3 + TAPS + 8 + 4 * MOST_LINKS)));
    const signed = (count: number) => new Int8Array(source.take(count).slice().buffer);
    this.modes = source.take(width);
    const places = source.take(width);
    const having = (check: (mode: number) => boolean) => [...this.modes.keys()].filter((c) => check(this.modes[c]!));
    this.coded = having((mode) => mode % ODD === DECIMAL || mode % ODD === VARYING);
    this.raw = having((mode) => mode === RAW);
    this.odd = having((mode) => mode >= ODD);
    const count = this.coded.length;
    const scales = signed(count);
    const taps = signed(TAPS * count);
    const counts = source.take(count);
    const total = counts.reduce((sum, n) => sum + n, 0);
    const pairs = new Int16Array(source.take(4 * total).slice().buffer);
    const copying = having((mode) => mode === COPY);
    this.copies = new Map(copying.map((channel) => [channel, source.u32()]));
    this.constants = new Map(having((mode) => mode === CONSTANT).map((channel) => [channel, source.f64()]));
    const sound =
      !source.left &&
      this.modes.every((mode) => MODES.includes(mode)) &&
      copying.every((channel) => this.copies.get(channel)! < channel && this.modes[this.copies.get(channel)!] !== COPY) &&
      places.every((n) => n <= MOST_DECIMALS) &&
      counts.every((n) => n <= MOST_LINKS) &&
      scales.every((n) => Math.abs(n) <= MOST_SCALE);
    if (!sound) throw corrupt("the codec's setup holds a number out of its range");
    this.places = Uint8Array.from(this.coded, (channel) => places[channel]!);
    this.varies = Uint8Array.from(this.coded, (channel) => (this.modes[channel]! % ODD === VARYING ? 1 : 0));
    this.taps = Int32Array.from({ length: TAPS * count }, (_, n) => {
      return taps[(n % TAPS) * count + Math.floor(n / TAPS)]! * TAP_UNIT;
    });
    let end = 0;
    this.starts = Uint32Array.from([0, ...Array.from(counts, (n) => (end += n))]);
    this.links = linksOf(counts, pairs, scales, total);
  }

  decode({ frames, data }: Run): Float64Array {
    const { width } = this;
    const values = new Float64Array(frames * width);
    const extras = this.raw.length || this.odd.length ? new ByteReader(data[0]!) : null;
    const own = extras ? extras.take(extras.u32()) : data[0]!;
    this.decimals(own, frames, values);
    if (extras) this.plain(extras.take(extras.left), frames, values);
    for (let t = 0; t < frames; t++) {
      this.constants.forEach((value, channel) => (values[t * width + channel] = value));
      this.copies.forEach((from, channel) => (values[t * width + channel] = values[t * width + from]!));
    }
    return values;
  }

  private decimals(data: Bytes, frames: number, values: Float64Array): void {
    const { kernels: k } = this;
    const count = this.coded.length;
    k.scope(() => {
      const [bytes, mantissas, powers] = [k.put(data), k.room(8 * frames * count), k.room(frames * count)];
      const model = [k.put(this.taps), k.put(this.varies), k.put(this.starts), k.put(this.links)];
      const states = k.room(4 * k.size("kp_kine_exact_states"));
      const history = k.room(Math.max(count, 1) * k.size("kp_kine_exact_history") + 8);
      k.call(
        "kp_kine_exact_decode", "a segment",
        bytes, data.length, mantissas, powers, frames, count, ...model, states, history,
      );
      const whole = k.view(BigInt64Array, mantissas, frames * count);
      const power = k.view(Uint8Array, powers, frames * count);
      for (let t = 0, n = 0; t < frames; t++) {
        for (let c = 0; c < count; c++, n++) {
          const scaled = power[n] ? BigInt.asIntN(64, whole[n]! * POWERS[power[n]!]!) : whole[n]!;
          values[t * this.width + this.coded[c]!] = Number(scaled) / 10 ** this.places[c]!;
        }
      }
    });
  }

  /** Channels that are no decimals, then which numbers are odd, then those. */
  private plain(packed: Bytes, frames: number, values: Float64Array): void {
    const rawSize = 8 * frames * this.raw.length;
    const mapSize = Math.ceil((frames * this.odd.length) / 8);
    const plain = inflateZlib(packed, rawSize + mapSize + 8 * frames * this.odd.length);
    if (plain.length < rawSize + mapSize) throw truncated("a segment's plain numbers are cut short");
    const raw = floats64(plain.subarray(0, rawSize));
    this.raw.forEach((channel, n) => {
      for (let t = 0; t < frames; t++) values[t * this.width + channel] = raw[n * frames + t]!;
    });
    const map = plain.subarray(rawSize, rawSize + mapSize);
    const numbers = floats64(plain.subarray(rawSize + mapSize));
    let used = 0;
    this.odd.forEach((channel, n) => {
      for (let t = 0, bit = n * frames; t < frames; t++, bit++) {
        if ((map[bit >> 3]! >> (7 - (bit & 7))) & 1) values[t * this.width + channel] = numbers[used++]!;
      }
    });
    if (used !== numbers.length) throw truncated("a segment's odd numbers are cut short");
  }
}

/** [links * 3]: earlier channel, weight, shift that puts both channels' scales right. */
function linksOf(counts: Uint8Array, pairs: Int16Array, scales: Int8Array, total: number): Int32Array {
  const flat: number[] = [];
  let at = 0;
  counts.forEach((count, channel) => {
    for (let n = 0; n < count; n++, at++) {
      const from = channel - pairs[at]!;
      const weight = pairs[total + at]!;
      if (!(from >= 0 && from < channel) || Math.abs(weight) > MOST_WEIGHT) {
        throw corrupt("a channel is predicted from one that does not exist");
      }
      flat.push(from, weight, Math.min(Math.max(LINK_SHIFT + scales[from]! - scales[channel]!, -4), 60));
    }
  });
  return Int32Array.from(flat);
}
