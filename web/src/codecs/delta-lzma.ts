// `delta-lzma`: rounded differences over time through LZMA2 (docs/codecs/delta-lzma.md).

import { ByteReader } from "../bytes.js";
import { corrupt } from "../errors.js";
import { decodeLzma2 } from "../lzma2.js";
import { type Layout, radiansPerAngle, type Skeleton, widthOf } from "../model.js";
import { type Codec, joinPlanes } from "./base.js";

export const deltaLzma: Codec = {
  id: "delta-lzma",
  version: 1,
  open(layout, { setup }) {
    const head = new ByteReader(setup);
    const [step, order] = [head.f64(), head.u8()];
    const steps = stepsOf(layout, step);
    const width = widthOf(layout);
    return {
      decode({ frames, data }) {
        const levels = unpack(data[0]!, frames, width, order);
        const out = layout.kind === "skeleton" ? new Float64Array(levels.length) : new Float32Array(levels.length);
        for (let c = 0; c < width; c++) {
          const own = steps[c % steps.length]!;
          for (let t = 0; t < frames; t++) out[t * width + c] = levels[c * frames + t]! * own;
        }
        return out;
      },
    };
  },
};

/** The step of each channel in its own unit, or one step for all coordinates of a mesh. */
function stepsOf(layout: Layout, step: number): number[] {
  if (layout.kind === "mesh") return [step];
  return layout.channels.map(({ kind }) => (kind === "scalar" ? step / 100 : stepOfKind(layout, kind[0]!, step)));
}

function stepOfKind(skeleton: Skeleton, family: string, step: number): number {
  const degree = Math.PI / 180;
  if (family === "t") return step / skeleton.unitCm;
  if (family === "r") return (step * degree) / radiansPerAngle(skeleton);
  if (family === "v") return step * degree;
  if (family === "q") return (step * degree) / 2;
  return step / 100;
}

/** Levels, channel by channel. */
function unpack(data: Uint8Array, frames: number, width: number, order: number): Float64Array {
  const itemSize = data[0] ?? 0;
  if (![1, 2, 4, 8].includes(itemSize)) throw corrupt("a segment has items of no known size");
  const items = joinPlanes(decodeLzma2(data.subarray(1), frames * width * itemSize), itemSize);
  return itemSize === 8 ? wideLevels(items, frames, order) : levels(items, itemSize, frames, order);
}

function levels(items: Uint8Array<ArrayBuffer>, itemSize: number, frames: number, order: number): Float64Array {
  const Type = itemSize === 1 ? Uint8Array : itemSize === 2 ? Uint16Array : Uint32Array;
  const zigzag = new Type(items.buffer);
  const out = new Float64Array(zigzag.length);
  for (let i = 0; i < out.length; i++) out[i] = (zigzag[i]! >>> 1) ^ -(zigzag[i]! & 1);
  for (let n = 0; n < order; n++) {
    for (let i = 1; i < out.length; i++) if (i % frames) out[i]! += out[i - 1]!;
  }
  return out;
}

/** The same in 64-bit integers, for levels that a float64 could not add up exactly. */
function wideLevels(items: Uint8Array<ArrayBuffer>, frames: number, order: number): Float64Array {
  const zigzag = new BigUint64Array(items.buffer);
  const out = new BigInt64Array(zigzag.length);
  for (let i = 0; i < out.length; i++) out[i] = (zigzag[i]! >> 1n) ^ -(zigzag[i]! & 1n);
  for (let n = 0; n < order; n++) {
    for (let i = 1; i < out.length; i++) if (i % frames) out[i]! += out[i - 1]!;
  }
  return Float64Array.from(out, Number);
}
