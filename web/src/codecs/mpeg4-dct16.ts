// `mpeg4-dct16`: quantised DCT coefficients of sixteen frames (docs/codecs/mpeg4-dct16.md).

import type { Bytes } from "../bytes.js";
import { corrupt, truncated } from "../errors.js";
import type { Kernels } from "../kernels.js";
import type { Codec, Decoder } from "./base.js";
import { Carriers, TABLES } from "./fba/carriers.js";

const BLOCK = 16;
/** More than the surest zeros a byte can hold. */
const LEVELS_PER_BYTE = 25000;
const AC_FINER = 3;
/** What bap_quant multiplies the quantiser steps by. */
const SCALES = [
  0, 1, 2, 3, 5, 7, 9, 11, 14, 17, 20, 23, 27, 31, 35, 39, 43, 47, 52, 57, 62, 67, 72, 77, 82, 88, 94, 100, 106, 113, 120, 127,
];
const [ESCAPE, RATE, MIX_RATE, ZERO] = [14, 5, 20, 0.7];
/** The inverse DCT, [frequency * 16 + frame]; a block of the first coefficient alone is constant. */
const BASIS = Float64Array.from({ length: BLOCK * BLOCK }, (_, n) => {
  const [frequency, frame] = [n >> 4, n & 15];
  return Math.cos((Math.PI * frequency * (2 * frame + 1)) / (2 * BLOCK)) * (frequency ? Math.SQRT2 : 1);
});

export const mpeg4Dct16: Codec = {
  id: "mpeg4-dct16",
  version: 1,
  open(layout, { setup }, k): Decoder {
    if (setup.length !== 2 || layout.kind !== "skeleton") throw corrupt("the codec's setup is not of its size");
    const [table, quant] = [setup[0]!, setup[1]!];
    if (table >= TABLES || quant < 1 || quant >= SCALES.length) throw corrupt("the setup names no quantiser");
    const carriers = new Carriers(layout);
    const steps = carriers.steps(table).map((step) => step * SCALES[quant]!);
    return { decode: ({ frames, data }) => carriers.toValues(inverse(decodeLevels(data[0]!, frames, steps.length, k), frames, steps)) };
  },
};

/** [blocks * channels * 16] levels, the first of each less that of the block before. */
function decodeLevels(data: Bytes, frames: number, width: number, k: Kernels): Int32Array {
  const count = Math.ceil(frames / BLOCK) * width * BLOCK;
  if (count > LEVELS_PER_BYTE * (data.length + 8)) throw truncated("a segment is too short for its frames");
  const bins = k.size("kp_integer_bins", ESCAPE);
  const contexts = BLOCK + width * BLOCK;
  return k.scope(() => {
    const pairs = Int32Array.from({ length: 2 * count }, (_, n) => {
      const [place, frequency] = [(n >> 1) % (width * BLOCK), (n >> 1) % BLOCK];
      return n % 2 ? BLOCK + place : frequency;
    });
    const states = Uint32Array.from({ length: contexts * bins }, (_, n) => probability(n % bins ? 0.5 : 1 - ZERO));
    const [bytes, values, chosen, state] = [k.put(data), k.room(4 * count), k.put(pairs), k.put(states)];
    const weights = k.put(new Int32Array(2 * bins).fill(65536 / 2));
    k.call(
      "kp_decode_integers", "a segment",
      bytes, data.length, values, count, chosen, 2, state, contexts, weights, ESCAPE, RATE, MIX_RATE,
    );
    return k.view(Int32Array, values, count).slice();
  });
}

/** The coder's state of a probability: 22 bits of it over ten zero bits of count. */
const probability = (p: number) => Math.floor(p * 2 ** 22) * 1024;

/** [frames * channels] parameters. */
function inverse(levels: Int32Array, frames: number, steps: number[]): Float64Array {
  const width = steps.length;
  const out = new Float64Array(frames * width);
  const mean = new Float64Array(width);
  for (let first = 0, at = 0; first < frames; first += BLOCK) {
    const rows = Math.min(BLOCK, frames - first);
    for (let c = 0; c < width; c++, at += BLOCK) {
      mean[c]! += levels[at]!;
      for (let t = 0; t < rows; t++) {
        let sum = 0;
        for (let n = 1; n < BLOCK; n++) sum += levels[at + n]! * BASIS[n * BLOCK + t]!;
        out[(first + t) * width + c] = steps[c]! * (mean[c]! + sum / AC_FINER);
      }
    }
  }
  return out;
}
