// Adaptive integers of one context, as the setup of `kine-mesh` holds them.

import type { Bytes } from "../../bytes.js";
import type { Kernels } from "../../kernels.js";

const ESCAPE = 14;
const BINS = 64 + ESCAPE;

export function integers(data: Bytes, count: number, k: Kernels): Int32Array {
  return k.scope(() => {
    const bytes = k.put(data);
    const contexts = k.put(new Int32Array(count));
    const states = k.put(new Uint32Array(BINS).fill((1 << 31) >>> 0));
    const out = k.room(4 * count);
    k.call(
      "kp_decode_integers", "the codec's setup",
      bytes, data.length, out, count, contexts, 1, states, 1, 0, ESCAPE, 5, 20,
    );
    return k.view(Int32Array, out, count).slice();
  });
}
