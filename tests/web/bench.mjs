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

/** Frames a second of a mesh: decoded by the processor, by the graphics processor, and there from data it already holds. */
export async function meshSpeed(page, { url, library, file, rounds }) {
  await page.goto(url);
  return page.evaluate(
    async ([library, file, rounds]) => {
      const { GpuDecoder, open } = await import(library);
      const clip = await (await open(await (await fetch(file)).arrayBuffer())).clip(0);
      const decoder = await GpuDecoder.load(clip);
      const { gl, planes } = decoder;
      const one = new Float32Array(3 * planes.vertices);
      const computeAll = () => {
        for (let t = 0; t < clip.frames; t++) decoder.compute(t);
        decoder.decode(clip.frames - 1, one); // reading back waits until everything is done
      };
      const work = {
        cpu: () => clip.decode(),
        gpu: async () => {
          for (const [n, { first, frames }] of clip.runs.entries()) {
            planes.put(first, await clip.rows(n), frames);
            decoder.update(first, frames);
          }
          computeAll();
        },
        held: computeAll,
      };
      const found = { gpu_bytes: planes.bytes, raw_bytes: clip.rawBytes, components: 4 * planes.quads };
      for (const [name, run] of Object.entries(work)) {
        let best = 0;
        for (let n = 0; n < rounds; n++) {
          const begun = performance.now();
          await run();
          best = Math.max(best, (1000 * clip.frames) / (performance.now() - begun));
        }
        found[`${name}_frames_s`] = Math.round(best);
      }
      const about = gl.getExtension("WEBGL_debug_renderer_info");
      found.renderer = about ? gl.getParameter(about.UNMASKED_RENDERER_WEBGL) : gl.getParameter(gl.RENDERER);
      return found;
    },
    [library, file, rounds],
  );
}
