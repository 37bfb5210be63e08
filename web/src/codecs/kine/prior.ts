// What the coder of `kine` knows before the first symbol (docs/codecs/kine.md).

import latest from "../../../../src/kinepack/codecs/kine_prior.bin";
import earlier from "../../../../src/kinepack/codecs/kine_prior_2.bin";
import { ByteReader, type Bytes } from "../../bytes.js";

const MODEL = 8 * 9 + 6 * 16;
const BINS = 27;
const ROWS = 144;
const CONTEXTS = 48 + 72 + ROWS;
const STATES = BINS * CONTEXTS + BINS + ROWS;
const WEIGHTS = 3 * BINS;
export const SETUP_CONTEXTS = 41;
export const SETUP_ESCAPE = 14;
export const SETUP_BINS = 64 + SETUP_ESCAPE;

export interface Prior {
  /** Whether tracks end before their blocks, as they do since version 3. */
  ends: boolean;
  model: Int16Array;
  states: Uint32Array;
  weights: Int32Array;
  setup: Uint32Array;
}

export const priorWithEnds = unpack(latest as Bytes, true);
export const priorWithoutEnds = unpack(earlier as Bytes, false);

function unpack(data: Bytes, ends: boolean): Prior {
  const reader = new ByteReader(data);
  return {
    ends,
    model: new Int16Array(reader.take(2 * MODEL).slice().buffer),
    states: statesFrom(reader, STATES + (ends ? CONTEXTS : 0)),
    weights: new Int32Array(reader.take(4 * (WEIGHTS + (ends ? 3 : 0))).slice().buffer),
    setup: statesFrom(reader, SETUP_CONTEXTS * SETUP_BINS),
  };
}

/** Upper 16 bits of probabilities, then counts. */
function statesFrom(reader: ByteReader, count: number): Uint32Array {
  const probabilities = new Uint16Array(reader.take(2 * count).slice().buffer);
  const counts = reader.take(count);
  return Uint32Array.from(probabilities, (p, i) => ((p << 16) | counts[i]!) >>> 0);
}
