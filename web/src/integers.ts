// Lists of integers in few bytes, for indexes and skeletons (docs/format.md).

import type { Bytes } from "./bytes.js";
import { type Kernels, kernels } from "./kernels.js";

const ESCAPE = 0;
const BINS = 64 + ESCAPE;
const RATE = 5;
const MIX_RATE = 20;

/** As many 32-bit integers as there are contexts, each of which is below `kinds`. */
export async function unpackIntegers(data: Bytes, contexts: Int32Array, kinds: number, what: string): Promise<Int32Array> {
  const k: Kernels = await kernels();
  return k.scope(() => {
    const [bytes, chosen, states] = [k.put(data), k.put(contexts), k.put(fresh(kinds))];
    const out = k.room(4 * contexts.length);
    k.call(
      "kp_decode_integers", what,
      bytes, data.length, out, contexts.length, chosen, 1, states, kinds, 0, ESCAPE, RATE, MIX_RATE,
    );
    return k.view(Int32Array, out, contexts.length).slice();
  });
}

/** First states: a half, but 7 in 8 that a magnitude has another digit. */
function fresh(kinds: number): Uint32Array {
  const states = new Uint32Array(BINS * kinds).fill(2 ** 31);
  for (let kind = 0; kind < kinds; kind++) states.fill(7 * 2 ** 29, kind * BINS + 2 + ESCAPE, kind * BINS + 33 + ESCAPE);
  return states;
}
