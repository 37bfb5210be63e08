// What is shown and when: the chosen clip and its original, time, view, and the facts about them.

import { Color } from "three";
import { KineError } from "../errors.js";
import type { KineFile } from "../reader.js";
import { bodyOf } from "./bodies.js";
import { themed } from "./colours.js";
import { Comparison } from "./comparison.js";
import { Motion } from "./motion.js";
import { type Entry, openItem, originalOf, type Session } from "./session.js";
import { Stage, type View } from "./stage.js";
import type { Row } from "./table.js";

/** Above the largest part of the error scale nothing is told apart: 99 of 100 frames lie below it. */
const SCALE_QUANTILE = 0.99;
const OVERLAY_OPACITY = 0.62;

/** A loaded clip with its original, if there is one. */
export interface Loaded {
  entry: Entry;
  copy: Motion;
  original: Motion | null;
  comparison: Comparison | null;
}

export class Player {
  playing = false;
  loop = true;
  speed = 1;
  heat = false;
  /** Seconds. */
  time = 0;
  selected = -1;
  loaded: Loaded | null = null;
  /** Whether something other than time has changed since the last drawing. */
  changed = true;
  message = "";
  waiting = false;
  onChange: () => void = () => {};
  private readonly cache = new Map<number, Promise<Loaded>>();
  private readonly originals = new Map<number, Motion>();
  private referenceFile: Promise<KineFile> | null = null;
  private shownFrame = -1;
  private fitted = false;
  private errorScale = 1;

  constructor(
    readonly stage: Stage,
    readonly session: Session,
    readonly entries: Entry[],
  ) {
    stage.onRefusal = () => queueMicrotask(() => this.decodeHere()); // not in the middle of drawing
  }

  get frames(): number {
    return this.loaded?.copy.clip.frames ?? 1;
  }
  get frameTime(): number {
    return this.loaded?.copy.clip.frameTime ?? 1;
  }
  get frame(): number {
    return Math.min(this.frames - 1, Math.max(0, Math.floor(this.time / this.frameTime + 1e-6)));
  }

  /** Shows another clip at the same time, where it has one. */
  async select(index: number): Promise<void> {
    this.selected = index;
    this.message = "";
    this.onChange();
    try {
      const loaded = await this.load(index);
      if (this.selected !== index) return;
      const before = this.loaded;
      this.loaded = loaded;
      this.time = Math.min(this.time, (this.frames - 1) * this.frameTime);
      this.fitted &&= !before || sameBody(before.copy, loaded.copy);
      this.shownFrame = -1;
      this.stage.put(null, null);
      this.changed = true;
    } catch (error) {
      this.message = messageOf(error);
      this.stage.put(null, null);
      this.loaded = null;
    }
    this.onChange();
  }

  /** Loads without showing, for the table. */
  load(index: number): Promise<Loaded> {
    let loading = this.cache.get(index);
    if (!loading) this.cache.set(index, (loading = this.open(index)));
    return loading;
  }

  seek(frame: number): void {
    this.time = Math.min(Math.max(frame, 0), this.frames - 1) * this.frameTime;
    this.loaded?.copy.stream.playAt(this.frame);
    this.onChange();
  }

  /** One step of the clock and one picture. */
  tick(seconds: number): void {
    const { loaded } = this;
    if (loaded) {
      this.advance(seconds, loaded);
      this.show(loaded);
    }
    this.stage.render();
  }

  setView(view: View): void {
    this.stage.view = view;
    this.repaint();
  }

  setHeat(heat: boolean): void {
    this.heat = heat;
    this.repaint();
  }

  /** The whole scene in its present colours. */
  repaint(): void {
    this.shownFrame = -1;
    this.changed = true;
    this.onChange();
  }

  refit(): void {
    this.fitted = false;
    this.repaint();
  }

  /** Upper end of the error heat, in cm. */
  get scale(): number {
    return this.errorScale;
  }

  rowOf(index: number, loaded: Loaded): Row {
    const { clip } = loaded.copy;
    const totals = loaded.comparison?.possible ? loaded.comparison.totals : { rms: NaN, largest: NaN };
    const { seconds, frames } = clip.decoding;
    return {
      name: this.entries[index]!.short,
      codec: clip.settings ? `${clip.codec} ${clip.settings}` : clip.codec,
      motionBytes: loaded.copy.bytes,
      rawBytes: clip.rawBytes,
      seconds: clip.duration,
      rms: totals.rms,
      largest: totals.largest,
      speed: seconds > 0 ? frames / seconds : NaN,
      held: loaded.copy.held,
    };
  }

