// Rotations as quaternions (x, y, z, w) and matrices (row-major), one at a time, in place.

export type Out = Float64Array | Float32Array | number[];

/** Unit length; a zero quaternion becomes the identity. */
export function normalize(q: Out, at = 0): void {
  const largest = Math.max(Math.abs(q[at]!), Math.abs(q[at + 1]!), Math.abs(q[at + 2]!), Math.abs(q[at + 3]!));
  if (!(largest > 0)) {
    q[at] = q[at + 1] = q[at + 2] = 0;
    q[at + 3] = 1;
    return;
  }
  let square = 0;
  for (let i = 0; i < 4; i++) square += (q[at + i]! / largest) ** 2;
  const factor = 1 / Math.sqrt(square);
  for (let i = 0; i < 4; i++) q[at + i] = (q[at + i]! / largest) * factor;
}

/** out = a b: the rotation `b` first, then `a`. */
export function multiply(a: ArrayLike<number>, b: ArrayLike<number>, out: Out): void {
  const [ax, ay, az, aw] = [a[0]!, a[1]!, a[2]!, a[3]!];
  const [bx, by, bz, bw] = [b[0]!, b[1]!, b[2]!, b[3]!];
  out[0] = aw * bx + ax * bw + ay * bz - az * by;
  out[1] = aw * by - ax * bz + ay * bw + az * bx;
  out[2] = aw * bz + ax * by - ay * bx + az * bw;
  out[3] = aw * bw - ax * bx - ay * by - az * bz;
}

export function quaternionToMatrix(q: ArrayLike<number>, m: Out, at = 0): void {
  const u = [q[0]!, q[1]!, q[2]!, q[3]!];
  normalize(u);
  const [x, y, z, w] = u as [number, number, number, number];
  m[at] = 1 - 2 * (y * y + z * z);
  m[at + 1] = 2 * (x * y - z * w);
  m[at + 2] = 2 * (x * z + y * w);
  m[at + 3] = 2 * (x * y + z * w);
  m[at + 4] = 1 - 2 * (x * x + z * z);
  m[at + 5] = 2 * (y * z - x * w);
  m[at + 6] = 2 * (x * z - y * w);
  m[at + 7] = 2 * (y * z + x * w);
  m[at + 8] = 1 - 2 * (x * x + y * y);
}

/** The column of 4 q qᵀ with the largest diagonal entry, made unit (Shepperd 1978). */
export function matrixToQuaternion(m: ArrayLike<number>, at: number, out: Out): void {
  const [a, b, c, d, e, f, g, h, i] = Array.from({ length: 9 }, (_, n) => m[at + n]!) as number[] as [
    number, number, number, number, number, number, number, number, number,
  ];
  const diagonal = [1 + a - e - i, 1 - a + e - i, 1 - a - e + i, 1 + a + e + i];
  const best = diagonal.indexOf(Math.max(...diagonal));
  const rows = [
    [diagonal[0]!, b + d, c + g, h - f],
    [b + d, diagonal[1]!, f + h, c - g],
    [c + g, f + h, diagonal[2]!, d - b],
    [h - f, c - g, d - b, diagonal[3]!],
  ];
  for (let n = 0; n < 4; n++) out[n] = rows[best]![n]!;
  normalize(out);
}

export function rotvecToQuaternion(x: number, y: number, z: number, out: Out): void {
  const angle = Math.sqrt(x * x + y * y + z * z);
  const half = angle / 2;
  const factor = half > 0 ? (0.5 * Math.sin(half)) / half : 0.5;
  out[0] = x * factor;
  out[1] = y * factor;
  out[2] = z * factor;
  out[3] = Math.cos(half);
}

/** c = a b, 3 x 3. */
export function multiplyMatrices(a: Out, b: Out, c: Out, at = 0): void {
  for (let r = 0; r < 3; r++) {
    for (let k = 0; k < 3; k++) {
      c[at + 3 * r + k] = a[3 * r]! * b[k]! + a[3 * r + 1]! * b[3 + k]! + a[3 * r + 2]! * b[6 + k]!;
    }
  }
}

export function transposed(m: Out): number[] {
  return [m[0]!, m[3]!, m[6]!, m[1]!, m[4]!, m[7]!, m[2]!, m[5]!, m[8]!];
}

/** C = Rz Ry Rx of angles (x, y, z) in degrees. */
export function axisFrame([x, y, z]: readonly number[]): number[] {
  const q = [0, 0, 0, 1];
  for (const [axis, angle] of [[2, z!], [1, y!], [0, x!]] as const) {
    const turn = [0, 0, 0, Math.cos((angle * Math.PI) / 360)];
    turn[axis] = Math.sin((angle * Math.PI) / 360);
    multiply(q, turn, q);
  }
  const matrix = new Array<number>(9);
  quaternionToMatrix(q, matrix);
  return matrix;
}

/** Angles (a, b, c) with Ri(a) Rj(b) Rk(c) = m; the middle one is in [-π/2, π/2]. */
export function eulerOf(m: ArrayLike<number>, [i, j, k]: [number, number, number]): [number, number, number] {
  const sign = (i + 1) % 3 === j ? 1 : -1;
  const first = Math.atan2(-sign * m[3 * j + k]!, m[3 * k + k]!);
  // What is left when the first turn is undone: rows j and k of m, turned back about axis i.
  const [sine, cosine] = [Math.sin(first), Math.cos(first)];
  const row = (r: number, c: number) =>
    r === i ? m[3 * i + c]! : r === j ? cosine * m[3 * j + c]! + sign * sine * m[3 * k + c]! : cosine * m[3 * k + c]! - sign * sine * m[3 * j + c]!;
  return [first, Math.atan2(sign * row(i, k), row(k, k)), Math.atan2(sign * row(j, i), row(j, j))];
}

/** Axis times angle, 0 … π, of a unit quaternion. */
export function quaternionToRotvec(q: ArrayLike<number>): number[] {
  const sign = q[3]! < 0 ? -1 : 1;
  return unwoundRotvec([0, 1, 2, 3].map((n) => sign * q[n]!));
}

/** The same, 0 … 2π: more than π where w < 0. */
export function unwoundRotvec(q: ArrayLike<number>): number[] {
  const axis = [q[0]!, q[1]!, q[2]!];
  const sine = Math.hypot(...axis);
  const factor = sine < 1e-150 ? 2 : (2 * Math.atan2(sine, q[3]!)) / sine;
  return axis.map((x) => x * factor);
}
