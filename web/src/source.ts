// Where a file's bytes come from: memory, a File or Blob, or a URL (http-source.ts).

import type { Bytes } from "./bytes.js";
import { truncated } from "./errors.js";

export interface ByteSource {
  readonly size: number;
  /** Exactly `size` bytes, or an error. */
  readAt(offset: number, size: number, signal?: AbortSignal): Promise<Bytes>;
  close(): void;
}

export class BytesSource implements ByteSource {
  readonly size: number;
  constructor(private readonly data: Bytes) {
    this.size = data.length;
  }

  async readAt(offset: number, size: number): Promise<Bytes> {
    checkRange(this, offset, size);
    return this.data.subarray(offset, offset + size);
  }

  close(): void {}
}

export class BlobSource implements ByteSource {
  readonly size: number;
  constructor(private readonly blob: Blob) {
    this.size = blob.size;
  }

  async readAt(offset: number, size: number): Promise<Bytes> {
    checkRange(this, offset, size);
    return new Uint8Array(await this.blob.slice(offset, offset + size).arrayBuffer());
  }

  close(): void {}
}

export function checkRange(source: ByteSource, offset: number, size: number): void {
  if (offset + size > source.size) throw truncated(`the file ends at byte ${source.size}, needed ${offset + size}`);
}
