// What the tests do in the browser. Each gets a page and options, and gives back plain data.

const LOADED = () => window.kinepack?.loaded?.copy.stream.complete;
const state = (page) =>
  page.evaluate(() => {
    const { frame, frames, time, playing, loop, speed, waiting, message, selected, loaded, stage } = window.kinepack;
    const stream = loaded?.copy.stream;
    return {
      frame, frames, time, playing, loop, speed, waiting, message, selected, view: stage.view, panes: stage.panes,
      stalls: stream?.stalls, ahead: stream?.ahead, complete: stream?.complete,
      errors: loaded?.comparison?.totals ?? null,
    };
  });

async function open(page, { url }) {
  await page.goto(url);
  await page.waitForFunction(LOADED, null, { timeout: 60_000 });
}

const until = (page, check, timeout = 60_000) => page.waitForFunction(check, null, { timeout });

/** Gives the page `plain`, which writes an array's bytes as base64. */
const givePlain = (page) =>
  page.addInitScript(() => {
    window.plain = (array) => {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      let text = "";
      for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
      return btoa(text);
    };
  });

/** Files decoded by the library alone: values and measured points of each. */
export async function decode(page, { url, library, files }) {
  await givePlain(page);
  await page.goto(url);
  const results = await page.evaluate(
    async ([library, files]) => {
      const { open } = await import(library);
      const found = [];
      for (const file of files) {
        try {
          const clip = await (await open(new URL(file, location.href).href)).clip(0);
          const frames = await clip.decode();
          const part = await clip.decode(Math.floor(clip.frames / 3), Math.floor(clip.frames / 3) + 1);
          const skeleton = clip.layout.kind === "skeleton";
          const points = skeleton ? plain((await clip.pose(frames)).points) : null;
          found.push({ codec: clip.codec, values: plain(frames.values), points, part: plain(part.values), skeleton });
        } catch (error) {
          found.push({ error: String(error), kind: error.kind });
        }
      }
      return found;
    },
    [library, files],
  );
  return { results };
}

/** The three.js loader, played by a mixer to a time. */
export async function load(page, { url, loader, file, seconds }) {
  await page.goto(url);
  return page.evaluate(
    async ([loader, file, seconds]) => {
      const { KineLoader, AnimationMixer, Vector3 } = await import(loader);
      const { clip, root, skeleton, mesh } = await new KineLoader().loadAsync(file);
      const mixer = new AnimationMixer(root);
      mixer.clipAction(clip).play();
      mixer.setTime(seconds);
      root.updateMatrixWorld(true);
      const points = skeleton
        ? skeleton.bones.map((bone) => bone.getWorldPosition(new Vector3()).toArray())
        : Array.from(mesh.geometry.getAttribute("position").array);
      return { points, duration: clip.duration, tracks: clip.tracks.length, scale: root.scale.x };
    },
    [loader, file, seconds],
  );
}

export async function play(page, options) {
  await open(page, options);
  const first = await state(page);
  await page.waitForTimeout(700);
  const later = await state(page);
  await page.keyboard.press(" ");
  await page.waitForTimeout(50);
  const paused = await state(page);
  await page.waitForTimeout(300);
  const still = await state(page);
  await page.keyboard.press("+");
  return { first, later, paused, still, faster: await state(page) };
}

export async function seek(page, options) {
  await open(page, options);
  await page.keyboard.press(" ");
  const box = await page.locator("#timeline").boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + 20);
  const middle = await state(page);
  await page.keyboard.press("ArrowRight");
  const next = await state(page);
  await page.keyboard.press("Home");
  const start = await state(page);
  await page.keyboard.press("End");
  return { middle, next, start, end: await state(page) };
}

export async function loop(page, options) {
  await open(page, options);
  await page.keyboard.press("End");
  await until(page, () => window.kinepack.frame < window.kinepack.frames - 1 && window.kinepack.playing);
  const looped = await state(page);
  await page.keyboard.press("l");
  await page.keyboard.press("End");
  await until(page, () => !window.kinepack.playing);
  return { looped, ended: await state(page) };
}

/** Pictures of a frame: before each, keys are pressed. Each with the page's state and what is drawn. */
export async function views(page, options) {
  await open(page, options);
  await page.waitForTimeout(300);
  await page.evaluate((frame) => {
    window.kinepack.playing = false;
    window.kinepack.seek(frame);
  }, options.frame ?? 0);
  const shots = [];
  for (const { name, keys, path } of options.shots) {
    for (const key of keys) await page.keyboard.press(key);
    await page.waitForTimeout(300);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    shots.push({ name, state: await state(page), overflow, lit: await lit(page) });
    await page.screenshot({ path, fullPage: Boolean(options.fullPage) });
  }
  return { shots, state: await state(page), held: await page.locator("#held").innerText() };
}

/** Pixels of the view in which something is drawn. */
const lit = (page) =>
  page.evaluate(() => {
    const view = document.getElementById("view");
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [view.width, view.height];
    const pen = copy.getContext("2d");
    return new Promise((done) =>
      requestAnimationFrame(() => {
        pen.drawImage(view, 0, 0);
        const { data } = pen.getImageData(0, 0, copy.width, copy.height);
        let count = 0;
        for (let i = 3; i < data.length; i += 4) if (data[i] > 200) count++;
        done(count);
      }),
    );
  });

export async function qualities(page, options) {
  await open(page, options);
  const count = await page.evaluate(() => window.kinepack.entries.length);
  await page.waitForFunction((n) => document.getElementById("rate").max === String(n - 1), count, { timeout: 60_000 });
  const steps = [];
  for (let n = 0; n < count; n++) {
    await page.locator("#rate").fill(String(n));
    await until(page, LOADED);
    await page.waitForTimeout(200);
    const { errors, selected } = await state(page);
    steps.push({ ...errors, selected, label: await page.locator("#rate-value").innerText() });
  }
  return { steps };
}

