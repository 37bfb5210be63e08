// Numbers as q-bit integers between minus and plus the largest magnitude (section 3.5, Sattler 2005).

import type { ByteReader, Bytes } from "../../bytes.js";
import { charge, corrupt } from "../../errors.js";
import type { Kernels } from "../../kernels.js";

export const packedBytes = (count: number, bits: number) => Math.ceil((count * bits) / 8);

/** The next `count` numbers of `bits` bits each. */
export function takeFixed(source: ByteReader, count: number, bits: number, peak: number, k: Kernels): Float64Array {
  const levels = unpackBits(source.take(packedBytes(charge("values", count), bits)), count, bits, k);
  const top = 2 ** bits - 1;
  return Float64Array.from(levels, (level) => (level / top - 0.5) * (2 * peak));
}

export function unpackBits(data: Bytes, count: number, bits: number, k: Kernels): Uint32Array {
  return k.scope(() => {
    const [bytes, out] = [k.put(data), k.room(4 * count)];
    k.call("kp_unpack_bits", "the mesh's numbers", bytes, data.length, out, count, 0, bits);
    return k.view(Uint32Array, out, count).slice();
  });
}

export function finish(source: ByteReader): void {
  if (source.left) throw corrupt("the stream is longer than its content");
}
