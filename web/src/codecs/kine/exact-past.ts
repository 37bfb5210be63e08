// Lossless streams of versions 1 and 2 of `kine`: sent taps and links instead of learning predictors.

import { type ByteReader, type Bytes, floats64 } from "../../bytes.js";
import { corrupt } from "../../errors.js";
import type { Kernels } from "../../kernels.js";
import { codedOf, CONSTANT, COPY, DECIMAL, type Layout, ODD, RAW, VARYING } from "./exact.js";

const [TAPS, TAP_UNIT, LINK_SHIFT] = [8, 64, 6];
const [MOST_LINKS, MOST_WEIGHT, MOST_SCALE] = [16, 2047, 40];
const POWERS = Array.from({ length: 16 }, (_, n) => 10n ** BigInt(n));

export function readPast(source: ByteReader, width: number, kernels: Kernels): Layout {
  const known = [CONSTANT, DECIMAL, VARYING, RAW, COPY, DECIMAL + ODD, VARYING + ODD];
  const signed = (count: number) => new Int8Array(source.take(count).slice().buffer);
  const modes = source.take(width);
  const all = source.take(width);
  const coded = codedOf(modes);
  const count = coded.length;
  const scales = signed(count);
  const sent = signed(TAPS * count);
  const counts = source.take(count);
  const total = counts.reduce((sum, n) => sum + n, 0);
  const pairs = new Int16Array(source.take(4 * total).slice().buffer);
  const sound =
    modes.every((mode) => known.includes(mode)) &&
    counts.every((n) => n <= MOST_LINKS) &&
    scales.every((n) => Math.abs(n) <= MOST_SCALE);
  const varies = Uint8Array.from(coded, (channel) => (modes[channel]! % ODD === VARYING ? 1 : 0));
  const taps = Int32Array.from({ length: TAPS * count }, (_, n) => {
    return sent[(n % TAPS) * count + Math.floor(n / TAPS)]! * TAP_UNIT;
  });
  let end = 0;
  const starts = Uint32Array.from([0, ...Array.from(counts, (n) => (end += n))]);
  const links = linksOf(counts, pairs, scales, total);
  const numbers = (data: Bytes, frames: number) =>
    kernels.scope(() => {
      const [bytes, mantissas, powers] = [kernels.put(data), kernels.room(8 * frames * count), kernels.room(frames * count)];
      const model = [kernels.put(taps), kernels.put(varies), kernels.put(starts), kernels.put(links)];
      const states = kernels.room(4 * kernels.size("kp_kine_exact_states"));
      const history = kernels.room(Math.max(count, 1) * kernels.size("kp_kine_exact_history") + 8);
      kernels.call(
        "kp_kine_exact_decode", "a segment",
        bytes, data.length, mantissas, powers, frames, count, ...model, states, history,
      );
      const power = kernels.view(Uint8Array, powers, frames * count);
      return kernels.view(BigInt64Array, mantissas, frames * count).map((n, i) => n * POWERS[power[i]!]!);
    });
  return { modes, places: Uint8Array.from(coded, (channel) => all[channel]!), sound, numbers, odd: floats64 };
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
