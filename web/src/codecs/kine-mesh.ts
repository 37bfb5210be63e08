// `kine-mesh`: principal components of a mesh animation, weights coarse to fine over the mesh
// (docs/codecs/kine-mesh.md).

import { ByteReader, type Bytes } from "../bytes.js";
import { charge, corrupt } from "../errors.js";
import type { Kernels } from "../kernels.js";
import type { Topology } from "../model.js";
import type { Codec, Decoder } from "./base.js";
import { chainOf, decodeLevels, type Hierarchy, hierarchyOf, weightsOf } from "./kine-mesh/hierarchy.js";

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
    return {
      decode({ frames, data }) {
        if (frames > LONGEST) throw corrupt(`a segment has ${frames} frames, more than ${LONGEST}`);
        const chain = chains.get(frames) ?? chainOf(frames);
        chains.set(frames, chain);
        const levels = decodeLevels(chain, data[0]!, 3 * (components + 1), kernels);
        return vertices(weights, inverseCosines(levels, frames, step), layout.vertices, components + 1, frames);
      },
    };
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
  const weights = new Float64Array(layout.vertices * (components + 1));
  for (let v = 0; v < layout.vertices; v++) weights[v * (components + 1)] = 1 / Math.sqrt(layout.vertices);
  for (let n = 0; n < components; n++) {
    const factor = step / 2 ** (exponents[n]! / OCTAVE);
    for (let p = 0; p < layout.vertices; p++) {
      weights[tree.order[p]! * (components + 1) + 1 + n] = found[n * layout.vertices + p]! * factor;
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

/** weights [vertices * count] times the basis [frames * count * 3]. */
function vertices(weights: Float64Array, basis: Float64Array, points: number, count: number, frames: number): Float32Array {
  const out = new Float32Array(frames * points * 3);
  for (let t = 0; t < frames; t++) {
    const rows = basis.subarray(t * count * 3, (t + 1) * count * 3);
    for (let v = 0; v < points; v++) {
      let [x, y, z] = [0, 0, 0];
      for (let n = 0, w = v * count; n < count; n++, w++) {
        const weight = weights[w]!;
        x += weight * rows[3 * n]!;
        y += weight * rows[3 * n + 1]!;
        z += weight * rows[3 * n + 2]!;
      }
      const at = 3 * (t * points + v);
      out[at] = x;
      out[at + 1] = y;
      out[at + 2] = z;
    }
  }
  return out;
}
