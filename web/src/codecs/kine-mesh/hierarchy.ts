// Vertices from coarse to fine, levels coded along them, and the weights that levels stand for.

import type { Bytes } from "../../bytes.js";
import type { Kernels } from "../../kernels.js";
import type { Topology } from "../../model.js";

const MOST_REFERENCES = 18;
/** Components before which predictors are fitted anew, to those decoded so far. */
const REFITS = [0, 1, 2, 3, 4, 6, 8, 10];
const [BULGE, DAMPING, FAR] = [0.3, 2, 0.5];
/** Steps shrink by FINER from a level to the next coarser one, down to FINEST. */
const [FINER, FINEST] = [0.92, 0.55];

export interface Hierarchy {
  /** Vertex at each position. */
  order: Uint32Array;
  starts: Uint32Array;
  refs: Uint32Array;
  rings: Uint8Array;
  levels: Uint8Array;
}

export function hierarchyOf({ faces, vertices }: Topology, k: Kernels): Hierarchy {
  const edges = edgesOf(faces, vertices);
  const count = edges.length / 2;
  return k.scope(() => {
    const source = k.put(edges);
    const scratch = [k.room(4 * (25 * vertices + 1 + 6 * count)), k.room(2 * vertices)];
    const [order, starts] = [k.room(4 * vertices), k.room(4 * (vertices + 1))];
    const refs = k.room(4 * MOST_REFERENCES * vertices);
    const [rings, levels] = [k.room(vertices), k.room(vertices)];
    k.call("kp_mesh_hierarchy", "the mesh", source, count, vertices, ...scratch, order, starts, refs, rings, levels);
    const own = k.view(Uint32Array, starts, vertices + 1).slice();
    return {
      order: k.view(Uint32Array, order, vertices).slice(),
      starts: own,
      refs: k.view(Uint32Array, refs, own[vertices]!).slice(),
      rings: k.view(Uint8Array, rings, vertices).slice(),
      levels: k.view(Uint8Array, levels, vertices).slice(),
    };
  });
}

/** Distinct undirected edges, low vertex first, in order. */
function edgesOf(faces: Uint32Array, vertices: number): Uint32Array {
  const codes = new Float64Array(faces.length);
  let count = 0;
  for (let at = 0; at < faces.length; at += 3) {
    for (let n = 0; n < 3; n++) {
      const [a, b] = [faces[at + n]!, faces[at + ((n + 1) % 3)]!];
      if (a !== b) codes[count++] = Math.min(a, b) * vertices + Math.max(a, b);
    }
  }
  const sorted = codes.subarray(0, count).sort().filter((code, n, all) => n === 0 || code !== all[n - 1]);
  const out = new Uint32Array(2 * sorted.length);
  sorted.forEach((code, n) => {
    out[2 * n] = Math.floor(code / vertices);
    out[2 * n + 1] = code % vertices;
  });
  return out;
}

/** Frequencies as a chain: each refers to the two below it, and to two more from further away. */
export function chainOf(frames: number): Hierarchy {
  const positions = Array.from({ length: frames }, (_, n) => n);
  let end = 0;
  return {
    order: Uint32Array.from(positions),
    starts: Uint32Array.from([0, ...positions.map((n) => (end += Math.min(n, 4)))]),
    refs: Uint32Array.from(positions.flatMap((n) => Array.from({ length: Math.min(n, 4) }, (_, i) => n - 1 - i))),
    rings: Uint8Array.from(positions, (n) => Math.min(n, 2)),
    levels: Uint8Array.from(positions, (n) => Math.min(1 + Math.floor(Math.log2(1 + n)), 8)),
  };
}

/** Levels [rows * vertices] in decoding order. */
export function decodeLevels(tree: Hierarchy, data: Bytes, rows: number, k: Kernels): Int32Array {
  const count = tree.order.length;
  return k.scope(() => {
    const sizes = [k.room(4), k.room(4)] as const;
    k.call("kp_mesh_sizes", "the mesh", ...sizes);
    const [states, weights] = sizes.map((address) => k.view(Uint32Array, address, 1)[0]!) as [number, number];
    const [bytes, out] = [k.put(data), k.room(4 * rows * count)];
    const shape = [k.put(tree.starts), k.put(tree.refs), k.put(tree.rings), k.put(tree.levels)];
    const models = [k.room(4 * states), k.room(4 * weights), k.room(2 * count)];
    k.call("kp_mesh_decode", "the mesh's weights", bytes, data.length, out, count, rows, ...shape, ...models);
    return k.view(Int32Array, out, rows * count).slice();
  });
}

/** Weights [components * vertices] in steps, in decoding order. */
export function weightsOf(tree: Hierarchy, levels: Int32Array, components: number, k: Kernels): Float64Array {
  const count = tree.order.length;
  return k.scope(() => {
    const steps = k.put(Float64Array.from({ length: 256 }, (_, n) => Math.max(FINER ** Math.max(n - 1, 0), FINEST)));
    const shape = [k.put(tree.starts), k.put(tree.refs), k.put(tree.rings)];
    const [heights, source] = [k.put(tree.levels), k.put(levels)];
    const [predictors, out] = [k.room(8 * tree.refs.length + 8), k.room(8 * components * count)];
    for (let n = 0; n < components; n++) {
      if (REFITS.includes(n)) {
        k.call("kp_mesh_predictors", "the mesh", count, ...shape, out, n, BULGE, DAMPING, FAR, predictors);
      }
      const [own, values] = [source + 4 * n * count, out + 8 * n * count];
      k.call("kp_mesh_synthesise", "the mesh's weights", count, ...shape, heights, predictors, steps, own, values);
    }
    return k.view(Float64Array, out, components * count).slice();
  });
}

/** Whole numbers [rows * vertices] in 0..most from what each is more than the rounded mean of its ring. */
export function sumsOf(tree: Hierarchy, levels: Int32Array, rows: number, most: number, k: Kernels): Int32Array {
  const count = tree.order.length;
  return k.scope(() => {
    const shape = [k.put(tree.starts), k.put(tree.refs), k.put(tree.rings)];
    const values = k.put(levels);
    k.call("kp_mesh_sum", "the mesh's shares", count, ...shape, rows, most, values);
    return k.view(Int32Array, values, rows * count).slice();
  });
}
