// The player's page.

import { Controls } from "./controls.js";
import { messageOf, Player } from "./player.js";
import { entriesOf, readSession } from "./session.js";
import { Stage } from "./stage.js";

declare global {
  interface Window {
    /** The running player, for pages that embed it. */
    kinepack?: Player;
  }
}

async function start(): Promise<void> {
  const session = await readSession();
  let controls: Controls | null = null;
  const entries = await entriesOf(session, (state) => {
    if (controls) controls.connection = state === "lost" ? "lost" : "";
  });
  if (!entries.length) throw new Error("There is no clip in the file.");
  if (session.title) document.title = session.title;
  const stage = new Stage(document.getElementById("view") as HTMLCanvasElement);
  stage.view = session.reference ? "overlay" : "copy";
  const player = new Player(stage, session, entries);
  controls = new Controls(player);
  window.kinepack = player;
  await player.select(0);
  player.playing = !matchMedia("(prefers-reduced-motion: reduce)").matches;
  let before = performance.now();
  const frame = (now: number) => {
    player.tick(Math.max(0, now - before) / 1000);
    controls!.tick();
    before = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  await controls.measure();
}

start().catch((error: unknown) => {
  const message = document.getElementById("message")!;
  message.textContent = messageOf(error);
  message.hidden = false;
});
