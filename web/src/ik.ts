// Inverse kinematics of end effectors, frame by frame: damped least squares, or cyclic coordinate descent.
// The mirror of kinepack.math.ik: a codec that corrects with one decodes alike in both.

import { type Derivatives, derivativesOf } from "./derivatives.js";
import type { Rig } from "./kinematics.js";
import { radiansPerAngle } from "./model.js";

/** Of damped least squares, as a fraction of the mean squared reach of a frame's chains. */
const DAMPING = 1e-3;
/** Radians an angle may change in one step. */
const LARGEST_TURN = 0.5;
/** Frames solved at once; keeps the derivatives small. */
const BLOCK = 256;

/** A channel that may move, and which effectors it moves. */
interface Link {
  channel: number;
  joint: number;
  moves: boolean[];
}

export class InverseKinematics {
  /** From the effectors inward; the first `turns` are angles, positions of roots follow. */
  private readonly links: Link[] = [];
  private readonly turns: number;

  constructor(
    private readonly rig: Rig,
    private readonly effectors: number[],
    private readonly solver: "dls" | "ccd",
  ) {
    const { parents } = rig;
    const below = (joint: number, i: number) => {
      while (i > joint) i = parents[i]!;
      return i === joint;
    };
    const moves = Array.from(parents, (_, joint) => effectors.map((i) => below(joint, i)));
    const add = (joint: number, channels: Iterable<number>) => {
      for (const channel of channels) if (channel >= 0) this.links.push({ channel, joint, moves: moves[joint]! });
    };
    const forks = (joint: number) => {
      const carried = effectors.filter((_, n) => moves[joint]![n]);
      return carried.some((a) => carried.some((b) => !below(a, b) && !below(b, a)));
    };
    const carries = (joint: number) => moves[joint]!.includes(true);
    for (let joint = parents.length - 1; joint >= 0; joint--) {
      if (carries(joint) && parents[joint]! >= 0 && !forks(joint)) add(joint, rig.axisChannel.slice(3 * joint, 3 * joint + 3).reverse());
    }
    this.turns = this.links.length;
    parents.forEach((parent, joint) => parent < 0 && carries(joint) && add(joint, rig.translation.subarray(3 * joint, 3 * joint + 3)));
  }

  /**
   * Values [frames * channels] with the effectors' points moved toward targets [frames * effectors * 3], in the
   * skeleton's unit; weights [frames * effectors] from 0 to 1 say how much each counts.
   */
  solve(values: Float64Array, frames: number, targets: Float64Array, weights: Float64Array, steps: number): Float64Array {
    const [out, width, count] = [values.slice(), this.rig.skeleton.channels.length, this.effectors.length];
    const limit = LARGEST_TURN / radiansPerAngle(this.rig.skeleton);
    for (let first = 0; first < frames && this.turns; first += BLOCK) {
      const rows = Math.min(BLOCK, frames - first);
      const part = out.subarray(first * width, (first + rows) * width);
      for (let n = 0; n < steps; n++) {
        const motion = derivativesOf(this.rig, part, rows);
        for (let t = 0; t < rows; t++) {
          const at = (first + t) * count;
          const [wanted, counts] = [targets.subarray(3 * at, 3 * (at + count)), weights.subarray(at, at + count)];
          const change = this.solver === "ccd" ? this.descend(motion, t, wanted, counts) : this.leastSquares(motion, t, wanted, counts);
          change.forEach((turn, link) => {
            part[t * width + this.links[link]!.channel]! += link < this.turns ? clamp(turn, limit) : turn;
          });
        }
      }
    }
    return out;
  }

  /** The step M⁻¹Jᵀ (J M⁻¹Jᵀ + λ I)⁻¹ r of one frame, M being what a turn costs the whole pose. */
  private leastSquares(motion: Derivatives, t: number, targets: Float64Array, weights: Float64Array): Float64Array {
    const [size, columns] = [3 * this.effectors.length, this.links.length];
    const jacobian = this.jacobian(motion, t, weights);
    const ease = this.ease(motion, t);
    const square = new Float64Array(size * size);
    let trace = 0;
    for (let r = 0; r < size; r++) {
      for (let c = 0; c <= r; c++) {
        let sum = 0;
        for (let n = 0; n < columns; n++) sum += jacobian[r * columns + n]! * jacobian[c * columns + n]! * ease[n]!;
        square[r * size + c] = square[c * size + r] = sum;
      }
      trace += square[r * size + r]!;
    }
    const damping = (DAMPING * trace) / size + 1e-12;
    for (let r = 0; r < size; r++) square[r * size + r]! += damping;
    const residual = Float64Array.from({ length: size }, (_, r) => {
      const effector = Math.floor(r / 3);
      return (targets[r]! - motion.points[3 * this.at(motion, t, this.effectors[effector]!) + (r % 3)]!) * weights[effector]!;
    });
    solveSymmetric(square, residual);
    return ease.map((own, n) => {
      let sum = 0;
      for (let r = 0; r < size; r++) sum += jacobian[r * columns + n]! * residual[r]!;
      return own * sum;
    });
  }

