// `mesh-pca-lpc`: principal components of whole frames, their weights predicted over time (docs/codecs/mesh-pca-lpc.md).

import { ByteReader, type Bytes } from "../bytes.js";
import { charge, corrupt } from "../errors.js";
import type { Kernels } from "../kernels.js";
import { type Codec, type Decoder, productDecoder } from "./base.js";
import { finish } from "./mesh/fixed-point.js";
import { takeShapes, withMean } from "./mesh/shapes.js";

const CONTEXTS = 64;
const [RATE, ESCAPE, MIX_RATE] = [5, 8, 20];
/** Predictors are in 1 / 2^12. */
const UNIT = 2 ** 12;
const LARGEST = 2 ** 17;
/** Levels that no encoder makes are held to this; with at most 8 predictors every sum is then exact in a float64. */
const LARGEST_LEVEL = 2 ** 32;

export const meshPcaLpc: Codec = {
  id: "mesh-pca-lpc",
  version: 1,
  open(layout, { setup }, kernels): Decoder {
    if (layout.kind !== "mesh") throw corrupt("the stream is not of a mesh");
    const source = new ByteReader(setup);
    const [c, qC, order, spare] = [source.u32(), source.u8(), source.u8(), source.u8()];
    if (!(qC >= 2 && qC <= 32) || order > 8 || spare) throw corrupt("the setup of mesh-pca-lpc makes no sense");
    const [mean, shapes, step] = [source.f32(), source.f32(), source.f64()];
    const fixed = takeShapes(source, layout.vertices, c, qC, [mean, shapes], kernels);
    const predictors = takePredictors(source, (c + 3) * order);
    finish(source);
    return productDecoder({
      vertices: layout.vertices,
      components: 1 + c,
      clusters: 1,
      index: null,
      shapes: true,
      fixed,
      rows({ frames, data }) {
        const levels = decodeLevels(data[0]!, frames, c + 3, kernels);
        restore(levels, frames, c + 3, predictors, order);
        return split(levels.map((level) => level * step), frames, c);
      },
    });
  },
};

function takePredictors(source: ByteReader, count: number): Int32Array {
  const predictors = new Int32Array(source.take(4 * count).slice().buffer);
  if (predictors.some((one) => Math.abs(one) > LARGEST)) throw corrupt("a predictor of mesh-pca-lpc is out of range");
  return predictors;
}

/** Residuals [frames * columns]; each of the leading columns has a model of its own. */
function decodeLevels(data: Bytes, frames: number, columns: number, k: Kernels): Float64Array {
  const count = charge("values", frames * columns);
  return k.scope(() => {
    const contexts = k.put(Int32Array.from({ length: count }, (_, i) => Math.min(i % columns, CONTEXTS - 1)));
    const models = Math.min(columns, CONTEXTS);
    const states = k.put(new Uint32Array(models * k.size("kp_integer_bins", ESCAPE)).fill(2 ** 31));
    const [bytes, out] = [k.put(data), k.room(4 * count)];
    const model = [states, models, 0, ESCAPE, RATE, MIX_RATE];
    k.call("kp_decode_integers", "a segment", bytes, data.length, out, count, contexts, 1, ...model);
    return Float64Array.from(k.view(Int32Array, out, count));
  });
}

/** Residuals become levels, in place; frames before the first count as zero. */
function restore(levels: Float64Array, frames: number, columns: number, predictors: Int32Array, order: number): void {
  for (let t = 0; t < frames; t++) {
    for (let n = 0; n < columns; n++) {
      let total = UNIT / 2;
      for (let lag = 0; lag < Math.min(t, order); lag++) {
        total += predictors[n * order + lag]! * levels[(t - 1 - lag) * columns + n]!;
      }
      const level = levels[t * columns + n]! + Math.floor(total / UNIT);
      levels[t * columns + n] = Math.min(Math.max(level, -LARGEST_LEVEL), LARGEST_LEVEL);
    }
  }
}

/** Tracks [frames * (c + 3)] are weights, then the centroid. */
function split(tracks: Float64Array, frames: number, c: number) {
  const [weights, offsets] = [new Float64Array(frames * c), new Float64Array(frames * 3)];
  for (let t = 0; t < frames; t++) {
    const row = tracks.subarray(t * (c + 3), (t + 1) * (c + 3));
    weights.set(row.subarray(0, c), t * c);
    offsets.set(row.subarray(c), 3 * t);
  }
  return { offsets, values: withMean(weights, frames, c) };
}
