// The neighbours of each vertex, so that a vertex shader can find normals by itself.

import { type Plane, planeOf, MOST_TEXELS } from "./planes.js";

/** Faces that a vertex may have: chaining them takes the square of their number, and a shader goes through them all. */
const MOST_FACES = 1000;

/**
 * First vertices + 1 numbers: where each vertex's neighbours begin. Then the neighbours, each twice its number, plus one if a
 * face joins it with the neighbour before. Null where that is larger than a texture, or a vertex has too many faces.
 */
export function ringsOf(faces: Uint32Array, vertices: number): Plane<Uint32Array<ArrayBuffer>> | null {
  const { starts, after } = corners(faces, vertices);
  if (starts.some((start, v) => v > 0 && start - starts[v - 1]! > 2 * MOST_FACES)) return null;
  const entries: number[] = [];
  const begins = new Uint32Array(vertices + 1);
  for (let v = 0; v < vertices; v++) {
    begins[v] = vertices + 1 + entries.length;
    fans(after.subarray(starts[v]!, starts[v + 1]!), entries);
  }
  begins[vertices] = vertices + 1 + entries.length;
  if (begins[vertices]! > MOST_TEXELS) return null;
  const plane = planeOf(begins[vertices]!, (texels) => new Uint32Array(texels));
  plane.data.set(begins);
  plane.data.set(entries, vertices + 1);
  return plane;
}

/** Of each vertex the other two corners of its faces, in turn: `after[starts[v] … starts[v + 1]]`. */
function corners(faces: Uint32Array, vertices: number) {
  const starts = new Uint32Array(vertices + 1);
  for (const corner of faces) starts[corner + 1]! += 2;
  for (let v = 0; v < vertices; v++) starts[v + 1]! += starts[v]!;
  const next = starts.slice();
  const after = new Uint32Array(2 * faces.length);
  for (let at = 0; at < faces.length; at += 3) {
    for (let n = 0; n < 3; n++) {
      const v = faces[at + n]!;
      after[next[v]!++] = faces[at + ((n + 1) % 3)]!;
      after[next[v]!++] = faces[at + ((n + 2) % 3)]!;
    }
  }
  return { starts, after };
}

/** Pairs of corners as chains: where a face ends, another may begin. Any pairs will do, also of surfaces that fork. */
function fans(pairs: Uint32Array, entries: number[]): void {
  const count = pairs.length / 2;
  const used = new Uint8Array(count);
  const ends = new Set<number>();
  for (let n = 0; n < count; n++) ends.add(pairs[2 * n + 1]!);
  const starting = (from: number) => {
    for (let n = 0; n < count; n++) if (!used[n] && (from < 0 || pairs[2 * n] === from)) return n;
    return -1;
  };
  const opening = () => {
    for (let n = 0; n < count; n++) if (!used[n] && !ends.has(pairs[2 * n]!)) return n;
    return starting(-1);
  };
  for (let n = opening(); n >= 0; n = opening()) {
    entries.push(2 * pairs[2 * n]!);
    for (let face = n; face >= 0; face = starting(pairs[2 * face + 1]!)) {
      used[face] = 1;
      entries.push(2 * pairs[2 * face + 1]! + 1);
    }
  }
}
