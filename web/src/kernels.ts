// The C kernels as WebAssembly (docs/kernels.md): the module is part of the bundle, memory is a stack of buffers.

import wasm from "kinepack.wasm";
import { corrupt, truncated, KineError } from "./errors.js";

type Numbers =
  | Uint8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;
type Maker<T> = { new (buffer: ArrayBuffer, offset: number, length: number): T; readonly BYTES_PER_ELEMENT: number };

const PAGE = 65536;
const SPARE_PAGES = 16;

export class Kernels {
  private next: number;

  private constructor(private readonly exports: any) {
    this.next = align(exports.__heap_base.value);
  }

  static async load(): Promise<Kernels> {
    const { instance } = await WebAssembly.instantiate(wasm as BufferSource, {});
    return new Kernels(instance.exports);
  }

  /** Runs `work`, then frees every buffer that it made. */
  scope<T>(work: () => T): T {
    const mark = this.next;
    try {
      return work();
    } finally {
      this.next = mark;
    }
  }

  /** A buffer of so many bytes; its content is whatever was there. */
  room(bytes: number): number {
    const address = this.next;
    const end = align(address + bytes);
    const missing = end - this.exports.memory.buffer.byteLength;
    if (missing > 0) this.grow(Math.ceil(missing / PAGE));
    this.next = end;
    return address;
  }

  private grow(pages: number): void {
    try {
      this.exports.memory.grow(pages + SPARE_PAGES);
    } catch {
      throw new KineError("limit", `the file needs ${pages * PAGE} more bytes of memory than there are`);
    }
  }

  /** A buffer that holds the numbers. */
  put(values: Numbers): number {
    const address = this.room(values.byteLength);
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    new Uint8Array(this.exports.memory.buffer, address, values.byteLength).set(bytes);
    return address;
  }

  /** Numbers in a buffer, valid until the next buffer is made. */
  view<T>(Type: Maker<T>, address: number, length: number): T {
    return new Type(this.exports.memory.buffer, address, length);
  }

  /** A size that a kernel tells. */
  size(name: string, ...values: number[]): number {
    return this.exports[name](...values);
  }

  /** Calls a kernel; a status below zero is an error about `what`. */
  call(name: string, what: string, ...values: (number | bigint)[]): void {
    const status: number = this.exports[name](...values);
    if (status === 0) return;
    if (status === -1) throw truncated(`${what} is cut short`);
    if (status === -2) throw corrupt(`${what} is damaged`);
    throw new KineError("corrupt", `${what} does not fit its clip (${status})`);
  }
}

/** Addresses reach up to 2^32, beyond what bit operations hold. */
const align = (address: number) => 16 * Math.ceil(address / 16);

let loaded: Promise<Kernels> | null = null;

/** The one instance of the module, made when it is first needed. */
export function kernels(): Promise<Kernels> {
  return (loaded ??= Kernels.load());
}
