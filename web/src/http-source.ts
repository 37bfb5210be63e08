// A URL read by HTTP ranges. Bytes are usable as they arrive, nothing is fetched twice, and a download whose
// connection breaks goes on where it stopped.

import type { Bytes } from "./bytes.js";
import { ioFailure, KineError, truncated } from "./errors.js";
import { Pages } from "./pages.js";
import { type ByteSource, checkRange } from "./source.js";

export interface HttpOptions {
  /** Bytes asked for by the first request: it usually brings the skeleton, the index and the first segments. */
  firstRequest?: number;
  /** Least bytes of a later request. */
  readAhead?: number;
  /** Milliseconds without a single byte after which a lost connection is given up. */
  patience?: number;
  /** Told when the connection is lost and when bytes flow again. */
  onConnection?: (state: "lost" | "resumed") => void;
}

/** Bytes a second, as an average over the time in which something was being received. */
export class Throughput {
  bytes = 0;
  private weighted = 0;
  private weight = 0;

  add(bytes: number, ms: number): void {
    const keep = Math.exp(-ms / 4000);
    this.weighted = this.weighted * keep + bytes;
    this.weight = this.weight * keep + ms / 1000;
    this.bytes += bytes;
  }

  /** 0 until something has been measured. */
  get bytesPerSecond(): number {
    return this.weight > 0 ? this.weighted / this.weight : 0;
  }
}

interface Download {
  at: number;
  end: number;
  stop: AbortController;
  waiters: number;
}

const FIRST_BACKOFF_MS = 250;
const LONGEST_BACKOFF_MS = 4000;

export class HttpSource implements ByteSource {
  size = 0;
  readonly throughput = new Throughput();
  private readonly pages = new Pages();
  private downloads: Download[] = [];
  private arrival = new Set<() => void>();
  private failure: KineError | null = null;
  private etag: string | null = null;
  private readonly options: Required<Omit<HttpOptions, "onConnection">> & HttpOptions;

  private constructor(
    readonly url: string,
    options: HttpOptions,
  ) {
    this.options = { firstRequest: 1 << 14, readAhead: 1 << 12, patience: 60_000, ...options };
  }

  static async open(url: string, options: HttpOptions = {}): Promise<HttpSource> {
    const source = new HttpSource(url, options);
    const download = { at: 0, end: source.options.firstRequest, stop: new AbortController(), waiters: 0 };
    const answer = await source.request(download).catch((error: unknown) => {
      throw error instanceof KineError ? error : ioFailure(`cannot open ${url}: ${error}`);
    });
    const total = answer.headers.get("Content-Range")?.split("/")[1];
    source.size = Number(answer.status === 206 ? total : (answer.headers.get("Content-Length") ?? NaN));
    if (!Number.isSafeInteger(source.size)) {
      download.stop.abort();
      throw ioFailure(`${url}: the server does not tell the file's size`);
    }
    source.etag = answer.headers.get("ETag");
    download.end = answer.status === 206 ? Math.min(download.end, source.size) : source.size;
    source.downloads.push(download);
    void source.run(download, answer);
    return source;
  }

  async readAt(offset: number, size: number, signal?: AbortSignal): Promise<Bytes> {
    checkRange(this, offset, size);
    const end = offset + size;
    for (let at = this.pages.missing(offset); at < end; at = this.pages.missing(at)) {
      await this.waitFor(at, end, signal);
    }
    return this.pages.read(offset, size);
  }

  /** Ends downloads that nobody waits for, so that their bandwidth goes where it is needed. */
  cancelIdle(): void {
    for (const download of this.downloads) if (!download.waiters) download.stop.abort();
    this.downloads = this.downloads.filter((download) => download.waiters);
  }

  close(): void {
    this.failure ??= ioFailure("the file is closed");
    for (const download of this.downloads) download.stop.abort();
    this.downloads = [];
    this.wake();
  }

