// Raw DEFLATE and zlib data inside a codec's stream, at once and with a bound on what comes out.

import { Inflate, Unzlib } from "fflate";
import { type Bytes, concat } from "./bytes.js";
import { corrupt, truncated } from "./errors.js";

const PIECE = 1 << 14;

export const inflateRaw = (data: Bytes, most: number, dictionary?: Uint8Array) =>
  unpack(new Inflate({ dictionary }), data, most);
export const inflateZlib = (data: Bytes, most: number) => unpack(new Unzlib(), data, most);

function unpack(engine: Inflate | Unzlib, data: Bytes, most: number): Bytes {
  const parts: Uint8Array[] = [];
  let size = 0;
  let ended = false;
  engine.ondata = (part, final) => {
    parts.push(part.slice());
    size += part.length;
    ended ||= final;
    if (size > most) throw corrupt("the stream's deflated numbers are not of their size");
  };
  try {
    // In pieces, so that a bomb is noticed before it has gone off.
    for (let at = 0; at < data.length; at += PIECE) engine.push(data.subarray(at, at + PIECE), at + PIECE >= data.length);
  } catch (error) {
    if (error instanceof Error && error.name === "KineError") throw error;
    throw corrupt("the stream's deflated numbers are damaged");
  }
  if (!ended) throw truncated("the stream's deflated numbers are cut short");
  return concat(parts, size);
}
