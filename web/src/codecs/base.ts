// What a decoder is: a setup turned into something once, then runs of frames into numbers.

import type { Bytes } from "../bytes.js";
import type { ClipRecord } from "../clip-record.js";
import type { Kernels } from "../kernels.js";
import type { Layout } from "../model.js";
import { checkFinite, multiply, type Product } from "./product.js";

/** All the layers of one run of frames that are at hand, lowest first. */
export interface Run {
  first: number;
  frames: number;
  data: Bytes[];
}

export interface Decoder {
  /** [frames * width] of one run. */
  decode(run: Run): Float64Array | Float32Array;
  /** Of a mesh whose frames are products: the factors, for those who multiply them elsewhere. */
  product?: Product;
}

export function productDecoder(product: Product): Decoder {
  checkFinite(product.fixed);
  return { decode: (run) => multiply(product, product.rows(run), run.frames), product };
}

export interface Codec {
  id: string;
  /** Newest version of the stream that this decoder knows. */
  version: number;
  open(layout: Layout, record: ClipRecord, kernels: Kernels): Decoder;
}

/** Rows [rows, columns] as [columns, rows]. */
export function transpose<T extends Float64Array | Float32Array>(matrix: T, rows: number, columns: number, out: T): T {
  for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) out[c * rows + r] = matrix[r * columns + c]!;
  return out;
}

/** Bytes of items that were stored plane by plane: all first bytes, then all second bytes, … */
export function joinPlanes(planes: Uint8Array, itemSize: number): Bytes {
  const count = Math.floor(planes.length / itemSize);
  const out = new Uint8Array(count * itemSize);
  for (let plane = 0; plane < itemSize; plane++) {
    for (let i = 0, at = plane * count; i < count; i++) out[i * itemSize + plane] = planes[at + i]!;
  }
  return out;
}