  private async waitFor(at: number, end: number, signal?: AbortSignal): Promise<void> {
    if (this.failure) throw this.failure;
    signal?.throwIfAborted();
    const download = this.downloads.find((d) => d.at <= at && at < d.end) ?? this.start(at, end);
    download.waiters++;
    try {
      await new Promise<void>((resolve) => {
        const done = () => {
          this.arrival.delete(done);
          signal?.removeEventListener("abort", done);
          resolve();
        };
        this.arrival.add(done);
        signal?.addEventListener("abort", done);
      });
    } finally {
      download.waiters--;
    }
    if (signal?.aborted) {
      this.cancelIdle();
      signal.throwIfAborted();
    }
  }

  private start(at: number, end: number): Download {
    const ahead = Math.max(end, at + this.options.readAhead);
    const download = {
      at,
      end: Math.min(ahead, this.size, this.pages.nextFilled(at)),
      stop: new AbortController(),
      waiters: 0,
    };
    this.downloads.push(download);
    void this.run(download, null);
    return download;
  }

  /** Receives a download to its end, over as many requests as it takes. */
  private async run(download: Download, answer: Response | null): Promise<void> {
    let backoff = FIRST_BACKOFF_MS;
    let silentSince = performance.now();
    let lost = false;
    while (download.at < download.end && !download.stop.signal.aborted && !this.failure) {
      const before = download.at;
      try {
        await this.receive(download, answer ?? (await this.request(download)), () => {
          if (lost) this.options.onConnection?.("resumed");
          lost = false;
        });
      } catch (error) {
        if (download.stop.signal.aborted) break;
        if (error instanceof KineError) this.failure = error;
      }
      answer = null;
      if (download.at > before) [backoff, silentSince] = [FIRST_BACKOFF_MS, performance.now()];
      if (download.at >= download.end || this.failure) break;
      if (!lost) this.options.onConnection?.("lost");
      lost = true;
      if (performance.now() - silentSince > this.options.patience) {
        this.failure = ioFailure(`${this.url}: the connection is lost`);
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, backoff));
      backoff = Math.min(2 * backoff, LONGEST_BACKOFF_MS);
    }
    this.downloads = this.downloads.filter((other) => other !== download);
    this.wake();
  }

  /** Errors that another try may mend are thrown as they come; a KineError is final. */
  private async request(download: Download): Promise<Response> {
    const headers = { Range: `bytes=${download.at}-${download.end - 1}` };
    const answer = await fetch(this.url, { headers, signal: download.stop.signal });
    if (answer.status === 429 || answer.status >= 500) {
      if (this.size) throw new Error(`status ${answer.status}`);
      throw ioFailure(`cannot open ${this.url}: the server answers ${answer.status}`);
    }
    if (answer.status === 416) throw truncated(`${this.url} is empty or shorter than it was`);
    if (!answer.ok) throw ioFailure(`cannot open ${this.url}: the server answers ${answer.status}`);
    if (this.etag && answer.headers.get("ETag") !== this.etag) throw ioFailure(`${this.url} has changed on the server`);
    return answer;
  }

  private async receive(download: Download, answer: Response, onBytes: () => void): Promise<void> {
    // A server without ranges sends the file from its start; what comes before the wanted place is dropped.
    let skip = answer.status === 206 ? 0 : download.at;
    let since = performance.now();
    const reader = answer.body!.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const now = performance.now();
      this.throughput.add(value.length, now - since);
      since = now;
      const fresh = value.subarray(Math.min(skip, value.length), Math.max(0, skip) + download.end - download.at);
      skip -= Math.min(skip, value.length);
      if (!fresh.length) continue;
      this.pages.write(download.at, fresh);
      download.at += fresh.length;
      onBytes();
      this.wake();
      if (download.at >= download.end) return void reader.cancel().catch(() => {});
    }
  }

  private wake(): void {
    for (const done of [...this.arrival]) done();
  }
}