  /** [3 effectors * links] */
  private jacobian(motion: Derivatives, t: number, weights: Float64Array): Float64Array {
    const columns = this.links.length;
    const out = new Float64Array(3 * this.effectors.length * columns);
    this.links.forEach(({ channel, joint, moves }, link) => {
      const axis = motion.axes.subarray(3 * (t * motion.channels + channel));
      const origin = motion.origins.subarray(3 * this.at(motion, t, joint));
      moves.forEach((moved, effector) => {
        if (!moved) return;
        const point = motion.points.subarray(3 * this.at(motion, t, this.effectors[effector]!));
        const lever = [point[0]! - origin[0]!, point[1]! - origin[1]!, point[2]! - origin[2]!];
        const column = link < this.turns ? cross(axis, lever) : axis;
        for (let a = 0; a < 3; a++) out[(3 * effector + a) * columns + link] = column[a]! * weights[effector]!;
      });
    });
    return out;
  }

  private ease(motion: Derivatives, t: number): Float64Array {
    const cost = Float64Array.from(this.links, ({ channel }) => motion.diagonal[t * motion.channels + channel]!);
    let mean = 0;
    for (let n = 0; n < this.turns; n++) mean += cost[n]! / this.turns;
    return cost.map((own) => 1 / (own + 0.01 * mean + 1e-12));
  }

  /** One sweep over one frame: every angle in turn takes its best value for all effectors it moves. */
  private descend(motion: Derivatives, t: number, targets: Float64Array, weights: Float64Array): Float64Array {
    const points = this.effectors.map((joint) => Array.from(motion.points.subarray(3 * this.at(motion, t, joint)).subarray(0, 3)));
    return Float64Array.from(this.links.slice(0, this.turns), ({ channel, joint, moves }) => {
      const own = motion.axes.subarray(3 * (t * motion.channels + channel)).subarray(0, 3);
      const perUnit = Math.max(Math.sqrt(dot(own, own)), 1e-300);
      const axis = Array.from(own, (x) => x / perUnit);
      const origin = motion.origins.subarray(3 * this.at(motion, t, joint)).subarray(0, 3);
      const moved = moves.flatMap((isMoved, effector) => {
        if (!isMoved) return [];
        const arm = points[effector]!.map((x, a) => x - origin[a]!);
        const along = axis.map((x) => x * dot(axis, arm));
        const wanted = arm.map((_, a) => (targets[3 * effector + a]! - origin[a]!) * weights[effector]!);
        return [{ effector, along, away: arm.map((x, a) => x - along[a]!), side: cross(axis, arm), wanted }];
      });
      const sine = moved.reduce((sum, { side, wanted }) => sum + dot(side, wanted), 0);
      const cosine = moved.reduce((sum, { away, wanted }) => sum + dot(away, wanted), 0);
      const angle = Math.hypot(sine, cosine) > 1e-12 ? clamp(Math.atan2(sine, cosine), LARGEST_TURN) : 0;
      for (const { effector, along, away, side } of moved) {
        points[effector] = along.map((x, a) => origin[a]! + x + Math.cos(angle) * away[a]! + Math.sin(angle) * side[a]!);
      }
      return angle / perUnit;
    });
  }

  private at(motion: Derivatives, t: number, joint: number): number {
    return t * motion.joints + joint;
  }
}

const clamp = (value: number, most: number) => Math.min(Math.max(value, -most), most);
const dot = (a: ArrayLike<number>, b: ArrayLike<number>) => a[0]! * b[0]! + a[1]! * b[1]! + a[2]! * b[2]!;
const cross = (a: ArrayLike<number>, b: ArrayLike<number>) => [
  a[1]! * b[2]! - a[2]! * b[1]!,
  a[2]! * b[0]! - a[0]! * b[2]!,
  a[0]! * b[1]! - a[1]! * b[0]!,
];

/** b becomes A⁻¹ b, for positive definite A, which is spoilt (Cholesky). */
function solveSymmetric(a: Float64Array, b: Float64Array): void {
  const n = b.length;
  for (let c = 0; c < n; c++) {
    for (let r = c; r < n; r++) {
      let sum = a[r * n + c]!;
      for (let k = 0; k < c; k++) sum -= a[r * n + k]! * a[c * n + k]!;
      a[r * n + c] = r === c ? Math.sqrt(sum) : sum / a[c * n + c]!;
    }
  }
  for (let r = 0; r < n; r++) {
    for (let k = 0; k < r; k++) b[r]! -= a[r * n + k]! * b[k]!;
    b[r]! /= a[r * n + r]!;
  }
  for (let r = n - 1; r >= 0; r--) {
    for (let k = r + 1; k < n; k++) b[r]! -= a[k * n + r]! * b[k]!;
    b[r]! /= a[r * n + r]!;
  }
}
