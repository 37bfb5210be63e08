// Clusters of vertices: bits at each, or told from a neighbour where it is in the same cluster (docs/codecs/mesh-cpca.md).

import { ByteReader, type Bytes } from "../../bytes.js";
import { corrupt, truncated } from "../../errors.js";
import type { Kernels } from "../../kernels.js";
import type { Topology } from "../../model.js";
import { packedBytes, unpackBits } from "./fixed-point.js";

/** P(1) = 1/2, nothing learned yet. */
const EVEN = 2 ** 31;
const [RATE, MIX_RATE] = [5, 20];
const [INCREMENT, LIMIT] = [32, 65536];

/** Five bits a vertex, as in Eq. 3, or as many as more than 32 clusters need. */
export function decodePlain(data: Bytes, vertices: number, clusters: number, k: Kernels): Uint16Array {
  const bits = Math.max(5, 32 - Math.clz32(clusters - 1));
  if (data.length !== packedBytes(vertices, bits)) throw truncated("the cluster index is not of its size");
  return checked(Uint16Array.from(unpackBits(data, vertices, bits, k)), clusters);
}

export function decodeByNeighbours(data: Bytes, { faces, vertices }: Topology, clusters: number, k: Kernels): Uint16Array {
  const source = new ByteReader(data);
  const flags = source.take(source.u32());
  const nearest = references(faces, vertices);
  const same = decodeBits(flags, nearest.reduce((sum, v) => sum + Number(v >= 0), 0), k);
  const untold = vertices - same.reduce((sum, bit) => sum + bit, 0);
  const told = decodeSymbols(source.take(source.left), untold, clusters, k);
  const index = new Uint16Array(vertices);
  for (let v = 0, flag = 0, next = 0; v < vertices; v++) {
    const copied = nearest[v]! >= 0 && same[flag++] === 1;
    index[v] = copied ? index[nearest[v]!]! : told[next++]!; // a reference has a lower number: its cluster is known
  }
  return checked(index, clusters);
}

/** [vertices] the neighbour of highest number below the vertex's own, or -1. */
function references(faces: Uint32Array, vertices: number): Int32Array {
  const nearest = new Int32Array(vertices).fill(-1);
  for (let at = 0; at < faces.length; at += 3) {
    for (let n = 0; n < 3; n++) {
      const [a, b] = [faces[at + n]!, faces[at + ((n + 1) % 3)]!];
      const [low, high] = a < b ? [a, b] : [b, a];
      if (low < high && low > nearest[high]!) nearest[high] = low;
    }
  }
  return nearest;
}

function decodeBits(data: Bytes, count: number, k: Kernels): Uint8Array {
  return k.scope(() => {
    const [bytes, out, states] = [k.put(data), k.room(count), k.put(Uint32Array.of(EVEN))];
    k.call("kp_decode_bits", "the cluster index", bytes, data.length, out, count, 0, 1, states, 1, 0, RATE, MIX_RATE);
    return k.view(Uint8Array, out, count).slice();
  });
}

function decodeSymbols(data: Bytes, count: number, alphabet: number, k: Kernels): Uint16Array {
  return k.scope(() => {
    const [bytes, out, tables] = [k.put(data), k.room(2 * count), k.room(4 * (alphabet + 1))];
    const model = [alphabet, INCREMENT, LIMIT, tables];
    k.call("kp_decode_symbols", "the cluster index", bytes, data.length, out, count, 0, 1, ...model);
    return k.view(Uint16Array, out, count).slice();
  });
}

function checked(index: Uint16Array, clusters: number): Uint16Array {
  if (index.some((cluster) => cluster >= clusters)) throw corrupt("a vertex names a cluster that does not exist");
  return index;
}
