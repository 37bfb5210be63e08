// The error over time, what is buffered, and where playing is; press or drag to seek.

import { themed } from "./colours.js";
import { length } from "./text.js";

export interface TimelineData {
  frames: number;
  frameTime: number;
  frame: number;
  /** Per frame, NaN where unknown; null without an original. */
  rms: Float32Array | null;
  largest: Float32Array | null;
  /** Per run: first frame, frames, and whether it is here. */
  runs: { first: number; frames: number; here: boolean }[];
}

const STRIP = 6;
const AXIS = 18;

export class Timeline {
  data: TimelineData | null = null;
  onSeek: (frame: number) => void = () => {};
  private dirty = true;

  constructor(
    private readonly box: HTMLElement,
    private readonly canvas: HTMLCanvasElement,
    private readonly hover: HTMLElement,
  ) {
    box.addEventListener("pointerdown", (event) => {
      box.setPointerCapture(event.pointerId);
      this.seek(event);
    });
    box.addEventListener("pointermove", (event) => {
      if (box.hasPointerCapture(event.pointerId)) this.seek(event);
      this.tell(event);
    });
    box.addEventListener("pointerleave", () => (hover.hidden = true));
    new ResizeObserver(() => (this.dirty = true)).observe(box);
  }

  /** Draws what has changed since the last time. */
  update(data: TimelineData, changed: boolean): void {
    const moved = this.data?.frame !== data.frame;
    this.data = data;
    if (!moved && !changed && !this.dirty) return;
    this.dirty = false;
    this.draw(data);
    this.box.setAttribute("aria-valuemax", String(data.frames - 1));
    this.box.setAttribute("aria-valuenow", String(data.frame));
    this.box.setAttribute("aria-valuetext", `frame ${data.frame} of ${data.frames}`);
  }

  redraw(): void {
    this.dirty = true;
  }

  private frameAt(event: PointerEvent): number {
    const { left, width } = this.box.getBoundingClientRect();
    const share = (event.clientX - left) / Math.max(width, 1);
    return Math.min(Math.max(Math.floor(share * this.data!.frames), 0), this.data!.frames - 1);
  }

  private seek(event: PointerEvent): void {
    if (this.data) this.onSeek(this.frameAt(event));
  }

  private tell(event: PointerEvent): void {
    const { data, hover } = this;
    if (!data || event.pointerType === "touch") return;
    const frame = this.frameAt(event);
    const error = data.rms?.[frame];
    const known = error !== undefined && !Number.isNaN(error);
    hover.textContent = `${(frame * data.frameTime).toFixed(2)} s${known ? ` · ${length(error)} rms, ${length(data.largest![frame]!)} at most` : ""}`;
    hover.hidden = false;
    const { left, width } = this.box.getBoundingClientRect();
    hover.style.left = `${Math.min(Math.max(event.clientX - left + 8, 0), width - hover.offsetWidth)}px`;
  }

  private draw(data: TimelineData): void {
    const { clientWidth: width, clientHeight: height } = this.box;
    const ratio = Math.min(devicePixelRatio, 3);
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const pen = this.canvas.getContext("2d")!;
    pen.scale(ratio, ratio);
    const css = getComputedStyle(document.documentElement);
    const colour = (name: string) => css.getPropertyValue(`--${name}`).trim();
    const bottom = height - AXIS;
    const x = (frame: number) => (frame / Math.max(data.frames, 1)) * width;

    pen.fillStyle = colour("paper");
    pen.fillRect(0, 0, width, bottom);
    this.axis(pen, data, colour("soft"), colour("line"), width, height);
    if (data.rms && data.largest) this.curves(pen, data, x, bottom - STRIP, colour);
    pen.fillStyle = colour("line");
    pen.fillRect(0, bottom - STRIP, width, STRIP);
    pen.fillStyle = colour("soft");
    for (const run of data.runs) {
      if (run.here) pen.fillRect(x(run.first), bottom - STRIP, x(run.first + run.frames) - x(run.first) + 0.5, STRIP);
    }
    pen.fillStyle = `#${themed("accent").getHexString()}`;
    pen.fillRect(x(data.frame + 0.5) - 1, 0, 2, bottom);
    pen.beginPath();
    pen.arc(x(data.frame + 0.5), bottom - STRIP / 2, 6, 0, 7);
    pen.fill();
    if (data.rms && data.largest) this.labels(pen, data, width, colour);
  }

