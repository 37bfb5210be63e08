// The primitive fields of the format (docs/format.md), CRC-32 and inflate.

import { corrupt, KineError, truncated } from "./errors.js";

export type Bytes = Uint8Array<ArrayBuffer>;

/** Reads the format's primitive fields, never past the end. */
export class ByteReader {
  at = 0;
  constructor(readonly data: Bytes) {}

  get left(): number {
    return this.data.length - this.at;
  }

  take(size: number): Bytes {
    if (size > this.left) throw truncated(`the file needs ${size} more bytes where ${this.left} are left`);
    this.at += size;
    return this.data.subarray(this.at - size, this.at);
  }

  u8(): number {
    return this.take(1)[0]!;
  }

  u16(): number {
    const b = this.take(2);
    return b[0]! | (b[1]! << 8);
  }

  u32(): number {
    const b = this.take(4);
    return (b[0]! | (b[1]! << 8) | (b[2]! << 16) | (b[3]! << 24)) >>> 0;
  }

  f32(): number {
    const b = this.take(4);
    return new DataView(b.buffer, b.byteOffset, 4).getFloat32(0, true);
  }

  f64(): number {
    const b = this.take(8);
    return new DataView(b.buffer, b.byteOffset, 8).getFloat64(0, true);
  }

  /** Unsigned LEB128. Numbers that a float64 does not hold exactly are no sizes of ours. */
  varint(): number {
    let value = 0;
    for (let scale = 1, n = 0; n < 10; n++, scale *= 128) {
      const byte = this.u8();
      value += (byte & 127) * scale;
      if (byte < 128) {
        if (value > Number.MAX_SAFE_INTEGER) throw corrupt("a number in the file is too large");
        return value;
      }
    }
    throw corrupt("a number in the file is longer than 64 bits");
  }

  block(): Bytes {
    return this.take(this.varint());
  }

  text(): string {
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(this.block());
    } catch (error) {
      if (error instanceof TypeError) throw corrupt("a text in the file is not UTF-8");
      throw error;
    }
  }

  /** Seconds from one frame to the next, exactly as the writer had them. */
  frameTime(): number {
    const value = this.frameTimeField();
    if (!(value > 0 && value < Infinity)) throw corrupt("the frame time is not a positive number");
    return value;
  }

  private frameTimeField(): number {
    const kind = this.u8();
    if (kind === 0) return 1 / Math.max(this.varint(), 1);
    if (kind === 1) {
      const mantissa = this.varint();
      return Number(`${mantissa}e-${this.u8()}`); // parsed as decimal text, so the result is the nearest float64
    }
    if (kind === 2) return this.f64();
    throw corrupt(`unknown frame time form ${kind}`);
  }
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

/** CRC-32 as in zlib. */
export function crc32(data: Uint8Array): number {
  let crc = ~0;
  for (let i = 0; i < data.length; i++) crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ data[i]!) & 255]!;
  return ~crc >>> 0;
}

/** CRC-16 with polynomial 0x1021, from the highest bit, first state 0xFFFF. */
export function crc16(data: Uint8Array): number {
  let crc = 0xffff;
  for (let i = 0; i < data.length; i++) {
    crc ^= data[i]! << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

/** JSON of a file; whether it is what it should be is for others to check. */
export function parseJson(data: Bytes, what: string): any {
  try {
    return JSON.parse(new TextDecoder().decode(data));
  } catch {
    throw corrupt(`${what} cannot be read`);
  }
}

/** A zlib stream of at most `limit` bytes. */
export async function inflate(data: Bytes, limit: number): Promise<Bytes> {
  const reader = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > limit) throw corrupt("the file's static data is not of its declared size");
      parts.push(value);
    }
  } catch (error) {
    if (error instanceof KineError) throw error; // too large; anything else is what the stream thinks of its data
    throw corrupt("the file's static data cannot be decompressed");
  }
  return concat(parts, size);
}

export function concat(parts: Uint8Array[], size = parts.reduce((sum, part) => sum + part.length, 0)): Bytes {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Numbers of a fixed type out of bytes at any alignment; little-endian, as every platform of a browser is. */
export function floats64(data: Bytes): Float64Array {
  return new Float64Array(data.slice().buffer, 0, data.length >> 3);
}

export function floats32(data: Bytes): Float32Array {
  return new Float32Array(data.slice().buffer, 0, data.length >> 2);
}
