// The page around the 3D view: buttons, keys, time line, table. State lives in the Player; this shows and changes it.

import { RECEIVING, SLEEPING } from "./energy.js";
import { paintRamp } from "./colours.js";
import type { Loaded, Player } from "./player.js";
import { QualitySlider } from "./quality.js";
import type { View } from "./stage.js";
import { fillEnergy, fillHeld, fillTable, type Row } from "./table.js";
import { bytes, clock, digits, length } from "./text.js";
import { Timeline } from "./timeline.js";

/** More clips than these are measured only when they are shown. */
const MOST_MEASURED = 12;
/** Radians and distance of one press of a key. */
const [ORBIT, ZOOM] = [0.2, 1.15];
const VIEWS: View[] = ["overlay", "side", "copy", "original"];

function find<T extends HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element as T;
}

export class Controls {
  private readonly item = find<HTMLSelectElement>("item");
  private readonly speed = find<HTMLSelectElement>("speed");
  private readonly heat = find<HTMLInputElement>("heat");
  private readonly follow = find<HTMLInputElement>("follow");
  private readonly timeline = new Timeline(find("timeline"), find<HTMLCanvasElement>("plot"), find("hover"));
  private readonly quality: QualitySlider;
  private readonly measured = new Map<number, Loaded>();
  connection: "" | "lost" = "";

