// Codecs of the BAP family that end in single-precision poses: `mpeg4-float`, `frame-drop`, `bap-indexing` and
// `sparse-indexing` (docs/codecs).

import { ByteReader, type Bytes } from "../bytes.js";
import { corrupt, truncated } from "../errors.js";
import type { Kernels } from "../kernels.js";
import { widthOf } from "../model.js";
import type { Codec } from "./base.js";

/** More than the surest symbols a byte can hold. */
const SYMBOLS_PER_BYTE = 1500;

function decodePoses(data: Bytes, frames: number, width: number, k: Kernels): Float64Array {
  const symbols = 4 * (frames - 1) * width;
  if (data.length < 4 * (1 + width) || symbols > SYMBOLS_PER_BYTE * (data.length + 8)) {
    throw truncated("a segment is too short for its frames");
  }
  return k.scope(() => {
    const [bytes, scratch, tables] = [k.put(data), k.room(2 * symbols + 2), k.room(4 * 257)];
    const out = k.room(4 * frames * width);
    k.call("kp_float_frames_decode", "a segment", bytes, data.length, frames, width, scratch, tables, out);
    return Float64Array.from(k.view(Float32Array, out, frames * width));
  });
}

export const mpeg4Float: Codec = {
  id: "mpeg4-float",
  version: 1,
  open: (layout, _record, k) => ({
    decode: ({ frames, data }) => decodePoses(data[0]!, frames, widthOf(layout), k),
  }),
};

/** The share of frames that `frame-drop` keeps is counted in these. */
const UNIT = 2 ** 20;

export const frameDrop: Codec = {
  id: "frame-drop",
  version: 1,
  open(layout, { setup }, k) {
    const head = new ByteReader(setup);
    const [interpolate, share] = [head.u8(), head.u32()];
    if (interpolate > 1 || !(share > 0 && share <= UNIT)) throw corrupt("the setup keeps an impossible share of the frames");
    const width = widthOf(layout);
    return {
      decode({ frames, data }) {
        const kept = keptFrames(frames, share, interpolate === 1);
        return fill(decodePoses(data[0]!, kept.length, width, k), kept, frames, width, interpolate === 1);
      },
    };
  },
};

/** Frames at which the running share passes a whole number; the last one too where it is interpolated to. */
function keptFrames(frames: number, share: number, interpolate: boolean): number[] {
  const kept: number[] = [];
  let before = -1;
  for (let t = 0; t < frames; t++) {
    const whole = Math.floor((t * share) / UNIT);
    if (whole > before || (interpolate && t === frames - 1)) kept.push(t);
    before = whole;
  }
  return kept;
}

function fill(poses: Float64Array, kept: number[], frames: number, width: number, interpolate: boolean): Float64Array {
  const out = new Float64Array(frames * width);
  for (let t = 0, at = 0; t < frames; t++) {
    while (at + 1 < kept.length && kept[at + 1]! <= t) at++;
    const after = Math.min(at + 1, kept.length - 1);
    const share = interpolate ? (t - kept[at]!) / Math.max(kept[after]! - kept[at]!, 1) : 0;
    for (let c = 0; c < width; c++) {
      const value = poses[at * width + c]!;
      out[t * width + c] = share ? value * (1 - share) + poses[after * width + c]! * share : value;
    }
  }
  return out;
}

export const bapIndexing: Codec = {
  id: "bap-indexing",
  version: 1,
  open(layout, { setup }, k) {
    const { bits, fdf, rowsPerTable } = indexingSetup(setup, widthOf(layout), 7);
    return {
      decode({ frames, data }) {
        const width = widthOf(layout);
        const perTable = rowsPerTable || Math.max(frames - 1, 1);
        const tables = Math.ceil((frames - 1) / perTable);
        const size = 4 * width + tables * 4 * 2 ** bits + (frames - 1) * (4 * fdf + Math.ceil(bits / 8) * (width - fdf));
        if (data[0]!.length !== size) throw truncated("a segment is not of the size its settings give");
        return indexed("kp_indexed_decode", data[0]!, frames, width, [fdf, bits, perTable], 0, k);
      },
    };
  },
};

export const sparseIndexing: Codec = {
  id: "sparse-indexing",
  version: 1,
  open(layout, { setup }, k) {
    const { bits, fdf, rowsPerTable } = indexingSetup(setup, widthOf(layout), 8);
    const half = setup[7]!;
    if (half > 1) throw corrupt("the setup has no such table");
    return {
      decode({ frames, data }) {
        const width = widthOf(layout);
        const perTable = rowsPerTable || Math.max(frames - 1, 1);
        const least = 4 * width + Math.ceil((frames - 1) / perTable) * (half ? 2 : 4) * 2 ** bits;
        if (data[0]!.length < least) throw truncated("a segment is too short for its tables");
        return indexed("kp_sparse_indexed_decode", data[0]!, frames, width, [fdf, bits, perTable, half], 8 * width, k);
      },
    };
  },
};

/** Index bits, columns kept as floats, rows that share a table (0: all). */
function indexingSetup(setup: Bytes, width: number, size: number) {
  if (setup.length !== size) throw truncated("the codec's setup is not of its size");
  const head = new ByteReader(setup);
  const bits = head.u8();
  const fdf = head.u8() + 256 * head.u8();
  if (!(bits >= 1 && bits <= 16) || fdf > width) throw corrupt("the setup has impossible index bits or columns");
  return { bits, fdf, rowsPerTable: head.u32() };
}

function indexed(
  kernel: string, data: Bytes, frames: number, width: number, how: number[], columnBytes: number, k: Kernels,
): Float64Array {
  return k.scope(() => {
    const [bytes, table] = [k.put(data), k.room(4 << how[1]!)];
    const columns = columnBytes ? [k.room(columnBytes)] : [];
    const out = k.room(4 * frames * width);
    k.call(kernel, "a segment", bytes, data.length, frames - 1, width, ...how, table, ...columns, out);
    return Float64Array.from(k.view(Float32Array, out, frames * width));
  });
}
