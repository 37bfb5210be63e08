// A body in two dimensions: bones of a skeleton or vertices of a mesh, seen from a side that can be turned. No WebGL: it
// runs on the weakest client.

import type { Rig } from "../kinematics.js";
import type { Frames, Layout } from "../model.js";

const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Share of the canvas that the body fills, and how quickly the camera follows it. */
const FILL = 0.62;
const FOLLOW = 0.08;

export class Figure {
  /** Radians about the vertical axis. */
  azimuth = 0.6;
  private readonly pen: CanvasRenderingContext2D;
  private readonly bones: [number, number][] = [];
  private points: Float64Array = new Float64Array(0);
  private size = 0;
  private low = Infinity;
  private centre: [number, number, number] | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly layout: Layout,
    private readonly rig: Rig | null,
  ) {
    this.pen = canvas.getContext("2d")!;
    if (layout.kind === "skeleton") layout.joints.forEach(({ parent }, joint) => parent >= 0 && this.bones.push([parent, joint]));
  }

  /** Positions of every frame, in centimetres: [frames, points, 3]. */
  place({ values, frames }: Frames): Float64Array {
    const { unitCm } = this.layout;
    if (!this.rig || !(values instanceof Float64Array)) return Float64Array.from(values, (x) => x * unitCm);
    const { points } = this.rig.pose(values, frames); // measured points: the far ends of bones where a rig has them
    return points.map((x) => x * unitCm);
  }

  /** Draws one frame of what `place` gave. */
  show(points: Float64Array, frame: number): void {
    const count = this.layout.kind === "skeleton" ? this.layout.joints.length : this.layout.vertices;
    this.points = points.subarray(3 * count * frame, 3 * count * (frame + 1));
    this.measure();
    this.draw();
  }

  draw(): void {
    const { canvas, pen, points } = this;
    const scale = devicePixelRatio || 1;
    const [width, height] = [Math.round(canvas.clientWidth * scale), Math.round(canvas.clientHeight * scale)];
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    pen.clearRect(0, 0, width, height);
    if (!points.length || !this.centre) return;
    const zoom = (FILL * Math.min(width, height)) / this.size;
    const [cos, sin] = [Math.cos(this.azimuth), Math.sin(this.azimuth)];
    const [cx, cy, cz] = this.centre;
    const across = (x: number, z: number) => width / 2 + zoom * (cos * (x - cx) - sin * (z - cz));
    const up = (y: number) => height / 2 - zoom * (y - cy);
    this.drawFloor(up(this.low), width, height);
    pen.lineCap = "round";
    pen.strokeStyle = pen.fillStyle = colour("--bar");
    pen.lineWidth = Math.max(2, zoom * this.size * 0.02);
    pen.beginPath();
    for (const [a, b] of this.bones) {
      pen.moveTo(across(points[3 * a]!, points[3 * a + 2]!), up(points[3 * a + 1]!));
      pen.lineTo(across(points[3 * b]!, points[3 * b + 2]!), up(points[3 * b + 1]!));
    }
    pen.stroke();
    const dot = this.bones.length ? pen.lineWidth * 0.75 : Math.max(1, scale);
    for (let i = 0; i < points.length; i += 3) {
      pen.beginPath();
      pen.arc(across(points[i]!, points[i + 2]!), up(points[i + 1]!), dot, 0, 2 * Math.PI);
      pen.fill();
    }
  }

  private drawFloor(y: number, width: number, height: number): void {
    const { pen } = this;
    pen.fillStyle = colour("--line");
    pen.fillRect(0, Math.min(y + 4, height), width, height);
  }

  /** The middle that the camera follows, the size and the floor. */
  private measure(): void {
    const { points } = this;
    const [low, high] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
    for (let i = 0; i < points.length; i++) {
      low[i % 3] = Math.min(low[i % 3]!, points[i]!);
      high[i % 3] = Math.max(high[i % 3]!, points[i]!);
    }
    this.size = Math.max(this.size, Math.hypot(...high.map((x, axis) => x - low[axis]!)), 1e-3);
    this.low = Math.min(this.low, low[1]!);
    const middle = high.map((x, axis) => (x + low[axis]!) / 2) as [number, number, number];
    const held = this.centre ?? middle;
    this.centre = held.map((x, axis) => x + FOLLOW * (middle[axis]! - x)) as [number, number, number];
  }
}