  constructor(private readonly player: Player) {
    const curve = document.querySelector<SVGSVGElement>("#curve")!;
    this.quality = new QualitySlider(find("quality"), find("rate"), find("rate-value"), curve, (entry) => void player.select(entry));
    this.fillItems();
    this.wire();
    document.addEventListener("keydown", (event) => this.key(event));
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => {
      player.stage.recolour();
      player.repaint();
      this.timeline.redraw();
    });
    paintRamp(find<HTMLCanvasElement>("ramp"));
    find("note").textContent =
      "Size: all bytes but the skeleton’s or the faces’. Ratio: raw (frames × numbers × 4 bytes) over size. Energy: of a " +
      `wireless card, ${RECEIVING} mW while it receives, ${SLEEPING} mW asleep.`;
    player.onChange = () => this.refresh();
  }

  /** Everything that moves with time. */
  tick(): void {
    const { player } = this;
    const { loaded } = player;
    if (!loaded) return;
    const { copy, comparison } = loaded;
    const possible = comparison?.possible ?? false;
    this.timeline.update(
      {
        frames: player.frames,
        frameTime: player.frameTime,
        frame: player.frame,
        rms: possible ? comparison!.rms : null,
        largest: possible ? comparison!.largest : null,
        runs: copy.clip.runs.map(({ first, frames }, n) => ({ first, frames, here: copy.stream.have[n] !== 0 })),
      },
      player.changed,
    );
    if (player.changed) this.refresh();
    player.changed = false;
    find("time").textContent = `${clock(player.time)} / ${clock(player.frames * player.frameTime)}`;
    const error = possible ? comparison!.rms[player.frame]! : NaN;
    find("frame").textContent = `frame ${player.frame}${Number.isNaN(error) ? "" : ` · error ${length(error)}`}`;
    find("status").textContent = this.status(loaded);
    document.body.classList.toggle("playing", player.playing);
  }

  /** Everything else. */
  refresh(): void {
    const { player } = this;
    const { loaded, stage } = player;
    const message = find("message");
    message.hidden = !player.message;
    message.textContent = player.message;
    this.item.value = String(player.selected);
    find("play").setAttribute("aria-label", player.playing ? "Pause" : "Play");
    find("loop").setAttribute("aria-pressed", String(player.loop));
    this.speed.value = String(player.speed);
    find("facts").textContent = loaded ? factsOf(loaded) : "";
    find("views").hidden = !player.session.reference;
    const paired = Boolean(loaded?.original);
    for (const input of document.querySelectorAll<HTMLInputElement>("[name=view]")) {
      input.checked = input.value === stage.view;
      input.disabled = !paired && input.value !== "copy";
    }
    this.heat.disabled = !loaded?.comparison?.possible;
    this.heat.closest("label")!.hidden = !player.session.reference;
    this.heat.checked = player.heat;
    find("legend").hidden = !player.heat || !loaded?.comparison?.possible;
    find("ramp-max").textContent = length(player.scale);
    this.caption(loaded);
    this.fillTable();
    this.showQualities();
  }

  /** Loads what the table compares, one after the other, when what is shown is all here. */
  async measure(): Promise<void> {
    const { player } = this;
    if (player.entries.length > MOST_MEASURED) return;
    await this.settled(() => player.loaded);
    for (const index of player.entries.keys()) {
      try {
        const loaded = await player.load(index);
        this.measured.set(index, loaded);
        await this.settled(() => loaded);
        this.refresh();
      } catch {
        continue; // told when it is selected
      }
    }
  }

  /** Until a clip and its original are complete, or never will be. */
  private async settled(which: () => Loaded | null): Promise<void> {
    const done = () => {
      const loaded = which();
      const streams = [loaded?.copy.stream, loaded?.original?.stream];
      return streams.every((stream) => !stream || stream.complete || stream.state === "failed");
    };
    while (!done()) await new Promise((resolve) => setTimeout(resolve, 100));
  }

  private status({ copy, entry }: Loaded): string {
    const { stream } = copy;
    if (this.connection === "lost") return "Connection lost, trying again…";
    if (this.player.waiting && stream.state !== "failed") return "Waiting for data…";
    if (stream.complete || !entry.item.url) return "";
    const rate = stream.throughput ? ` · ${bytes(Math.round(stream.throughput))}/s` : "";
    return `${stream.ahead.toFixed(1)} s ahead${rate}`;
  }

  private caption(loaded: Loaded | null): void {
    const { stage } = this.player;
    const stageBox = find("stage");
    const panes = stage.panes;
    stageBox.classList.toggle("side-row", panes === "row");
    stageBox.classList.toggle("side-column", panes === "column");
    stageBox.classList.toggle("overlay", stage.view === "overlay" && Boolean(loaded?.original));
    const both = stage.view === "overlay" || stage.view === "side";
    find("caption-a").textContent = loaded?.original && (both || stage.view === "original") ? "Original" : "";
    find("caption-b").textContent =
      loaded?.original && (both || stage.view === "copy") ? `${loaded.copy.clip.codec} · ${bytes(loaded.copy.bytes)}` : "";
  }

  private fillItems(): void {
    this.player.entries.forEach(({ label }, n) => this.item.add(new Option(label, String(n))));
    this.item.disabled = this.player.entries.length < 2;
  }

  private fillTable(): void {
    const { player } = this;
    if (player.loaded) this.measured.set(player.selected, player.loaded);
    const known = [...this.measured.keys()].sort((a, b) => a - b);
    const rows: Row[] = known.map((index) => player.rowOf(index, this.measured.get(index)!));
    const first = player.loaded ?? this.measured.values().next().value;
    if (first?.original) {
      const { clip } = first.original;
      rows.push({
        name: "Original", codec: "float32", motionBytes: clip.rawBytes, rawBytes: clip.rawBytes, seconds: clip.duration,
        rms: 0, largest: 0, speed: NaN, held: first.original.held,
      });
    }
    const select = (row: number) => void player.select(known[row]!);
    fillTable(find<HTMLTableElement>("table"), rows, known.indexOf(player.selected), select, known.length);
    fillEnergy(find<HTMLTableElement>("energy"), rows);
    fillHeld(find<HTMLTableElement>("held"), rows);
  }

  /** The qualities of the motion on show: clips that last as long and have the same points. */
  private showQualities(): void {
    const shown = this.player.loaded?.copy;
    const same = [...this.measured].filter(([, { copy }]) => {
      return copy.measured === shown?.measured && Math.abs(copy.clip.duration - shown.clip.duration) < copy.clip.frameTime;
    });
    this.quality.show(
      same.map(([entry, loaded]) => ({ entry, row: this.player.rowOf(entry, loaded) })),
      this.player.selected,
    );
  }

  private wire(): void {
    const { player } = this;
    const onClick = (id: string, action: () => void) => find(id).addEventListener("click", action);
    onClick("play", () => this.toggle());
    onClick("back", () => this.step(-1));
    onClick("forth", () => this.step(1));
    onClick("loop", () => this.toggleLoop());
    this.item.addEventListener("change", () => void player.select(Number(this.item.value)));
    this.speed.addEventListener("change", () => (player.speed = Number(this.speed.value)));
    this.heat.addEventListener("change", () => player.setHeat(this.heat.checked));
    this.follow.addEventListener("change", () => (player.stage.follow = this.follow.checked));
    find<HTMLInputElement>("z-up").addEventListener("change", (event) => {
      player.stage.zUp = (event.target as HTMLInputElement).checked;
      player.refit();
    });
    for (const input of document.querySelectorAll<HTMLInputElement>("[name=view]")) {
      input.addEventListener("change", () => player.setView(input.value as View));
    }
    this.timeline.onSeek = (frame) => player.seek(frame);
    new ResizeObserver(() => this.caption(player.loaded)).observe(find("stage"));
  }

  private toggle(): void {
    const { player } = this;
    if (!player.playing && !player.loop && player.frame === player.frames - 1) player.seek(0);
    player.playing = !player.playing;
    this.refresh();
  }

  private toggleLoop(): void {
    this.player.loop = !this.player.loop;
    this.refresh();
  }

  private step(frames: number): void {
    this.player.playing = false;
    this.player.seek(this.player.frame + frames);
  }

  private faster(places: number): void {
    const { options, selectedIndex } = this.speed;
    const place = Math.min(Math.max(selectedIndex + places, 0), options.length - 1);
    this.player.speed = Number(options[place]!.value);
    this.refresh();
  }

  private nextView(): void {
    const { stage, loaded } = this.player;
    if (loaded?.original) this.player.setView(VIEWS[(VIEWS.indexOf(stage.view) + 1) % VIEWS.length]!);
  }

  private key(event: KeyboardEvent): void {
    const { player } = this;
    const target = event.target as HTMLElement;
    const own = target.matches("select, input[type=range], input[type=radio]");
    if (event.ctrlKey || event.metaKey || event.altKey || (own && event.key.length > 1)) return;
    if (event.key === " " && target.matches("button, input, select, summary")) return;
    const second = Math.max(1, Math.round(1 / player.frameTime));
    const actions: Record<string, () => void> = {
      " ": () => this.toggle(),
      ArrowLeft: () => this.step(event.shiftKey ? -second : -1),
      ArrowRight: () => this.step(event.shiftKey ? second : 1),
      Home: () => player.seek(0),
      End: () => player.seek(player.frames - 1),
      "+": () => this.faster(1),
      "=": () => this.faster(1),
      "-": () => this.faster(-1),
      l: () => this.toggleLoop(),
      v: () => this.nextView(),
      h: () => !this.heat.disabled && player.setHeat(!player.heat),
      f: () => this.follow.click(),
      q: () => this.quality.move(event.shiftKey ? -1 : 1),
      a: () => player.stage.orbit(-ORBIT, 0, 1),
      d: () => player.stage.orbit(ORBIT, 0, 1),
      w: () => player.stage.orbit(0, ORBIT / 2, 1),
      s: () => player.stage.orbit(0, -ORBIT / 2, 1),
      z: () => player.stage.orbit(0, 0, 1 / ZOOM),
      x: () => player.stage.orbit(0, 0, ZOOM),
      "0": () => player.refit(),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }
}

function factsOf({ copy }: Loaded): string {
  const { clip } = copy;
  const points = clip.layout.kind === "mesh" ? "vertices" : "joints";
  const [frames, count] = [clip.frames.toLocaleString("en"), copy.measured.toLocaleString("en")];
  return `${frames} frames · ${digits(1 / clip.frameTime)} per second · ${count} ${points}`;
}