  private curves(
    pen: CanvasRenderingContext2D,
    { rms, largest, frames }: TimelineData,
    x: (frame: number) => number,
    bottom: number,
    colour: (name: string) => string,
  ): void {
    // One column a pixel shows the worst frame of those it stands for, so that no peak is lost.
    const columns = Math.min(frames, Math.ceil(x(frames)));
    const peak = (values: Float32Array, column: number) => {
      let worst = NaN;
      const end = Math.max(Math.floor(((column + 1) * frames) / columns), Math.floor((column * frames) / columns) + 1);
      for (let f = Math.floor((column * frames) / columns); f < end; f++) {
        if (!(values[f]! <= worst)) worst = Number.isNaN(values[f]!) ? worst : values[f]!;
      }
      return worst;
    };
    const top = Math.max(...Array.from({ length: columns }, (_, c) => peak(largest!, c)).filter((v) => !Number.isNaN(v)), 1e-12);
    const y = (value: number) => bottom - (value / top) * (bottom - 14);
    const step = x(frames) / columns;
    const trace = (values: Float32Array) => {
      let open = false;
      for (let c = 0; c < columns; c++) {
        const value = peak(values!, c);
        if (Number.isNaN(value)) open = false;
        else if (open) pen.lineTo((c + 0.5) * step, y(value));
        else {
          pen.moveTo((c + 0.5) * step, y(value));
          open = true;
        }
      }
    };
    pen.fillStyle = colour("plot-fill");
    pen.beginPath();
    pen.moveTo(0, bottom);
    for (let c = 0; c < columns; c++) {
      const height = y(peak(rms!, c) || 0);
      pen.lineTo(c * step, height);
      pen.lineTo((c + 1) * step, height);
    }
    pen.lineTo(columns * step, bottom);
    pen.fill();
    pen.strokeStyle = colour("plot");
    pen.lineWidth = 1.5;
    pen.beginPath();
    trace(rms!);
    pen.stroke();
    pen.strokeStyle = colour("soft");
    pen.lineWidth = 1;
    pen.beginPath();
    trace(largest!);
    pen.stroke();
  }

  /** What the curves reach at most, over everything else. */
  private labels(pen: CanvasRenderingContext2D, { rms, largest }: TimelineData, right: number, colour: (name: string) => string): void {
    const most = (values: Float32Array) => values.reduce((top, value) => Math.max(top, value || 0), 0);
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    pen.strokeStyle = colour("paper");
    for (const [text, ink] of [
      [`largest ≤ ${length(most(largest!))}`, "soft"], [`rms ≤ ${length(most(rms!))}`, "plot"],
    ] as const) {
      pen.fillStyle = colour(ink);
      pen.strokeText(text, right - 4, 11);
      pen.fillText(text, right - 4, 11);
      right -= pen.measureText(text).width + 10;
    }
  }

  private axis(
    pen: CanvasRenderingContext2D,
    { frames, frameTime }: TimelineData,
    ink: string,
    line: string,
    width: number,
    height: number,
  ): void {
    const seconds = frames * frameTime;
    const wanted = seconds / Math.max(2, width / 90);
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= wanted) ?? power;
    pen.font = "11px system-ui, sans-serif";
    for (let t = 0; t < seconds - step / 1000; t += step) {
      const x = (t / seconds) * width;
      pen.fillStyle = line;
      pen.fillRect(x, 0, 1, height - AXIS + 4);
      pen.fillStyle = ink;
      pen.textAlign = t === 0 ? "left" : "center";
      const label = `${Number(t.toPrecision(6))} s`;
      if (x + pen.measureText(label).width / 2 < width) pen.fillText(label, x, height - 3);
    }
  }
}
