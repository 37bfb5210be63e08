// The factors of a product (codecs/product.ts) laid out as textures: the data of Figure 8 of Sattler 2005. Components go
// by fours, the last ones filled up with zeros: four numbers are a texel, four vectors are three.
//
// What vertices have is kept in 16 bits about the middle of its cluster. The middle's path goes into the cluster's offset
// and the 16 bits' unit into the rows, both float32, so that the shader need not know. A vertex moves by some 1e-5 of the
// mesh's size at the most, however far from the origin the mesh is.

import type { Product, Rows } from "../codecs/product.js";

/** A texture of 2^bits texels a row; texel n is in row n >> bits. */
export interface Plane<T> {
  data: T;
  bits: number;
  width: number;
  height: number;
}

/** Texels of a row at the most; as many rows of them are in reach of every device. */
const MOST_BITS = 12;
export const MOST_TEXELS = 4 ** MOST_BITS;

/** A plane of at least `texels` texels, nearly square, its numbers made by `make`. */
export function planeOf<T>(texels: number, make: (texels: number) => T): Plane<T> {
  const bits = Math.min(Math.max(2, Math.ceil(Math.log2(texels) / 2)), MOST_BITS);
  const height = Math.max(1, Math.ceil(texels / 2 ** bits));
  return { data: make(height * 2 ** bits), bits, width: 2 ** bits, height };
}

/** The largest number of 16 bits. */
const TOP = 32767;

export class Planes {
  /** Of vertices: weights, or shapes. */
  readonly fixed: Plane<Int16Array<ArrayBuffer>>;
  /** Of frames: for each cluster its offset, then eigentrajectories or weights. */
  readonly moving: Plane<Float32Array<ArrayBuffer>>;
  /** Cluster of each vertex, null if there is one only. */
  readonly index: Plane<Uint16Array<ArrayBuffer>> | null;
  readonly vertices: number;
  readonly shapes: boolean;
  /** Components by fours. */
  readonly quads: number;
  readonly vertexTexels: number;
  readonly clusterTexels: number;
  readonly frameTexels: number;
  private readonly clusters: number;
  private readonly components: number;
  /** [clusters * components], or times three: the middle of what a cluster's vertices have. */
  private readonly middles: Float64Array;
  /** [clusters * components] unit of the 16 bits. */
  private readonly units: Float64Array;

  private constructor(product: Product, readonly frames: number) {
    ({ vertices: this.vertices, clusters: this.clusters, components: this.components, shapes: this.shapes } = product);
    const sizes = sizesOf(product, frames);
    ({ quads: this.quads, vertexTexels: this.vertexTexels, clusterTexels: this.clusterTexels } = sizes);
    this.frameTexels = this.clusters * this.clusterTexels;
    this.fixed = planeOf(sizes.fixed, (texels) => new Int16Array(4 * texels));
    this.moving = planeOf(sizes.moving, (texels) => new Float32Array(4 * texels));
    this.index = product.index && planeOf(this.vertices, (texels) => new Uint16Array(texels));
    this.index?.data.set(product.index!);
    ({ middles: this.middles, units: this.units } = rangesOf(product));
    this.quantize(product);
  }

  /** Null where the product is larger than textures are. */
  static of(product: Product, frames: number): Planes | null {
    const { fixed, moving } = sizesOf(product, frames);
    return Math.max(fixed, moving, product.vertices) <= MOST_TEXELS ? new Planes(product, frames) : null;
  }

  get bytes(): number {
    return this.fixed.data.byteLength + this.moving.data.byteLength + (this.index?.data.byteLength ?? 0);
  }

  /** Puts rows of `count` frames in their place. */
  put(first: number, { offsets, values }: Rows, count: number): void {
    const { clusters, clusterTexels, components, middles, moving, shapes, units } = this;
    const three = shapes ? 1 : 3;
    for (let n = 0; n < count * clusters; n++) {
      const to = 4 * (first * clusters + n) * clusterTexels;
      const middle = [offsets[3 * n]!, offsets[3 * n + 1]!, offsets[3 * n + 2]!];
      for (let c = 0; c < components; c++) {
        const own = (n % clusters) * components + c;
        const from = three * (n * components + c);
        for (let axis = 0; axis < 3; axis++) {
          middle[axis]! += shapes ? values[from]! * middles[3 * own + axis]! : values[from + axis]! * middles[own]!;
        }
        for (let i = 0; i < three; i++) moving.data[to + 4 + three * c + i] = values[from + i]! * units[own]!;
      }
      moving.data.set(middle, to);
    }
  }

  /** Where a frame's texels begin. */
  texelOf(frame: number): number {
    return frame * this.frameTexels;
  }

