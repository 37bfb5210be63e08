// Mesh animations that are a product: what vertices have, times what frames have. A processor multiplies them here, a
// graphics processor in its vertex shader (gpu/).

import type { Run } from "./base.js";
import { charge, corrupt } from "../errors.js";

/** What the frames of one run have. */
export interface Rows {
  /** [frames * clusters * 3] added to every vertex of a cluster. */
  offsets: Float64Array;
  /** [frames * clusters * components * 3] eigentrajectories, or [frames * components] weights of shapes. */
  values: Float64Array;
}

/**
 * Vertex v of cluster i at frame t is offset[t, i] + Σ_n fixed[v, n] · row[t, i, n]; one of the two factors is a number,
 * the other a vector.
 */
export interface Product {
  vertices: number;
  components: number;
  clusters: number;
  /** Cluster of each vertex, null if all are in one. */
  index: Uint16Array | null;
  /** Whether vertices have the vectors (shapes, weighted by frames) or frames do (trajectories, weighted by vertices). */
  shapes: boolean;
  /** [vertices * components] weights, or [vertices * components * 3] shapes. */
  fixed: Float64Array;
  rows(run: Run): Rows;
}

/** Numbers in the rows of one frame, without its offsets. */
export const rowNumbers = ({ shapes, clusters, components }: Product) =>
  shapes ? components : clusters * components * 3;

/** [frames * vertices * 3] */
export function multiply(product: Product, rows: Rows, frames: number): Float32Array {
  const out = new Float32Array(charge("values", frames * product.vertices * 3));
  const width = 3 * product.vertices;
  for (let t = 0; t < frames; t++) multiplyFrame(product, rows, t, out.subarray(t * width, (t + 1) * width));
  return out;
}

/** [vertices * 3] of the t-th frame of a run. */
export function multiplyFrame(product: Product, rows: Rows, t: number, out: Float32Array): Float32Array {
  multiplyVertices(product, rows, t, 0, out);
  return out;
}

/** The vertices from `first` on that `out` has room for. */
export function multiplyVertices(product: Product, { offsets, values }: Rows, t: number, first: number, out: Float32Array): void {
  const { components, clusters, fixed, index, shapes } = product;
  const vectors = shapes ? fixed : values;
  const numbers = shapes ? values : fixed;
  for (let at = 0, v = first; at < out.length; at += 3, v++) {
    const place = t * clusters + (index ? index[v]! : 0);
    let x = offsets[3 * place]!;
    let y = offsets[3 * place + 1]!;
    let z = offsets[3 * place + 2]!;
    let vector = 3 * (shapes ? v : place) * components;
    const start = (shapes ? t : v) * components;
    for (let n = start; n < start + components; n++, vector += 3) {
      const weight = numbers[n]!;
      x += weight * vectors[vector]!;
      y += weight * vectors[vector + 1]!;
      z += weight * vectors[vector + 2]!;
    }
    out[at] = x;
    out[at + 1] = y;
    out[at + 2] = z;
  }
}

/** The mean of all vertices at any frame, at the cost of one vertex of each cluster: `(rows, t) => [x, y, z]`. */
export function centroidOf({ vertices, components, clusters, index, shapes, fixed }: Product) {
  const width = (shapes ? 3 : 1) * components;
  const shares = new Float64Array(clusters);
  const means = new Float64Array(clusters * width);
  for (let v = 0; v < vertices; v++) {
    const cluster = index ? index[v]! : 0;
    shares[cluster]! += 1 / vertices;
    for (let n = 0; n < width; n++) means[cluster * width + n]! += fixed[v * width + n]! / vertices;
  }
  return ({ offsets, values }: Rows, t: number): [number, number, number] => {
    const sum: [number, number, number] = [0, 0, 0];
    for (let place = t * clusters, i = 0; i < clusters; i++, place++) {
      for (let axis = 0; axis < 3; axis++) {
        sum[axis]! += shares[i]! * offsets[3 * place + axis]!;
        for (let n = 0; n < components; n++) {
          sum[axis]! += shapes
            ? values[t * components + n]! * means[3 * n + axis]!
            : values[3 * (place * components + n) + axis]! * means[i * components + n]!;
        }
      }
    }
    return sum;
  };
}

/** Refuses numbers that a float32 cannot hold: no encoder writes them. */
export function checkFinite(values: Float64Array): void {
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(Math.fround(values[i]!))) throw corrupt("the stream decodes to numbers that are not finite");
  }
}
