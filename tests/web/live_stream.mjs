// `LiveStream` over a socket that the test holds in its hands: node live_stream.mjs LIBRARY < {"hello", "strange", "segments"}
import { readFileSync } from "node:fs";

const { LiveStream } = await import(process.argv[2]);
const given = JSON.parse(readFileSync(0, "utf8"));
const bytes = (text) => Uint8Array.from(Buffer.from(text, "base64")).buffer;
const [hello, strange] = [bytes(given.hello), bytes(given.strange)];
const segments = given.segments.map(bytes);

const sockets = [];
globalThis.WebSocket = class {
  static OPEN = 1;
  readyState = 1;
  sent = [];
  closed = false;
  constructor() {
    sockets.push(this);
  }
  send(text) {
    this.sent.push(text);
  }
  close(code = 1005, reason = "") {
    if (!this.closed) setTimeout(() => this.onclose({ code, reason }));
    this.closed = true;
  }
  take(...packets) {
    for (const data of packets) this.onmessage({ data });
  }
};

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function run(play) {
  sockets.length = 0;
  const [states, firsts] = [[], []];
  const options = { onFrames: ({ first }) => firsts.push(first), onState: (state) => states.push(state) };
  const stream = new LiveStream("ws://nowhere/live/stage", options);
  await play(stream);
  return { states, firsts, sockets: sockets.length, failure: stream.failure?.kind ?? null, lost: stream.decoder.lost };
}

const found = {
  strange: await run(async () => {
    sockets[0].take(strange, segments[0]);
    await pause(400);
  }),
  closed: await run(async (stream) => {
    sockets[0].take(hello, ...segments);
    stream.close();
    await pause(400);
  }),
  behind: await run(async () => {
    sockets[0].take(hello, segments[0], ...Array(20).fill(segments[1]), hello, segments[2]);
    sockets[0].close(1000);
    await pause(400);
  }),
  again: await run(async (stream) => {
    sockets[0].take(hello, segments[0]);
    sockets[0].close(1006);
    await pause(600);
    sockets[1]?.take(hello, segments[2]);
    await pause(200);
    stream.close();
  }),
};
// A timer that is left would keep this process alive: the test waits for its end.
console.log(JSON.stringify(found));