  /** What the shader computes, here: the vertices from `first` on that `out` has room for, [x, y, z] each. */
  multiply(frame: number, out: Float32Array, first = 0): Float32Array {
    const { shapes, index } = this;
    const [fixed, moving] = [this.fixed.data, this.moving.data];
    const [vectors, numbers] = shapes ? [fixed, moving] : [moving, fixed];
    for (let at = 0, v = first; at < out.length; at += 3, v++) {
      const cluster = 4 * (frame * this.frameTexels + (index ? index.data[v]! : 0) * this.clusterTexels);
      const own = 4 * v * this.vertexTexels;
      let [x, y, z] = [moving[cluster]!, moving[cluster + 1]!, moving[cluster + 2]!];
      let vector = shapes ? own : cluster + 4;
      let number = shapes ? cluster + 4 : own;
      for (let n = 0; n < this.components; n++, vector += 3, number++) {
        const weight = numbers[number]!;
        x += weight * vectors[vector]!;
        y += weight * vectors[vector + 1]!;
        z += weight * vectors[vector + 2]!;
      }
      out[at] = x;
      out[at + 1] = y;
      out[at + 2] = z;
    }
    return out;
  }

  /** A sphere that no vertex of a frame leaves: [x, y, z, radius]. */
  sphere(frame: number): [number, number, number, number] {
    const { data } = this.moving;
    const centre = [0, 0, 0];
    const starts = Array.from({ length: this.clusters }, (_, i) => 4 * (this.texelOf(frame) + i * this.clusterTexels));
    for (const at of starts) for (let axis = 0; axis < 3; axis++) centre[axis]! += data[at + axis]! / this.clusters;
    let radius = 0;
    for (const at of starts) {
      const away = Math.hypot(data[at]! - centre[0]!, data[at + 1]! - centre[1]!, data[at + 2]! - centre[2]!);
      radius = Math.max(radius, away + this.reach(at + 4));
    }
    return [centre[0]!, centre[1]!, centre[2]!, radius];
  }

  /** How far a cluster's vertices can be from its middle, given where its rows begin. */
  private reach(at: number): number {
    const { data } = this.moving;
    let sum = 0;
    for (let c = 0; c < this.components; c++) {
      if (this.shapes) sum += Math.sqrt(3) * Math.abs(data[at + c]!);
      else sum += Math.hypot(data[at + 3 * c]!, data[at + 3 * c + 1]!, data[at + 3 * c + 2]!);
    }
    return TOP * sum;
  }

  private quantize({ fixed, index, components, shapes }: Product): void {
    const three = shapes ? 3 : 1;
    for (let v = 0; v < this.vertices; v++) {
      const cluster = (index ? index[v]! : 0) * components;
      for (let c = 0; c < components; c++) {
        const unit = this.units[cluster + c]!;
        for (let i = 0; i < three; i++) {
          const away = fixed[three * (v * components + c) + i]! - this.middles[three * (cluster + c) + i]!;
          this.fixed.data[4 * v * this.vertexTexels + three * c + i] = Math.round(away / unit);
        }
      }
    }
  }
}

/** The middle of what the vertices of each cluster have, and the unit that brings all of them within 16 bits of it. */
function rangesOf({ fixed, index, vertices, clusters, components, shapes }: Product) {
  const three = shapes ? 3 : 1;
  const width = three * components;
  const low = new Float64Array(clusters * width).fill(Infinity);
  const high = new Float64Array(clusters * width).fill(-Infinity);
  for (let v = 0; v < vertices; v++) {
    const cluster = (index ? index[v]! : 0) * width;
    for (let n = 0; n < width; n++) {
      const value = fixed[v * width + n]!;
      if (value < low[cluster + n]!) low[cluster + n] = value;
      if (value > high[cluster + n]!) high[cluster + n] = value;
    }
  }
  const units = new Float64Array(clusters * components);
  high.forEach((most, n) => {
    const own = Math.floor(n / three);
    if (most > low[n]!) units[own] = Math.max(units[own]!, (most - low[n]!) / (2 * TOP - 1));
  });
  const middles = low.map((least, n) => {
    if (least > high[n]!) return 0; // a cluster without vertices
    const unit = units[Math.floor(n / three)]!;
    // A whole number of units, so that 0 stays 0: a vertex is not moved by what it has nothing of.
    return unit ? unit * Math.round((least + high[n]!) / 2 / unit) : least;
  });
  return { middles, units: units.map((unit) => unit || 1) };
}

function sizesOf({ vertices, components, clusters, shapes }: Product, frames: number) {
  const quads = Math.ceil(components / 4);
  const vertexTexels = (shapes ? 3 : 1) * quads;
  const clusterTexels = 1 + (shapes ? 1 : 3) * quads;
  return { quads, vertexTexels, clusterTexels, fixed: vertices * vertexTexels, moving: frames * clusters * clusterTexels };
}
