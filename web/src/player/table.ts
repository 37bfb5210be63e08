// Sizes, errors and energy of everything on show.

import { BANDWIDTHS, networkEnergy, rateName } from "./energy.js";
import { bytes, digits, length } from "./text.js";

export interface Row {
  name: string;
  codec: string;
  motionBytes: number;
  rawBytes: number;
  seconds: number;
  rms: number;
  largest: number;
  /** Frames decoded a second, NaN if not measured. */
  speed: number;
  /** Of a mesh: which processor decodes what is drawn, and the bytes that it keeps for that. */
  held: { by: "GPU" | "CPU"; bytes: number } | null;
}

const HEADS: [string, string][] = [
  ["", ""],
  ["size", "ratio"],
  ["rms error", "largest"],
  ["decoded", "poses/s"],
];
const HELD_HEADS = ["", "decoded by", "kept", "raw"].map((name): [string, string] => [name, ""]);
const ENERGY_HEADS = ["", ...BANDWIDTHS.map(rateName)].map((name): [string, string] => [name, ""]);

/** What the wireless card needs for each row. */
export function fillEnergy(table: HTMLTableElement, rows: Row[]): void {
  const cells = (row: Row) => BANDWIDTHS.map((rate) => [digits(networkEnergy(row.motionBytes, row.seconds, rate))]);
  fillPlain(table, "Energy of reception, mJ", ENERGY_HEADS, rows, cells);
}

/** What a mesh is drawn from; nothing for skeletons. */
export function fillHeld(table: HTMLTableElement, rows: Row[]): void {
  const meshes = rows.filter(({ held }) => held);
  table.hidden = !meshes.length;
  const cells = ({ held, rawBytes }: Row) => [[held!.by], [bytes(held!.bytes)], [bytes(rawBytes)]];
  fillPlain(table, "Memory to draw from", HELD_HEADS, meshes, cells);
}

function fillPlain(
  table: HTMLTableElement, title: string, heads: [string, string][], rows: Row[], cells: (row: Row) => string[][],
): void {
  const caption = document.createElement("caption");
  caption.textContent = title;
  const body = document.createElement("tbody");
  for (const row of rows) body.append(lineOf(row, cells(row)));
  table.replaceChildren(caption, headOf(heads), body);
}

export function fillTable(
  table: HTMLTableElement,
  rows: Row[],
  selected: number,
  onSelect: (row: number) => void,
  selectable: number,
): void {
  const focused = [...table.rows].indexOf(document.activeElement as HTMLTableRowElement);
  table.replaceChildren(headOf(HEADS), bodyOf(rows, selected, onSelect, selectable));
  table.rows[focused]?.focus();
}

function headOf(heads: [string, string][]): HTMLElement {
  const head = document.createElement("thead");
  const row = head.insertRow();
  for (const [name, unit] of heads) {
    const cell = document.createElement("th");
    cell.scope = "col";
    const small = document.createElement("small");
    small.textContent = unit;
    cell.append(name, small);
    row.append(cell);
  }
  return head;
}

function bodyOf(rows: Row[], selected: number, onSelect: (row: number) => void, selectable: number): HTMLElement {
  const body = document.createElement("tbody");
  rows.forEach((row, n) => {
    const line = lineOf(row, cellsOf(row));
    body.append(line);
    if (n === selected) line.setAttribute("aria-current", "true");
    if (n >= selectable) return;
    line.tabIndex = 0;
    line.addEventListener("click", () => onSelect(n));
    line.addEventListener("keydown", (event) => {
      if (event.key === "Enter") onSelect(n);
    });
  });
  return body;
}

/** A row of cells with one or two lines each. */
function lineOf(row: Row, cells: string[][]): HTMLTableRowElement {
  const line = document.createElement("tr");
  const name = document.createElement("th");
  name.scope = "row";
  name.title = `${row.name} ${row.codec}`;
  name.append(row.name, small(row.codec));
  line.append(name);
  for (const [first, second] of cells) {
    const cell = line.insertCell();
    cell.append(first!);
    if (second) cell.append(small(second));
  }
  return line;
}

function small(text: string): HTMLElement {
  const element = document.createElement("small");
  element.textContent = text;
  return element;
}

function cellsOf(row: Row): string[][] {
  return [
    [bytes(row.motionBytes), `${digits(row.rawBytes / row.motionBytes)} ×`],
    [length(row.rms), length(row.largest)],
    [digits(row.speed)],
  ];
}
