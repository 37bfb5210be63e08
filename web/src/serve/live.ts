// The page of a live stream: /watch/NAME/ of `kinepack serve`.

import { kernels } from "../kernels.js";
import { Rig } from "../kinematics.js";
import { type Hello, type LiveFrames, type LiveState, LiveStream } from "../live.js";
import { Figure } from "./figure.js";

declare global {
  interface Window {
    /** What the page knows, for those who test or embed it. */
    live?: LivePage;
  }
}

const element = (id: string) => document.getElementById(id)!;
const STATES: Record<LiveState, string> = {
  connecting: "connecting", playing: "live", lost: "connection lost, trying again…", ended: "the stream has ended", failed: "failed",
};

/** Frames of a segment that wait for their time. */
interface Shown {
  frames: LiveFrames;
  points: Float64Array;
  from: number;
}

class LivePage {
  readonly stream: LiveStream;
  /** Number of the frame on the screen since the stream began. */
  frame = -1;
  /** Milliseconds between the capture of a segment's first frame and its arrival here, by the two clocks. */
  age = 0;
  private figure: Figure | null = null;
  private frameTime = 1 / 60;
  private shown: Shown | null = null;

  constructor(name: string) {
    const url = new URL(`/live/${encodeURIComponent(name)}`, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    element("name").textContent = document.title = name;
    this.stream = new LiveStream(url.href, {
      onHello: (hello) => void this.greet(hello),
      onFrames: (frames) => this.take(frames),
      onState: (state) => this.tell(state),
    });
  }

  /** Shows the frame whose time has come. */
  tick(now: number): void {
    if (!this.shown) return;
    const { frames, points, from } = this.shown;
    const at = Math.min(Math.floor((now - from) / 1000 / this.frameTime), frames.frames - 1);
    if (at >= 0 && frames.first + at !== this.frame) {
      this.frame = frames.first + at;
      this.figure?.show(points, at);
    }
  }

  turn(radians: number): void {
    if (!this.figure) return;
    this.figure.azimuth += radians;
    this.figure.draw();
  }

  private async greet(hello: Hello): Promise<void> {
    const { layout } = hello;
    this.figure = this.shown = null; // frames of this hello are not of the body before
    this.frameTime = hello.frameTime;
    element("codec").textContent = `${hello.codec} ${hello.settings}`.trim();
    const rig = layout.kind === "skeleton" ? new Rig(layout, await kernels()) : null;
    this.figure = new Figure(element("view") as HTMLCanvasElement, layout, rig);
  }

  private take(frames: LiveFrames): void {
    if (!this.figure) return;
    this.age = Date.now() - frames.captured;
    this.shown = { frames, points: this.figure.place(frames), from: performance.now() };
    const rate = (8 * frames.bytes) / (frames.frames * this.frameTime) / 1000;
    element("rate").textContent = `${(1 / this.frameTime).toFixed(0)} Hz, ${rate.toFixed(1)} kbit/s`;
    element("age").textContent = `${this.age.toFixed(0)} ms from capture`;
    const { lost, bad } = this.stream.decoder;
    const segments = `${lost} ${lost === 1 ? "segment" : "segments"} lost`;
    element("lost").textContent = lost || bad ? `${segments}, ${bad} damaged` : "nothing lost";
  }

  private tell(state: LiveState): void {
    const { failure } = this.stream;
    element("state").textContent = state === "failed" && failure ? failure.message : STATES[state];
    element("state").dataset.state = state;
  }
}

const page = new LivePage(decodeURIComponent(location.pathname.split("/").filter(Boolean).pop() ?? ""));
window.live = page;
const view = element("view");
view.addEventListener("pointermove", (event) => event.buttons && page.turn(-event.movementX / 150));
view.addEventListener("keydown", ({ key }) => page.turn(key === "ArrowLeft" ? 0.15 : key === "ArrowRight" ? -0.15 : 0));
const draw = (now: number) => {
  page.tick(now);
  requestAnimationFrame(draw);
};
requestAnimationFrame(draw);
