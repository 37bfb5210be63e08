// `mesh-cpca`: clustered principal components of vertex trajectories (docs/codecs/mesh-cpca.md).

import { ByteReader, type Bytes } from "../bytes.js";
import { charge, corrupt } from "../errors.js";
import type { Kernels } from "../kernels.js";
import type { Topology } from "../model.js";
import { type Codec, type Decoder, productDecoder, type Run } from "./base.js";
import { finish, takeFixed } from "./mesh/fixed-point.js";
import { decodeByNeighbours, decodePlain } from "./mesh/labels.js";
import type { Rows } from "./product.js";

const [ORDERED, MEANS] = [1, 2];
const MOST_CLUSTERS = 4096;

export const meshCpca: Codec = {
  id: "mesh-cpca",
  version: 1,
  open(layout, { setup }, kernels): Decoder {
    if (layout.kind !== "mesh") throw corrupt("the stream is not of a mesh");
    const { head, index, weights, second } = readSetup(setup, layout, kernels);
    return productDecoder({
      vertices: layout.vertices,
      components: head.c,
      clusters: head.k,
      index: head.k > 1 ? index : null,
      shapes: false,
      fixed: weights,
      rows: (run) => readRows(run, head, second, kernels),
    });
  },
};

type Header = ReturnType<typeof readHeader>;

function readHeader(source: ByteReader) {
  const [k, c, cStar, qC, qW, flags] = [source.u16(), source.u32(), source.u32(), source.u8(), source.u8(), source.u8()];
  const bits = (q: number) => q >= 2 && q <= 32;
  if (!(k >= 1 && k <= MOST_CLUSTERS && bits(qC) && bits(qW) && flags < 4)) throw corrupt("the setup of mesh-cpca makes no sense");
  const [peakE, peakW, peakS, peakM] = [source.f32(), source.f32(), source.f32(), source.f32()];
  return { k, c, cStar, qC, qW, flags, peakE, peakW, peakS, peakM };
}

/** Cluster of each vertex, weights [vertices * c] in vertex order, coefficients of the second PCA [k c * c*]. */
function readSetup(setup: Bytes, layout: Topology, kernels: Kernels) {
  const source = new ByteReader(setup);
  const head = readHeader(source);
  const { k, c, cStar, qC, qW, flags } = head;
  charge("values", k * c * Math.max(cStar, 1));
  const stored = takeFixed(source, layout.vertices * c, qW, head.peakW, kernels);
  const second = takeFixed(source, k * c * cStar, qC, head.peakS, kernels);
  const rest = source.take(source.left);
  if (!(flags & ORDERED)) return { head, index: decodePlain(rest, layout.vertices, k, kernels), weights: stored, second };
  const index = decodeByNeighbours(rest, layout, k, kernels);
  return { head, index, weights: unsorted(stored, index, k, c), second };
}

/** Weights that were stored by cluster, in the order of vertices. */
function unsorted(stored: Float64Array, index: Uint16Array, clusters: number, c: number): Float64Array {
  const next = new Uint32Array(clusters + 1);
  for (const cluster of index) next[cluster + 1]!++;
  for (let k = 0; k < clusters; k++) next[k + 1]! += next[k]!;
  const weights = new Float64Array(stored.length);
  index.forEach((cluster, v) => {
    const at = c * next[cluster]!++;
    weights.set(stored.subarray(at, at + c), v * c);
  });
  return weights;
}

function readRows({ frames, data }: Run, head: Header, second: Float64Array, kernels: Kernels): Rows {
  const { k, c, cStar, qC, qW, flags } = head;
  const source = new ByteReader(data[0]!);
  const [count, bits] = cStar ? [cStar, qW] : [k * c, qC];
  const rows = takeFixed(source, frames * count * 3, bits, head.peakE, kernels);
  const offsets = flags & MEANS ? takeFixed(source, frames * k * 3, qC, head.peakM, kernels) : new Float64Array(frames * k * 3);
  finish(source);
  return { offsets, values: cStar ? expanded(rows, second, frames, cStar) : rows };
}

/** Section 3.4: eigentrajectories [frames * k c * 3] from rows [frames * c* * 3] and coefficients [k c * c*]. */
function expanded(rows: Float64Array, second: Float64Array, frames: number, cStar: number): Float64Array {
  const count = second.length / cStar;
  const out = new Float64Array(charge("values", frames * count * 3));
  for (let t = 0; t < frames; t++) {
    for (let n = 0; n < count; n++) {
      const at = 3 * (t * count + n);
      for (let s = 0; s < cStar; s++) {
        const [weight, row] = [second[n * cStar + s]!, 3 * (t * cStar + s)];
        for (let axis = 0; axis < 3; axis++) out[at + axis]! += weight * rows[row + axis]!;
      }
    }
  }
  return out;
}
