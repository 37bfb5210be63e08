// Streams of the library over lines that are slow, or that break.

/** Plays by the clock from `from` seconds on: layers of each run when it was shown, and times that nothing was there. */
const PLAY = async ([library, file, options]) => {
  const { open, KineStream } = await import(library);
  const events = [];
  const clip = await (
    await open(new URL(file, location.href).href, { onConnection: (state) => events.push(state), ...options.http })
  ).clip(0);
  const arrived = [];
  const stream = new KineStream(clip, { ...options.stream, onRun: (run, _values, layers) => arrived.push([run, layers]) });
  const pause = () => new Promise((done) => setTimeout(done, 10));
  const at = (seconds) => clip.runAt(clip.frameAt(seconds));
  const until = async (check) => {
    const late = performance.now() + 60_000;
    while (!check() && performance.now() < late) await pause();
  };
  await until(() => stream.have[0] !== 0);
  let waitedForSeek = 0;
  if (options.seek) {
    const begun = performance.now();
    stream.playAt(clip.frameAt(options.seek));
    await until(() => stream.have[at(options.seek)] !== 0);
    waitedForSeek = performance.now() - begun;
  }
  const afterSeek = Array.from(stream.have);
  let stalled = 0;
  const shown = new Map();
  const started = performance.now();
  const from = options.seek ?? 0;
  const last = Math.min(clip.duration, from + (options.play ?? 0));
  for (let now = from; now < last; now = from + (performance.now() - started) / 1000) {
    const run = at(now);
    if (stream.have[run] === 0) stalled++;
    shown.set(run, stream.have[run]);
    stream.playAt(clip.frameAt(now));
    await pause();
  }
  if (options.whole) await until(() => stream.complete || stream.state === "failed");
  const { bytes } = clip.file.container.source.throughput;
  const found = { complete: stream.complete, state: stream.state, have: Array.from(stream.have), layers: clip.layers };
  stream.close();
  return { ...found, arrived, afterSeek, waitedForSeek, stalled, shown: [...shown], events, bytes, fileBytes: clip.file.bytes };
};

export async function playStream(page, { url, library, file, options }) {
  await page.goto(url);
  return page.evaluate(PLAY, [library, file, options]);
}
