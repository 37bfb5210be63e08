// The page that compares codecs by the energy of reception: /energy/ of `kinepack serve`.

import { BANDWIDTHS, networkEnergy, rateName, RECEIVING, SLEEPING } from "../player/energy.js";
import { open } from "../reader.js";

interface Listed {
  path: string;
  kind: string;
}

/** One file at one rate. */
interface Measured {
  kbit: number;
  bytes: number;
  /** From the request to the last byte, best of three. */
  seconds: number;
  /** mJ, from the measured time. */
  receiving: number;
  sleeping: number;
  /** mJ that Eq. 11 gives for the bytes alone. */
  expected: number;
}

interface Row {
  path: string;
  codec: string;
  bytes: number;
  duration: number;
  frames: number;
  /** Seconds for all frames, best of three. */
  decoding: number;
  rates: Measured[];
}

declare global {
  interface Window {
    /** What was measured. */
    energy?: { rows: Row[]; done: boolean };
  }
}

const MOST_FILES = 16;
/** Times that each is measured; the shortest counts, as the others had the machine's other work in them. */
const ROUNDS = 3;
const element = (id: string) => document.getElementById(id)!;

/** The bytes of a file over a line of that rate, and how long they took. */
async function fetchAt(path: string, kbit: number): Promise<{ data: Uint8Array<ArrayBuffer>; seconds: number }> {
  const place = path.split("/").map(encodeURIComponent).join("/");
  const begun = performance.now();
  const answer = await fetch(`/files/${place}?kbit=${kbit}`, { cache: "no-store" });
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  const data = new Uint8Array(await answer.arrayBuffer());
  return { data, seconds: (performance.now() - begun) / 1000 };
}

async function measureRate(path: string, kbit: number, duration: number): Promise<Measured> {
  const { data, seconds: first } = await fetchAt(path, kbit);
  let seconds = first;
  for (let round = 1; round < ROUNDS; round++) seconds = Math.min(seconds, (await fetchAt(path, kbit)).seconds);
  const receiving = RECEIVING * seconds;
  const sleeping = SLEEPING * Math.max(0, duration - seconds);
  return { kbit, bytes: data.length, seconds, receiving, sleeping, expected: networkEnergy(data.length, duration, kbit) };
}

async function measureFile(path: string): Promise<Row> {
  const { data } = await fetchAt(path, BANDWIDTHS[BANDWIDTHS.length - 1]!);
  const clip = await (await open(data)).clip(0);
  let decoding = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const begun = performance.now();
    await clip.decode();
    decoding = Math.min(decoding, (performance.now() - begun) / 1000);
  }
  const { codec, duration, frames } = clip;
  const row: Row = { path, codec, bytes: data.length, duration, frames, decoding, rates: [] };
  for (const kbit of BANDWIDTHS) {
    element("status").textContent = `${path} at ${rateName(kbit)}…`;
    row.rates.push(await measureRate(path, kbit, duration));
  }
  return row;
}

async function filesToMeasure(): Promise<string[]> {
  const asked = new URLSearchParams(location.search).getAll("file");
  if (asked.length) return asked.slice(0, MOST_FILES);
  const { files } = (await (await fetch("/catalogue.json")).json()) as { files: Listed[] };
  return files.filter(({ kind }) => kind === "clip" || kind === "mesh").map(({ path }) => path).slice(0, MOST_FILES);
}

// What is shown.

function cell(tag: "td" | "th", text: string, small = ""): HTMLElement {
  const made = document.createElement(tag);
  made.textContent = text;
  if (small) made.append(Object.assign(document.createElement("small"), { textContent: small }));
  return made;
}

function line(cells: HTMLElement[]): HTMLElement {
  const made = document.createElement("tr");
  made.append(...cells);
  return made;
}

const total = ({ receiving, sleeping }: Measured) => receiving + sleeping;
const millijoule = (value: number) => value.toLocaleString("en", { maximumFractionDigits: 0 });
const time = (seconds: number) => (seconds < 1 ? `${(1000 * seconds).toFixed(seconds < 0.01 ? 1 : 0)} ms` : `${seconds.toFixed(2)} s`);

function showTable(rows: Row[]): void {
  const groups = ["", "", "", ...BANDWIDTHS.map(rateName)].map((text) => cell("th", text));
  for (const group of groups.slice(3)) group.setAttribute("colspan", "2");
  const head = ["Codec", "Bytes", "Decode", ...BANDWIDTHS.flatMap(() => ["Receive", "mJ"])];
  const body = rows.map((row) =>
    line([
      cell("td", row.codec, row.path),
      cell("td", row.bytes.toLocaleString("en")),
      cell("td", time(row.decoding), `${row.frames} frames`),
      ...row.rates.flatMap((one) => [cell("td", time(one.seconds)), cell("td", millijoule(total(one)), millijoule(one.expected))]),
    ]),
  );
  const thead = document.createElement("thead");
  thead.append(line(groups), line(head.map((text) => cell("th", text))));
  const tbody = document.createElement("tbody");
  tbody.append(...body);
  element("table").replaceChildren(thead, tbody);
}

const SVG = "http://www.w3.org/2000/svg";

function part(name: string, attributes: Record<string, string>, text = ""): Element {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function showBars(rows: Row[]): void {
  const bars: Element[] = [];
  for (const [n, kbit] of BANDWIDTHS.entries()) {
    const shown = rows.filter((row) => row.rates[n]);
    if (!shown.length) continue;
    const largest = Math.max(...shown.map((row) => total(row.rates[n]!)));
    bars.push(Object.assign(document.createElement("h2"), { textContent: rateName(kbit) }));
    for (const row of shown) {
      const { receiving, sleeping } = row.rates[n]!;
      const share = (value: number) => `${((80 * value) / largest).toFixed(2)}%`;
      const svg = part("svg", { role: "img", "aria-label": `${row.codec}: ${millijoule(receiving + sleeping)} mJ` });
      svg.append(
        part("rect", { class: "receive", width: share(receiving), height: "100%", rx: "2" }),
        part("rect", { class: "sleep", x: share(receiving), width: share(sleeping), height: "100%", rx: "2" }),
        part("text", { x: share(receiving + sleeping), y: "75%", dx: "6" }, millijoule(receiving + sleeping)),
      );
      bars.push(Object.assign(document.createElement("span"), { textContent: row.codec, title: row.path }), svg);
    }
  }
  element("bars").replaceChildren(...bars);
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

function tellFault(text: string): void {
  const fault = element("fault");
  fault.append(Object.assign(document.createElement("div"), { textContent: text }));
  fault.hidden = false;
}

async function measure(): Promise<void> {
  const start = element("start") as HTMLButtonElement;
  const found: { rows: Row[]; done: boolean } = (window.energy = { rows: [], done: false });
  start.disabled = true;
  element("fault").hidden = true;
  element("fault").textContent = "";
  try {
    for (const path of await filesToMeasure()) {
      element("status").textContent = `${path}…`;
      try {
        found.rows.push(await measureFile(path));
      } catch (error) {
        tellFault(`${path}: ${messageOf(error)}`); // one bad file does not hide the others
      }
      showTable(found.rows);
      showBars(found.rows);
    }
    element("status").textContent = found.rows.length ? "" : "There is no motion in this folder.";
    found.done = true;
  } catch (error) {
    tellFault(messageOf(error));
  }
  start.disabled = false;
}

element("start").addEventListener("click", () => void measure());
void measure();