async function throttle(page, bytesPerSecond, latency = 0) {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const set = (offline, rate) =>
    session.send("Network.emulateNetworkConditions", { offline, latency, downloadThroughput: rate, uploadThroughput: -1 });
  await set(false, bytesPerSecond);
  return set;
}

/** A slow connection that is cut in the middle and comes back. The page itself comes fast: only the motion is slow. */
export async function cut(page, options) {
  let release;
  const slowed = new Promise((done) => (release = done));
  await page.route("**/session.json", async (route) => {
    await slowed;
    await route.continue();
  });
  await page.goto(options.url);
  const set = await throttle(page, options.rate);
  release();
  await until(page, () => window.kinepack?.loaded);
  await until(page, () => window.kinepack.loaded.copy.stream.have.some((n) => n > 0));
  const before = await state(page);
  await set(true, 0);
  await page.waitForFunction(() => document.getElementById("status").textContent.includes("lost"), null, { timeout: 60_000 });
  const during = await state(page);
  await set(false, -1);
  await until(page, LOADED);
  return { before, during, after: await state(page), status: await page.locator("#status").innerText() };
}

/** A stream over a slow connection (the address's own, or one throttled to `rate`): when it starts, whether it stalls. */
export async function stream(page, { url, library, file, rate, watch }) {
  await page.goto(url);
  if (rate) await throttle(page, rate, 20);
  return page.evaluate(
    async ([library, file, watch]) => {
      const { open, KineStream } = await import(library);
      const begun = performance.now();
      const clip = await (await open(new URL(file, location.href).href)).clip(0);
      let stream;
      await new Promise((done) => (stream = new KineStream(clip, { target: 10, onRun: done })));
      const pause = () => new Promise((done) => setTimeout(done, 10));
      const started = performance.now();
      const { source } = clip.file.container;
      const arrived = source.throughput.bytes;
      let stalled = 0;
      for (let now = started; now < started + watch * 1000; now = performance.now()) {
        const frame = clip.frameAt((now - started) / 1000);
        if (stream.have[clip.runAt(frame)] === 0) stalled++;
        stream.playAt(frame);
        await pause();
      }
      stream.close();
      const requests = performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(file)).length;
      const { bytes } = source.throughput;
      return { startMs: started - begun, stalled, duration: clip.duration, bytes, arrived, requests, ahead: stream.ahead };
    },
    [library, file, watch],
  );
}

/** What every number of layers decodes to, and what a stream makes of each run as its layers arrive, in that order. */
export async function layers(page, { url, library, file, rate }) {
  await givePlain(page);
  await page.goto(url);
  await throttle(page, rate);
  return page.evaluate(
    async ([library, file]) => {
      const { open, KineStream } = await import(library);
      const place = new URL(file, location.href).href;
      const clip = await (await open(place, { firstRequest: 2048 })).clip(0);
      const arrived = [];
      await new Promise((done) => {
        const stream = new KineStream(clip, {
          onRun: (run, values, layers) => {
            const { first, frames } = clip.runs[run];
            arrived.push({ run, first, frames, layers, values: plain(values) });
            if (stream.complete) done();
          },
        });
      });
      const whole = [];
      for (let n = 1; n <= clip.layers; n++) {
        whole.push(plain((await clip.decode(0, clip.frames, { layers: n })).values));
      }
      return { arrived, whole, layers: clip.layers, runs: clip.runs.length };
    },
    [library, file],
  );
}

/** A bundled application, until it has put what it found on the window. */
export async function application(page, { url, script }) {
  await page.goto(url);
  await page.addScriptTag({ url: script, type: "module" });
  await until(page, () => window.found);
  return page.evaluate(() => window.found);
}

/** Walks through the page with the tab key: what has the focus, its name, and whether that shows. Then turns the camera. */
export async function keyboard(page, options) {
  await open(page, options);
  await page.waitForTimeout(500);
  const stops = [];
  for (let n = 0; n < 40; n++) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => {
      const focus = document.activeElement;
      if (!focus || focus === document.body) return null;
      const box = focus.matches("[type=radio]") ? focus.closest("label") : focus;
      const name = focus.getAttribute("aria-label") ?? focus.labels?.[0]?.textContent ?? focus.textContent;
      const { outlineStyle, outlineWidth } = getComputedStyle(box);
      return { id: focus.id || focus.name || focus.tagName.toLowerCase(), name: name.trim(), shown: outlineStyle !== "none" && outlineWidth !== "0px" };
    });
    if (!stop) break;
    stops.push(stop);
  }
  await page.locator("#view").focus();
  const arm = () => page.evaluate(() => window.kinepack.stage.camera.position.clone().sub(window.kinepack.stage.controls.target).toArray());
  const arms = [await arm()];
  for (const key of ["d", "w", "z"]) await page.keyboard.press(key);
  await page.waitForTimeout(300);
  arms.push(await arm());
  const box = await page.locator("#view").boundingBox();
  await page.mouse.move(box.x + 300, box.y + 200);
  await page.mouse.down();
  await page.mouse.move(box.x + 400, box.y + 220, { steps: 5 });
  await page.mouse.up();
  await page.waitForTimeout(300);
  arms.push(await arm());
  const first = await state(page);
  await page.keyboard.press("q");
  await page.waitForTimeout(300);
  return { stops, arms, first, next: await state(page) };
}
