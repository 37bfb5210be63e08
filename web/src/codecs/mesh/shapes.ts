// The mean shape and the eigenshapes that `mesh-pca` and `mesh-pca-lpc` begin with.

import type { ByteReader } from "../../bytes.js";
import { charge } from "../../errors.js";
import type { Kernels } from "../../kernels.js";
import { takeFixed } from "./fixed-point.js";

/** [vertices * (1 + c) * 3]: the mean, which every frame has once, then the eigenshapes. */
export function takeShapes(
  source: ByteReader, vertices: number, c: number, bits: number, peaks: [mean: number, shapes: number], k: Kernels,
): Float64Array {
  const width = 3 * vertices;
  const mean = takeFixed(source, width, bits, peaks[0], k);
  const shapes = takeFixed(source, c * width, bits, peaks[1], k);
  const out = new Float64Array(charge("values", (1 + c) * width));
  for (let v = 0; v < vertices; v++) {
    out.set(mean.subarray(3 * v, 3 * v + 3), 3 * v * (1 + c));
    for (let n = 0; n < c; n++) {
      const from = n * width + 3 * v;
      out.set(shapes.subarray(from, from + 3), 3 * (v * (1 + c) + 1 + n));
    }
  }
  return out;
}

/** Weights [frames * (1 + c)] with the mean's own in front. */
export function withMean(weights: Float64Array, frames: number, c: number): Float64Array {
  const out = new Float64Array(frames * (1 + c)).fill(1);
  for (let t = 0; t < frames; t++) out.set(weights.subarray(t * c, (t + 1) * c), t * (1 + c) + 1);
  return out;
}
