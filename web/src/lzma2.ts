// Raw LZMA2 data of a known size, as xz's stream filter writes it. The output is its own dictionary.

import { corrupt, truncated } from "./errors.js";

const STATES = 12;
const POSITIONS = 16;
const LENGTH_PROBS = 2 + 2 * POSITIONS * 8 + 256;

/** Bits of the range coder that LZMA uses: 11-bit probabilities that move by 1/32. */
class RangeDecoder {
  private range = 0;
  private code = 0;
  private at = 0;
  private end = 0;
  constructor(private readonly data: Uint8Array) {}

  start(at: number, size: number): void {
    if (size < 5 || at + size > this.data.length) throw truncated("a segment's LZMA data is cut short");
    const d = this.data;
    this.range = 0xffffffff;
    this.code = ((d[at + 1]! << 24) | (d[at + 2]! << 16) | (d[at + 3]! << 8) | d[at + 4]!) >>> 0;
    this.at = at + 5;
    this.end = at + size;
  }

  private normalize(): void {
    if (this.range >>> 24) return;
    if (this.at >= this.end) throw corrupt("a segment's LZMA data is damaged");
    this.range = (this.range << 8) >>> 0;
    this.code = ((this.code << 8) | this.data[this.at++]!) >>> 0;
  }

  bit(probs: Uint16Array, index: number): number {
    this.normalize();
    const p = probs[index]!;
    const bound = (this.range >>> 11) * p;
    if (this.code < bound) {
      this.range = bound;
      probs[index] = p + ((2048 - p) >>> 5);
      return 0;
    }
    this.range -= bound;
    this.code -= bound;
    probs[index] = p - (p >>> 5);
    return 1;
  }

  direct(count: number): number {
    let value = 0;
    for (; count > 0; count--) {
      this.normalize();
      this.range >>>= 1;
      const one = this.code >= this.range ? 1 : 0;
      if (one) this.code -= this.range;
      value = ((value << 1) | one) >>> 0;
    }
    return value;
  }

  tree(probs: Uint16Array, base: number, bits: number): number {
    let node = 1;
    for (let i = 0; i < bits; i++) node = (node << 1) | this.bit(probs, base + node);
    return node - (1 << bits);
  }

  reverseTree(probs: Uint16Array, base: number, bits: number): number {
    let node = 1;
    let value = 0;
    for (let i = 0; i < bits; i++) {
      const one = this.bit(probs, base + node);
      node = (node << 1) | one;
      value |= one << i;
    }
    return value;
  }
}

class Lzma {
  private readonly coder: RangeDecoder;
  private lc = 0;
  private lpMask = 0;
  private pbMask = 0;
  private state = 0;
  private reps = [0, 0, 0, 0];
  private readonly isMatch = new Uint16Array(STATES * POSITIONS);
  private readonly isRep = new Uint16Array(STATES * 4); // rep, rep0, rep1, rep2 of each state
  private readonly isRep0Long = new Uint16Array(STATES * POSITIONS);
  private readonly slots = new Uint16Array(4 * 64);
  private readonly special = new Uint16Array(128);
  private readonly alignment = new Uint16Array(16);
  private readonly matchLength = new Uint16Array(LENGTH_PROBS);
  private readonly repLength = new Uint16Array(LENGTH_PROBS);
  private literals = new Uint16Array(0);
  private dictionaryStart = 0;

  constructor(
    data: Uint8Array,
    private readonly out: Uint8Array,
  ) {
    this.coder = new RangeDecoder(data);
  }

  properties(byte: number): void {
    const lc = byte % 9;
    const lp = Math.floor(byte / 9) % 5;
    const pb = Math.floor(byte / 45);
    if (pb > 4 || lc + lp > 4) throw corrupt("a segment's LZMA data has impossible properties");
    [this.lc, this.lpMask, this.pbMask] = [lc, (1 << lp) - 1, (1 << pb) - 1];
    this.literals = new Uint16Array(0x300 << (lc + lp));
  }

  resetDictionary(at: number): void {
    this.dictionaryStart = at;
  }

  resetState(): void {
    this.state = 0;
    this.reps = [0, 0, 0, 0];
    const tables = [this.isMatch, this.isRep, this.isRep0Long, this.slots, this.special, this.alignment];
    for (const table of [...tables, this.matchLength, this.repLength, this.literals]) table.fill(1024);
  }

  /** Decodes out[from..to) from one chunk of `size` bytes. */
  chunk(at: number, size: number, from: number, to: number): void {
    if (!this.literals.length) throw corrupt("a segment's LZMA data has no properties");
    this.coder.start(at, size);
    for (let position = from; position < to; ) position = this.symbol(position, to);
  }

