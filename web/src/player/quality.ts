// The rate-distortion curve of one motion: a slider over its qualities, and the curve they lie on.

import type { Row } from "./table.js";
import { bytes, length } from "./text.js";

/** A quality: the entry that shows it, and its size and error. */
export interface Quality {
  entry: number;
  row: Row;
}

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [360, 116];
const EDGE = { left: 10, right: 10, top: 12, bottom: 32 };
/** Between the lowest point and the axis. */
const RISE = 8;

export class QualitySlider {
  /** Smallest first. */
  private steps: Quality[] = [];
  private selected = -1;

  constructor(
    private readonly box: HTMLElement,
    private readonly slider: HTMLInputElement,
    private readonly value: HTMLElement,
    private readonly curve: SVGSVGElement,
    private readonly onSelect: (entry: number) => void,
  ) {
    slider.addEventListener("input", () => this.pick(Number(slider.value)));
    curve.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    curve.addEventListener("pointerdown", (event) => this.press(event));
    curve.addEventListener("pointermove", (event) => event.buttons && this.press(event));
  }

  show(qualities: Quality[], selected: number): void {
    this.steps = [...qualities].sort((a, b) => a.row.motionBytes - b.row.motionBytes);
    this.selected = this.steps.findIndex(({ entry }) => entry === selected);
    this.box.hidden = this.steps.length < 2;
    if (this.box.hidden) return;
    this.slider.max = String(this.steps.length - 1);
    this.slider.value = String(this.selected);
    const row = this.steps[this.selected]?.row;
    const told = row ? `${bytes(row.motionBytes)}${Number.isNaN(row.rms) ? "" : ` · ${length(row.rms)} rms`}` : "";
    this.value.textContent = told;
    this.slider.setAttribute("aria-valuetext", told);
    this.draw();
  }

  /** The next better quality, or with -1 the next smaller one; from an end it goes on at the other. */
  move(places: number): void {
    const count = this.steps.length;
    if (count > 1) this.pick((this.selected + places + count) % count);
  }

  private pick(step: number): void {
    const chosen = this.steps[step];
    if (chosen && step !== this.selected) this.onSelect(chosen.entry);
  }

  private press(event: PointerEvent): void {
    const { left, width } = this.curve.getBoundingClientRect();
    const x = ((event.clientX - left) / width) * WIDTH;
    const places = this.steps.map(({ row }) => Math.abs(this.x(row) - x));
    this.pick(places.indexOf(Math.min(...places)));
  }

  private x(row: Row): number {
    const sizes = this.steps.map((step) => Math.log(step.row.motionBytes));
    const [low, high] = [Math.min(...sizes), Math.max(...sizes)];
    const share = (Math.log(row.motionBytes) - low) / (high - low || 1);
    return EDGE.left + share * (WIDTH - EDGE.left - EDGE.right);
  }

  private y(row: Row): number {
    const errors = this.steps.map((step) => logOf(step.row.rms)).filter((v) => !Number.isNaN(v));
    const [low, high] = [Math.min(...errors), Math.max(...errors)];
    return EDGE.top + ((high - logOf(row.rms)) / (high - low || 1)) * (HEIGHT - EDGE.top - EDGE.bottom - RISE);
  }

  private draw(): void {
    const known = this.steps.filter(({ row }) => !Number.isNaN(row.rms));
    this.curve.toggleAttribute("hidden", known.length < 2);
    if (known.length < 2) return;
    const points = known.map(({ row }) => [this.x(row), this.y(row)] as const);
    const floor = HEIGHT - EDGE.bottom;
    const path = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
    const parts = [
      element("path", { class: "under", d: `M${points[0]![0]} ${floor}L${path}L${points.at(-1)![0]} ${floor}Z` }),
      element("path", { class: "axis", d: `M0 ${floor + 0.5}H${WIDTH}` }),
      element("path", { class: "line", d: `M${path}` }),
    ];
    known.forEach(({ entry }, n) => {
      const own = entry === this.steps[this.selected]?.entry;
      parts.push(element("circle", { class: own ? "dot own" : "dot", cx: points[n]![0], cy: points[n]![1], r: own ? 7 : 4.5 }));
    });
    const told = ({ row }: Quality) => `${bytes(row.motionBytes)} · ${length(row.rms)}`;
    parts.push(text(told(known[0]!), 2, HEIGHT - 14, "start"), text(told(known.at(-1)!), WIDTH - 2, HEIGHT - 14, "end"));
    this.curve.replaceChildren(...parts);
  }
}

const logOf = (error: number) => Math.log(Math.max(error, 1e-6));

function element(name: string, attributes: Record<string, string | number>): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

function text(content: string, x: number, y: number, anchor: string): SVGElement {
  const made = element("text", { x, y, "text-anchor": anchor });
  made.textContent = content;
  return made;
}
