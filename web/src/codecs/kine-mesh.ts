// `kine-mesh`: principal components of a mesh animation, weights coarse to fine over the mesh
// (docs/codecs/kine-mesh.md).

import { ByteReader, type Bytes } from "../bytes.js";
import { charge, corrupt } from "../errors.js";
import type { Kernels } from "../kernels.js";
import type { Topology } from "../model.js";
import { type Codec, type Decoder, productDecoder } from "./base.js";
import { chainOf, decodeLevels, type Hierarchy, hierarchyOf, weightsOf } from "./kine-mesh/hierarchy.js";
import type { Rows } from "./product.js";

const LONGEST = 512;
/** Scales of components are powers of 2^(1/8). */
const OCTAVE = 8;
const ESCAPE = 14;
const BINS = 64 + ESCAPE;

export const kineMesh: Codec = {
  id: "kine-mesh",
  version: 1,
  open(layout, { setup }, kernels): Decoder {
    if (layout.kind !== "mesh") throw corrupt("the stream is not of a mesh");
    const { step, components, weights } = readSetup(setup, layout, kernels);
    const chains = new Map<number, Hierarchy>();
    return productDecoder({
      vertices: layout.vertices,
      components,
      clusters: 1,
      index: null,
      shapes: false,
      fixed: weights,
      rows({ frames, data }) {
        if (frames > LONGEST) throw corrupt(`a segment has ${frames} frames, more than ${LONGEST}`);
        const chain = chains.get(frames) ?? chainOf(frames);
        chains.set(frames, chain);
        const levels = decodeLevels(chain, data[0]!, 3 * (components + 1), kernels);
        return split(inverseCosines(levels, frames, step), frames, components, layout.vertices);
      },
    });
  },
};

function readSetup(setup: Bytes, layout: Topology, kernels: Kernels) {
  const head = new ByteReader(setup);
  const start = head.take(8);
  const view = new DataView(start.buffer, start.byteOffset, 8);
  const [step, components] = [view.getFloat32(0, true), view.getUint16(4, true)];
  if (!(step > 0 && step < Infinity)) throw corrupt("the step of kine-mesh is not a positive number");
  charge("values", components * layout.vertices);
  const scales = head.take(view.getUint16(6, true));
  const exponents = components ? integers(scales, components, kernels) : new Int32Array(0);
  for (let n = 1; n < components; n++) exponents[n]! += exponents[n - 1]!;
  const tree = hierarchyOf(layout, kernels);
  const levels = decodeLevels(tree, head.take(head.left), components, kernels);
  const found = weightsOf(tree, levels, components, kernels);
  const weights = new Float64Array(layout.vertices * components);
  for (let n = 0; n < components; n++) {
    const factor = step / 2 ** (exponents[n]! / OCTAVE);
    for (let p = 0; p < layout.vertices; p++) {
      weights[tree.order[p]! * components + n] = found[n * layout.vertices + p]! * factor;
    }
  }
  return { step, components, weights };
}

/** Adaptive integers of one context. */
function integers(data: Bytes, count: number, k: Kernels): Int32Array {
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

/** [frames * rows]: the orthonormal inverse DCT of levels [rows * frames]. */
function inverseCosines(levels: Int32Array, frames: number, step: number): Float64Array {
  const rows = levels.length / frames;
  const cosines = new Float64Array(frames * frames);
  for (let f = 0; f < frames; f++) {
    const scale = Math.sqrt((f ? 2 : 1) / frames);
    for (let t = 0; t < frames; t++) cosines[f * frames + t] = scale * Math.cos((Math.PI * (t + 0.5) * f) / frames);
  }
  const out = new Float64Array(frames * rows);
  for (let r = 0; r < rows; r++) {
    for (let f = 0; f < frames; f++) {
      const level = levels[r * frames + f]! * step;
      if (level === 0) continue;
      for (let t = 0; t < frames; t++) out[t * rows + r]! += level * cosines[f * frames + t]!;
    }
  }
  return out;
}

/** Tracks [frames * (1 + components) * 3]: the mean, scaled by the root of the number of vertices, then the basis. */
function split(tracks: Float64Array, frames: number, components: number, vertices: number): Rows {
  const offsets = new Float64Array(3 * frames);
  const values = new Float64Array(3 * frames * components);
  for (let t = 0; t < frames; t++) {
    const row = tracks.subarray(3 * t * (1 + components), 3 * (t + 1) * (1 + components));
    for (let axis = 0; axis < 3; axis++) offsets[3 * t + axis] = row[axis]! / Math.sqrt(vertices);
    values.set(row.subarray(3), 3 * t * components);
  }
  return { offsets, values };
}