  private symbol(at: number, end: number): number {
    const { coder, state } = this;
    const slot = at & this.pbMask;
    if (!coder.bit(this.isMatch, state * POSITIONS + slot)) return this.literal(at);
    let length: number;
    if (!coder.bit(this.isRep, state * 4)) {
      this.reps = [0, this.reps[0]!, this.reps[1]!, this.reps[2]!];
      length = this.length(this.matchLength, slot);
      this.state = state < 7 ? 7 : 10;
      this.reps[0] = this.distance(length);
    } else {
      if (!coder.bit(this.isRep, state * 4 + 1)) {
        if (!coder.bit(this.isRep0Long, state * POSITIONS + slot)) {
          this.state = state < 7 ? 9 : 11;
          return this.copy(at, 1, end);
        }
      } else this.pickRep();
      length = this.length(this.repLength, slot);
      this.state = state < 7 ? 8 : 11;
    }
    return this.copy(at, length + 2, end);
  }

  private literal(at: number): number {
    const { coder, out, literals, state } = this;
    const before = at > this.dictionaryStart ? out[at - 1]! : 0;
    const base = 0x300 * (((at & this.lpMask) << this.lc) + (before >> (8 - this.lc)));
    let symbol = 1;
    if (state >= 7) {
      let match = this.byteAt(at, this.reps[0]!);
      do {
        const bit = (match >> 7) & 1;
        match = (match << 1) & 255;
        const got = coder.bit(literals, base + ((1 + bit) << 8) + symbol);
        symbol = (symbol << 1) | got;
        if (bit !== got) break;
      } while (symbol < 0x100);
    }
    while (symbol < 0x100) symbol = (symbol << 1) | coder.bit(literals, base + symbol);
    out[at] = symbol & 255;
    this.state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
    return at + 1;
  }

  private pickRep(): void {
    const { coder, state, reps } = this;
    const which = !coder.bit(this.isRep, state * 4 + 2) ? 1 : !coder.bit(this.isRep, state * 4 + 3) ? 2 : 3;
    const [picked] = reps.splice(which, 1);
    reps.unshift(picked!);
  }

  private length(probs: Uint16Array, slot: number): number {
    const { coder } = this;
    if (!coder.bit(probs, 0)) return coder.tree(probs, 2 + slot * 8, 3);
    if (!coder.bit(probs, 1)) return 8 + coder.tree(probs, 2 + POSITIONS * 8 + slot * 8, 3);
    return 16 + coder.tree(probs, 2 + 2 * POSITIONS * 8, 8);
  }

  private distance(length: number): number {
    const { coder } = this;
    const slot = coder.tree(this.slots, Math.min(length, 3) * 64, 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const high = ((2 | (slot & 1)) << bits) >>> 0;
    if (slot < 14) return high + coder.reverseTree(this.special, high - slot, bits);
    return high + coder.direct(bits - 4) * 16 + coder.reverseTree(this.alignment, 0, 4);
  }

  private byteAt(at: number, distance: number): number {
    if (distance >= at - this.dictionaryStart) throw corrupt("a segment's LZMA data points before its start");
    return this.out[at - distance - 1]!;
  }

  private copy(at: number, length: number, end: number): number {
    const { out } = this;
    const from = at - this.reps[0]! - 1;
    if (from < this.dictionaryStart || at + length > end) throw corrupt("a segment's LZMA data is damaged");
    for (let i = 0; i < length; i++) out[at + i] = out[from + i]!;
    return at + length;
  }
}

/** The first `size` bytes of raw LZMA2 data. */
export function decodeLzma2(data: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(size);
  const lzma = new Lzma(data, out);
  let at = 0;
  let written = 0;
  const next = () => {
    if (at >= data.length) throw truncated("a segment's LZMA data is cut short");
    return data[at++]!;
  };
  while (written < size) {
    const control = next();
    if (control === 0) throw truncated("a segment's LZMA data is cut short");
    if (control < 0x80 && control > 2) throw corrupt("a segment's LZMA data is damaged");
    const plain = (control < 0x80 ? 0 : (control & 31) << 16) + (next() << 8) + next() + 1;
    if (written + plain > size) throw corrupt("a segment's LZMA data is longer than its frames");
    if (control < 0x80) {
      if (control === 1) lzma.resetDictionary(written);
      if (at + plain > data.length) throw truncated("a segment's LZMA data is cut short");
      out.set(data.subarray(at, at + plain), written);
      at += plain;
    } else {
      const packed = (next() << 8) + next() + 1;
      const reset = (control >> 5) & 3;
      if (reset === 3) lzma.resetDictionary(written);
      if (reset >= 2) lzma.properties(next());
      if (reset >= 1) lzma.resetState();
      lzma.chunk(at, packed, written, written + plain);
      at += packed;
    }
    written += plain;
  }
  return out;
}
