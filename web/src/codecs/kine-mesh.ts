// `kine-mesh`: principal components of a mesh animation, weights coarse to fine over the mesh
// (docs/codecs/kine-mesh.md).

import { ByteReader, type Bytes } from "../bytes.js";
import { charge, corrupt } from "../errors.js";
import type { Kernels } from "../kernels.js";
import type { Topology } from "../model.js";
import { type Codec, type Decoder, productDecoder } from "./base.js";
import { chainOf, decodeLevels, type Hierarchy, hierarchyOf, weightsOf } from "./kine-mesh/hierarchy.js";
import { integers } from "./kine-mesh/integers.js";
import { type Bones, readBones, recentre, writeMotions } from "./kine-mesh/skin.js";
import type { Rows } from "./product.js";

const LONGEST = 512;
/** Scales of components are powers of 2^(1/8). */
const OCTAVE = 8;
/** Components that a rest pose takes. */
const REST = 3;

export const kineMesh: Codec = {
  id: "kine-mesh",
  version: 2,
  open(layout, { setup, frames: total }, kernels): Decoder {
    if (layout.kind !== "mesh") throw corrupt("the stream is not of a mesh");
    const fixed = readSetup(setup, layout, total, kernels);
    const chains = new Map<number, Hierarchy>();
    return productDecoder({
      vertices: layout.vertices,
      components: fixed.columns,
      clusters: 1,
      index: null,
      shapes: false,
      fixed: fixed.weights,
      rows({ frames, data }) {
        if (frames > LONGEST) throw corrupt(`a segment has ${frames} frames, more than ${LONGEST}`);
        const chain = chains.get(frames) ?? chainOf(frames);
        chains.set(frames, chain);
        const levels = decodeLevels(chain, data[0]!, 3 * (1 + fixed.scales.length + fixed.components), kernels);
        return split(inverseCosines(levels, frames, fixed.step), frames, fixed, layout.vertices);
      },
    });
  },
};

/** What all segments share. */
interface Fixed {
  step: number;
  components: number;
  bones: Bones | null;
  /** Of the rest pose, which the weights of bones are about. */
  centre: Float64Array;
  /** Of the turns and offsets of bones. */
  scales: Float64Array;
  /** Four for each bone, then the components. */
  columns: number;
  /** [vertices * columns] */
  weights: Float64Array;
}

function readSetup(setup: Bytes, layout: Topology, frames: number, kernels: Kernels): Fixed {
  const head = new ByteReader(setup);
  const [signed, components, scaleBytes] = [head.f32(), head.u16(), head.u16()];
  const step = Math.abs(signed);
  if (!(step > 0 && step < Infinity)) throw corrupt("the step of kine-mesh is not a number");
  charge("values", (REST + components) * layout.vertices);
  const [tree, unit] = [hierarchyOf(layout, kernels), step / Math.sqrt(frames)];
  const bones = signed < 0 ? readBones(head, tree, unit, kernels) : null;
  const [tracks, rest] = bones ? [2 * bones.count, REST] : [0, 0];
  const scales = scalesOf(head.take(scaleBytes), tracks + components, kernels);
  const levels = decodeLevels(tree, head.take(head.left), rest + components, kernels);
  const found = weightsOf(tree, levels, rest + components, kernels);
  const centre = Float64Array.from({ length: rest }, (_, n) => {
    return (unit * found.subarray(n * layout.vertices, (n + 1) * layout.vertices).reduce((a, b) => a + b)) / layout.vertices;
  });
  const columns = 2 * tracks + components;
  const weights = new Float64Array(charge("values", layout.vertices * columns));
  for (let p = 0; p < layout.vertices; p++) {
    const row = weights.subarray(tree.order[p]! * columns, (tree.order[p]! + 1) * columns);
    for (let b = 0; bones && b < bones.count; b++) {
      const share = bones.shares[b * layout.vertices + p]!;
      for (let n = 0; n < REST; n++) row[4 * b + n] = share * (found[n * layout.vertices + p]! * unit - centre[n]!);
      row[4 * b + REST] = share;
    }
    for (let n = 0; n < components; n++) {
      row[2 * tracks + n] = found[(rest + n) * layout.vertices + p]! * (step / scales[tracks + n]!);
    }
  }
  return { step, components, bones, centre, scales: scales.subarray(0, tracks), columns, weights };
}

function scalesOf(data: Bytes, count: number, kernels: Kernels): Float64Array {
  let exponent = 0;
  return Float64Array.from(count ? integers(data, count, kernels) : [], (more) => 2 ** ((exponent += more) / OCTAVE));
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

/** Tracks [frames * rows * 3]: the mean, scaled by the root of the number of vertices, turns and offsets, the basis. */
function split(tracks: Float64Array, frames: number, fixed: Fixed, vertices: number): Rows {
  const { bones, scales, columns, components } = fixed;
  const rows = 1 + scales.length + components;
  const offsets = new Float64Array(3 * frames);
  const values = new Float64Array(charge("values", 3 * frames * columns));
  for (let t = 0; t < frames; t++) {
    const row = tracks.subarray(3 * t * rows, 3 * (t + 1) * rows);
    const out = values.subarray(3 * t * columns, 3 * (t + 1) * columns);
    if (bones) {
      writeMotions(bones, row.subarray(3), scales, out);
      offsets.set(recentre(out, bones.count, fixed.centre), 3 * t);
    }
    for (let axis = 0; axis < 3; axis++) offsets[3 * t + axis]! += row[axis]! / Math.sqrt(vertices);
    out.set(row.subarray(3 * (1 + scales.length)), 3 * (columns - components));
  }
  return { offsets, values };
}
