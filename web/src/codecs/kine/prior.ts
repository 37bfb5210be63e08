// What the coder of `kine` knows before the first symbol (docs/codecs/kine.md).

import data from "../../../../src/kinepack/codecs/kine_prior.bin";
import { ByteReader, type Bytes } from "../../bytes.js";

const MODEL = 8 * 9 + 6 * 16;
const BINS = 27;
const ROWS = 144;
const STATES = BINS * (48 + 72 + ROWS) + BINS + ROWS;
const WEIGHTS = 3 * BINS;
export const SETUP_CONTEXTS = 41;
export const SETUP_ESCAPE = 14;
export const SETUP_BINS = 64 + SETUP_ESCAPE;

const reader = new ByteReader(data as Bytes);
export const model = new Int16Array(reader.take(2 * MODEL).slice().buffer);
export const states = statesFrom(STATES);
export const weights = new Int32Array(reader.take(4 * WEIGHTS).slice().buffer);
export const setupStates = statesFrom(SETUP_CONTEXTS * SETUP_BINS);

/** Upper 16 bits of probabilities, then counts. */
function statesFrom(count: number): Uint32Array {
  const probabilities = new Uint16Array(reader.take(2 * count).slice().buffer);
  const counts = reader.take(count);
  return Uint32Array.from(probabilities, (p, i) => ((p << 16) | counts[i]!) >>> 0);
}
