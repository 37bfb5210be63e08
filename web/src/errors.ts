// One error class for everything that reading and decoding can raise; `kind` says who is at fault.

export type ErrorKind = "corrupt" | "truncated" | "unsupported" | "limit" | "io" | "usage";

export class KineError extends Error {
  constructor(
    readonly kind: ErrorKind,
    message: string,
  ) {
    super(message);
    this.name = "KineError";
  }
}

export const corrupt = (message: string) => new KineError("corrupt", message);
export const truncated = (message: string) => new KineError("truncated", message);
export const unsupported = (message: string) => new KineError("unsupported", message);
export const usage = (message: string) => new KineError("usage", message);
export const ioFailure = (message: string) => new KineError("io", message);

/** Bounds on what an untrusted file may ask for, charged before anything is allocated. */
export const LIMITS = {
  joints: 10_000,
  channels: 100_000,
  frames: 50_000_000,
  vertices: 50_000_000,
  faces: 100_000_000,
  /** Numbers in one decoded array; also keeps arrays inside what a browser can allocate. */
  values: 250_000_000,
  segments: 10_000_000,
  clips: 1_000_000,
};

export function charge(what: keyof typeof LIMITS, amount: number): number {
  if (!(amount >= 0 && amount <= LIMITS[what])) {
    throw new KineError("limit", `the file declares ${amount} ${what}, the limit is ${LIMITS[what]}`);
  }
  return amount;
}

/** Runs what may take more memory than the browser gives, although all its sizes keep to the bounds. */
export function withinMemory<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof RangeError) throw new KineError("limit", "the file needs more memory than there is");
    throw error;
  }
}

export function isPlainObject(value: unknown): value is Record<string, any> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
