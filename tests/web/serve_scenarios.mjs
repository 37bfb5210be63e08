// What the tests do with the pages of `kinepack serve`.

const poll = (page, check, timeout = 30_000) => page.waitForFunction(check, null, { timeout });

const look = (page) =>
  page.evaluate(() => {
    const { stream, frame, age } = window.live;
    const { state, decoder, bytes } = stream;
    return { state, frame, age, bytes, lost: decoder.lost, bad: decoder.bad, codec: decoder.hello?.codec };
  });

/** Pixels of the live view that are not clear. */
const lit = (page) =>
  page.evaluate(() => {
    const view = document.getElementById("view");
    const { data } = view.getContext("2d").getImageData(0, 0, view.width, view.height);
    let count = 0;
    for (let i = 3; i < data.length; i += 4) if (data[i] > 200) count++;
    return count;
  });

/** The page of a live stream: joins, plays on, comes back after a cut. */
export async function watchLive(page, { url }) {
  await page.goto(url);
  await poll(page, () => window.live?.frame >= 0);
  const joined = await look(page);
  await page.waitForTimeout(1000);
  const later = await look(page);
  await page.evaluate(() => window.live.stream.socket.close());
  await poll(page, () => window.live.stream.state === "lost");
  const cut = await look(page);
  await poll(page, () => window.live.stream.state === "playing");
  await page.waitForTimeout(300);
  return { joined, later, cut, back: await look(page), lit: await lit(page), footer: await page.locator("footer").innerText() };
}

/** The same with packets that are dropped and damaged on the way. */
export async function damagedLive(page, { url }) {
  await page.addInitScript(() => {
    let count = 0;
    // Every third packet is lost, every seventh has a wrong byte, from the fourth on.
    window.WebSocket = class extends window.WebSocket {
      set onmessage(handler) {
        super.onmessage = (event) => {
          count++;
          if (count > 3 && count % 3 === 0) return;
          if (count > 3 && count % 7 === 0) new Uint8Array(event.data)[event.data.byteLength - 1] ^= 1;
          handler(event);
        };
      }
    };
  });
  await page.goto(url);
  await poll(page, () => window.live?.stream.decoder.bad > 1);
  const damaged = await look(page);
  await poll(page, () => window.live.stream.decoder.bad > 2);
  return { damaged, later: await look(page) };
}

/** Segments as the browser decodes them, next to Python's. */
export async function liveValues(page, { url, library, packets }) {
  await page.goto(url);
  return page.evaluate(
    async ([library, packets]) => {
      const { LiveDecoder } = await import(library);
      const decoder = new LiveDecoder();
      const windows = [];
      for (const text of packets) {
        const found = await decoder.feed(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
        if (found) windows.push({ first: found.first, lost: found.lost, values: Array.from(found.values) });
      }
      return { windows, lost: decoder.lost, bad: decoder.bad, ended: decoder.ended };
    },
    [library, packets],
  );
}

/** The page of energies, until all is measured. */
export async function energyPage(page, { url, throttle }) {
  if (throttle) {
    const session = await page.context().newCDPSession(page);
    await session.send("Network.enable");
    const conditions = { offline: false, latency: 0, downloadThroughput: throttle, uploadThroughput: -1 };
    await page.route("**/files/**", async (route) => {
      await session.send("Network.emulateNetworkConditions", conditions);
      await route.continue();
    });
  }
  await page.goto(url);
  await poll(page, () => window.energy?.done, 120_000);
  return {
    rows: await page.evaluate(() => window.energy.rows),
    table: await page.locator("#table").innerText(),
    bars: await page.locator("#bars svg").count(),
    overflow: await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
  };
}

/** The catalogue by hand: what it shows, and that its pictures are there. */
export async function catalogue(page, { url }) {
  await page.goto(url);
  const pictures = await page.$$eval("li img", (all) => Promise.all(all.map((one) => one.decode().then(() => one.naturalWidth, () => 0))));
  return { pictures, titles: await page.$$eval("h3", (all) => all.map((one) => one.textContent)), scripts: await page.locator("script").count() };
}
