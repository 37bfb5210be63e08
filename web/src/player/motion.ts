// A clip as points in centimetres, filled in as its runs of frames arrive.

import type { Rows } from "../codecs/product.js";
import { withinMemory } from "../errors.js";
import type { Rig } from "../kinematics.js";
import type { KineClip } from "../reader.js";
import { KineStream } from "../stream.js";
import { Factors } from "./factors.js";
import type { Row } from "./table.js";

/** Two drawn points, and the measured point whose error colours what is between them. */
export interface Segment {
  from: number;
  to: number;
  measured: number;
}

type Values = Float64Array | Float32Array;

export class Motion {
  /** Points drawn: joints, then bone ends and end sites; or vertices. */
  drawn: number;
  /** Points whose error counts: joints or vertices. */
  readonly measured: number;
  readonly segments: Segment[] = [];
  stream: KineStream<Values | Rows>;
  /** Told of every run of frames that has arrived; an original has one for each copy of it. */
  readonly listeners: ((first: number, count: number) => void)[] = [];
  onDamage: (error: unknown) => void = () => {};
  private readonly drawPoints: Float32Array;
  private readonly points: Float32Array;
  /** Drawn points beyond the joints: their joint and place in its frame. */
  private readonly extras: { joint: number; offset: number[] }[] = [];

  private constructor(
    readonly clip: KineClip,
    private readonly rig: Rig | null,
    /** Of a mesh that is drawn from its compressed form. */
    readonly factors: Factors | null,
    layers: number | undefined,
  ) {
    const { layout } = clip;
    this.measured = layout.kind === "skeleton" ? layout.joints.length : layout.vertices;
    this.drawn = this.measured;
    if (layout.kind === "skeleton") this.readSkeleton();
    const room = (points: number) => withinMemory(() => new Float32Array(3 * points * clip.frames));
    this.drawPoints = room(factors ? 0 : this.drawn);
    this.points = layout.kind === "mesh" ? this.drawPoints : room(this.measured);
    this.stream = new KineStream<Values | Rows>(clip, {
      ...(layers && { layers }),
      decode: (run, data) => (factors ? clip.rows(run, data) : clip.decodeBytes(run, data)),
      onRun: (run, values) => this.take(run, values),
      onDamage: (run, error) => {
        this.hold(run);
        this.onDamage(error);
      },
    });
  }

  static async open(clip: KineClip, layers?: number): Promise<Motion> {
    return new Motion(clip, clip.layout.kind === "skeleton" ? await clip.rig() : null, await Factors.of(clip), layers);
  }

  /** Bytes of the layers that are shown, without the skeleton or mesh. */
  get bytes(): number {
    return this.clip.motionBytesOf(this.stream.layers);
  }

  /** [drawn * 3] of one frame. */
  drawnAt(frame: number): Float32Array {
    if (this.factors) return this.factors.at(frame);
    return this.drawPoints.subarray(3 * this.drawn * frame, 3 * this.drawn * (frame + 1));
  }

  /** [measured * 3] of one frame. */
  measuredAt(frame: number): Float32Array {
    if (this.factors) return this.factors.at(frame);
    return this.points.subarray(3 * this.measured * frame, 3 * this.measured * (frame + 1));
  }

  /** Of a mesh: which processor decodes what is drawn, and the bytes that it keeps for that. */
  get held(): Row["held"] {
    if (this.clip.layout.kind !== "mesh") return null;
    return { by: this.factors?.gpu ? "GPU" : "CPU", bytes: this.factors?.bytes ?? this.drawPoints.byteLength };
  }

  /** Where the middle of what is drawn is. */
  middleAt(frame: number): number[] {
    if (this.factors) return this.factors.middle(frame);
    const points = this.drawnAt(frame);
    const sum = [0, 0, 0];
    for (let i = 0; i < points.length; i++) sum[i % 3]! += points[i]!;
    return sum.map((x) => x / Math.max(1, this.drawn));
  }

  close(): void {
    this.stream.close();
  }

  private readSkeleton(): void {
    const { layout } = this.clip;
    if (layout.kind !== "skeleton") return;
    const add = (joint: number, offset: number[]) => {
      this.extras.push({ joint, offset });
      this.segments.push({ from: joint, to: this.drawn++, measured: joint });
    };
    layout.joints.forEach((joint, index) => {
      const tip = joint.direction.map((d) => d * joint.length);
      if (tip.some((x) => x !== 0)) add(index, tip);
      for (const site of joint.endSites) add(index, site);
      const parent = layout.joints[joint.parent];
      if (!parent) return;
      const covered = joint.offset.every((x, axis) => Math.abs(x - parent.direction[axis]! * parent.length) < 1e-6);
      if (!covered) this.segments.push({ from: joint.parent, to: index, measured: index });
    });
  }

  private take(run: number, values: Values | Rows): void {
    const { first, frames } = this.clip.runs[run]!;
    if ("offsets" in values) this.factors!.take(run, values);
    else if (values instanceof Float32Array) this.takeVertices(first, values);
    else this.takePose(first, frames, values);
    this.tell(first, frames);
  }

  private takeVertices(first: number, values: Float32Array): void {
    const scale = this.clip.layout.unitCm;
    const at = 3 * this.measured * first;
    for (let i = 0; i < values.length; i++) this.drawPoints[at + i] = values[i]! * scale;
  }

  private takePose(first: number, frames: number, values: Float64Array): void {
    const { origins, points, rotations } = this.rig!.pose(values, frames);
    const scale = this.clip.layout.unitCm;
    const joints = this.measured;
    for (let t = 0; t < frames; t++) {
      const drawn = this.drawnAt(first + t);
      const measured = this.measuredAt(first + t);
      for (let i = 0; i < 3 * joints; i++) {
        drawn[i] = origins[3 * joints * t + i]! * scale;
        measured[i] = points[3 * joints * t + i]! * scale;
      }
      this.extras.forEach(({ joint, offset: [x, y, z] }, n) => {
        const m = 9 * (joints * t + joint);
        for (let axis = 0; axis < 3; axis++) {
          const turned = rotations[m + 3 * axis]! * x! + rotations[m + 3 * axis + 1]! * y! + rotations[m + 3 * axis + 2]! * z!;
          drawn[3 * (joints + n) + axis] = (origins[3 * (joints * t + joint) + axis]! + turned) * scale;
        }
      });
    }
  }

  private tell(first: number, frames: number): void {
    for (const listener of this.listeners) listener(first, frames);
  }

  /** A damaged run stands still at the last frame before it. */
  private hold(run: number): void {
    const { first, frames } = this.clip.runs[run]!;
    if (this.factors) this.factors.hold(run);
    for (let t = first; !this.factors && t < first + frames; t++) {
      this.drawnAt(t).set(this.drawnAt(Math.max(0, first - 1)));
      if (this.clip.layout.kind === "skeleton") this.measuredAt(t).set(this.measuredAt(Math.max(0, first - 1)));
    }
    this.tell(first, frames);
  }
}
