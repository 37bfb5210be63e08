// A mesh animation that is kept as it came, a product: drawn from textures, and multiplied here for one frame at a time
// where its errors are measured.

import { centroidOf, multiplyFrame, type Product, type Rows, rowNumbers } from "../codecs/product.js";
import type { KineClip } from "../reader.js";
import { GpuFrames } from "../three/gpu-frames.js";

export class Factors {
  private readonly rows: (Rows | null)[];
  private readonly points: Float32Array;
  private readonly centroid: ReturnType<typeof centroidOf>;
  private multiplied = -1;

  private constructor(
    private readonly clip: KineClip,
    private readonly product: Product,
    /** Null once the graphics processor has refused it. */
    public gpu: GpuFrames | null,
  ) {
    this.rows = clip.runs.map(() => null);
    this.points = new Float32Array(3 * product.vertices);
    this.centroid = centroidOf(product);
  }

  /** Null for clips that are no product, or too large for textures. */
  static async of(clip: KineClip): Promise<Factors | null> {
    if (clip.layout.kind !== "mesh") return null;
    const product = await clip.product();
    const gpu = product && (await GpuFrames.of(clip));
    return gpu && new Factors(clip, product, gpu);
  }

  take(run: number, rows: Rows): void {
    const { first, frames } = this.clip.runs[run]!;
    this.rows[run] = rows;
    this.gpu?.take(first, rows, frames);
    this.multiplied = -1;
  }

  /** From now on the processor decodes what is drawn. */
  refuse(): void {
    this.gpu?.dispose();
    this.gpu = null;
  }

  get bytes(): number {
    if (this.gpu) return this.gpu.bytes;
    const rows = this.rows.reduce((sum, one) => sum + (one ? one.offsets.byteLength + one.values.byteLength : 0), 0);
    return this.product.fixed.byteLength + rows;
  }

  /** A run that stands still at the last frame before it. */
  hold(run: number): void {
    const { frames } = this.clip.runs[run]!;
    const [widthOffsets, widthValues] = [3 * this.product.clusters, rowNumbers(this.product)];
    const before = this.rows[run - 1];
    const rows = { offsets: new Float64Array(frames * widthOffsets), values: new Float64Array(frames * widthValues) };
    for (let t = 0; before && t < frames; t++) {
      rows.offsets.set(before.offsets.subarray(-widthOffsets), t * widthOffsets);
      rows.values.set(before.values.subarray(before.values.length - widthValues), t * widthValues);
    }
    this.take(run, rows);
  }

  /** [vertices * 3] of one frame in centimetres, until the next call. */
  at(frame: number): Float32Array {
    if (frame !== this.multiplied) {
      const { rows, t } = this.place(frame);
      if (rows) multiplyFrame(this.product, rows, t, this.points);
      else this.points.fill(0);
      const scale = this.clip.layout.unitCm;
      for (let i = 0; i < this.points.length; i++) this.points[i]! *= scale;
      this.multiplied = frame;
    }
    return this.points;
  }

  /** The mean of the vertices in centimetres. */
  middle(frame: number): number[] {
    const { rows, t } = this.place(frame);
    return rows ? this.centroid(rows, t).map((x) => x * this.clip.layout.unitCm) : [0, 0, 0];
  }

  private place(frame: number): { rows: Rows | null; t: number } {
    const run = this.clip.runAt(frame);
    return { rows: this.rows[run]!, t: frame - this.clip.runs[run]!.first };
  }
}
