// The bytes of a remote file that are here already: pages of memory, and the intervals of them that are filled.

import type { Bytes } from "./bytes.js";

const PAGE = 1 << 16;

export class Pages {
  private pages = new Map<number, Bytes>();
  /** Filled intervals [start, end), sorted, apart. */
  private filled: [number, number][] = [];

  write(offset: number, data: Uint8Array): void {
    for (let done = 0; done < data.length; ) {
      const at = offset + done;
      const number = Math.floor(at / PAGE);
      let page = this.pages.get(number);
      if (!page) this.pages.set(number, (page = new Uint8Array(PAGE)));
      const part = data.subarray(done, done + PAGE - (at % PAGE));
      page.set(part, at % PAGE);
      done += part.length;
    }
    this.mark(offset, offset + data.length);
  }

  read(offset: number, size: number): Bytes {
    const out = new Uint8Array(size);
    for (let done = 0; done < size; ) {
      const at = offset + done;
      const page = this.pages.get(Math.floor(at / PAGE))!;
      const part = page.subarray(at % PAGE, Math.min(PAGE, (at % PAGE) + size - done));
      out.set(part, done);
      done += part.length;
    }
    return out;
  }

  /** First byte at or after `offset` that is not here. */
  missing(offset: number): number {
    const hit = this.filled.find(([start, end]) => start <= offset && offset < end);
    return hit ? hit[1] : offset;
  }

  /** Where the next filled interval after `offset` starts. */
  nextFilled(offset: number): number {
    return this.filled.find(([start]) => start > offset)?.[0] ?? Infinity;
  }

  private mark(start: number, end: number): void {
    const apart = this.filled.filter(([a, b]) => b < start || a > end);
    for (const [a, b] of this.filled) {
      if (b >= start && a <= end) [start, end] = [Math.min(a, start), Math.max(b, end)];
    }
    this.filled = [...apart, [start, end] as [number, number]].sort((x, y) => x[0] - y[0]);
  }
}
