// What benches/web.py measures in the browser.

/** Frames a second of decoding alone, and with forward kinematics; the best of several rounds. */
export async function speed(page, { url, library, file, rounds }) {
  await page.goto(url);
  return page.evaluate(
    async ([library, file, rounds]) => {
      const { open } = await import(library);
      const bytes = await (await fetch(file)).arrayBuffer();
      const found = { decode: 0, pose: 0 };
      // The browser's clock is coarse: work is repeated until it fills a tenth of a second.
      const rate = async (frames, work) => {
        const begun = performance.now();
        let count = 0;
        do {
          await work();
          count += frames;
        } while (performance.now() - begun < 100);
        return (1000 * count) / (performance.now() - begun);
      };
      const clip = await (await open(bytes)).clip(0);
      for (let n = 0; n < rounds; n++) {
        found.decode = Math.max(found.decode, await rate(clip.frames, () => clip.decode()));
        if (clip.layout.kind !== "skeleton") continue;
        found.pose = Math.max(found.pose, await rate(clip.frames, async () => clip.pose(await clip.decode())));
      }
      return found;
    },
    [library, file, rounds],
  );
}