  private async open(index: number): Promise<Loaded> {
    const entry = this.entries[index]!;
    const clip = await entry.file.clip(entry.index);
    const copy = await Motion.open(clip, entry.layers);
    const original = this.session.reference ? await this.original(entry, copy) : null;
    const comparison = original ? new Comparison(copy, original) : null;
    const loaded = { entry, copy, original, comparison };
    copy.listeners.push((first, count) => {
      comparison?.forget(first, count);
      this.refresh(loaded, first, count);
    });
    copy.onDamage = (error) => {
      this.message = messageOf(error);
      this.onChange();
    };
    original?.listeners.push((first, count) => this.refresh(loaded, first, count));
    comparison?.update();
    return loaded;
  }

  private async original(entry: Entry, copy: Motion): Promise<Motion> {
    this.referenceFile ??= openItem(this.session.reference!, this.session);
    const file = await this.referenceFile;
    const clip = await originalOf(copy.clip, entry.index, file);
    const key = file.names.indexOf(clip.name);
    let motion = this.originals.get(key);
    if (!motion) this.originals.set(key, (motion = await Motion.open(clip)));
    return motion;
  }

  private refresh(loaded: Loaded, first: number, count: number): void {
    loaded.comparison?.update();
    if (loaded !== this.loaded) return;
    if (this.frame >= first && this.frame < first + count) this.shownFrame = -1;
    this.changed = true;
    this.onChange();
  }

  private advance(seconds: number, { copy }: Loaded): void {
    const end = this.frames * this.frameTime;
    this.waiting = !copy.stream.ready(this.frame);
    if (copy.stream.state === "failed") this.message = messageOf(copy.stream.failure);
    if (!this.playing || this.waiting) return;
    let next = this.time + Math.min(seconds, 0.25) * this.speed;
    if (next >= end) {
      if (this.loop) next %= end;
      else {
        next = (this.frames - 1) * this.frameTime;
        this.playing = false;
        this.onChange();
      }
    }
    const frame = Math.min(this.frames - 1, Math.floor(next / this.frameTime + 1e-6));
    if (!copy.stream.ready(frame)) {
      this.waiting = true;
      copy.stream.playAt(frame);
      return;
    }
    this.time = next;
    copy.stream.playAt(frame);
  }

  private show(loaded: Loaded): void {
    const { copy, original, comparison } = loaded;
    const { frame } = this;
    if (frame === this.shownFrame || copy.stream.have[copy.clip.runAt(frame)] === 0) return;
    if (!this.fitted) {
      this.stage.fit(copy, frame);
      this.fitted = true;
    }
    if (!this.stage.copy) this.putBodies(loaded);
    const twin = comparison?.originalFrame(frame) ?? 0;
    this.stage.copy!.show(frame);
    if (original && original.stream.have[original.clip.runAt(twin)] !== 0) this.stage.original?.show(twin);
    if (this.shownFrame === -1 || this.heat) this.paint(loaded, frame);
    this.stage.track(copy.middleAt(frame));
    this.shownFrame = frame;
  }

  private putBodies({ copy, original }: Loaded): void {
    const size = this.stage.bodySize;
    for (const motion of [copy, original]) {
      if ((motion?.factors?.gpu?.side ?? 0) > this.stage.longestTexture) motion!.factors!.refuse();
    }
    this.stage.put(original ? bodyOf(original, size) : null, bodyOf(copy, size));
  }

  /** Meshes whose shader does not run are decoded here instead. */
  private decodeHere(): void {
    for (const motion of [this.loaded?.copy, this.loaded?.original]) motion?.factors?.refuse();
    this.stage.put(null, null);
    this.repaint();
  }

  private paint({ comparison, copy }: Loaded, frame: number): void {
    const overlay = this.stage.view === "overlay" && this.stage.original !== null;
    const errors =
      this.heat && comparison?.possible ? comparison.distances(frame, new Float32Array(copy.measured)) : null;
    if (errors) this.errorScale = scaleOf(comparison!.largest);
    this.stage.original?.paint(themed("original"), null, 1);
    this.stage.original?.ghost(1);
    this.stage.copy!.paint(comparison ? themed("copy") : new Color(0x4c86c6), errors, this.errorScale);
    this.stage.copy!.ghost(overlay ? OVERLAY_OPACITY : 1);
  }
}

function scaleOf(largest: Float32Array): number {
  const known = Array.from(largest).filter((v) => !Number.isNaN(v)).sort((a, b) => a - b);
  return known[Math.floor(SCALE_QUANTILE * (known.length - 1))] || 1e-6;
}

/** Whether two motions are of the same thing, so that the camera may stay. */
function sameBody(a: Motion, b: Motion): boolean {
  return a.measured === b.measured && a.clip.frames === b.clip.frames;
}

export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return error instanceof KineError ? text[0]!.toUpperCase() + text.slice(1) + "." : text;
}
