// `wavelet` and `wavelet-optimized`: truncated cubic wavelets of joint angles (docs/codecs/wavelet.md).

import type { Bytes } from "../bytes.js";
import { corrupt, truncated } from "../errors.js";
import { inflateRaw } from "../deflate.js";
import type { Kernels } from "../kernels.js";
import { radiansPerAngle, type Skeleton } from "../model.js";
import { type Codec, type Decoder, joinPlanes } from "./base.js";

const STEP_CODES = 1024;
const QUARTERS = [1, 1.189207115002721, 1.4142135623730951, 1.681792830507429];

const codecOf = (id: string): Codec => ({
  id,
  version: 1,
  open(layout, { setup }, kernels): Decoder {
    if (layout.kind !== "skeleton") throw corrupt("a mesh cannot be coded as joint angles");
    if (setup.length !== 1 || setup[0]! > 1) throw truncated("the codec's setup is not of its size");
    const scale = channelScale(layout);
    const deflated = setup[0] === 1;
    return { decode: ({ frames, data }) => decodeBlock(data[0]!, frames, scale, deflated, kernels) };
  },
});

export const wavelet = codecOf("wavelet");
export const waveletOptimized = codecOf("wavelet-optimized");

/** 2^(code / 4 - 128) */
const stepOf = (code: number) => QUARTERS[code & 3]! * 2 ** ((code >> 2) - 128);

export function decodeBlock(data: Bytes, frames: number, scale: Float64Array, deflated: boolean, k: Kernels): Float64Array {
  const signals = scale.length;
  const body = deflated ? joinPlanes(inflateRaw(data, 2 * signals * (4 * frames + 2)), 2) : data.slice();
  if (body.length % 2 || body.length < 4 * signals) throw truncated("a block of coefficients ends too early");
  const codes = new Uint16Array(body.buffer, 0, body.length / 2);
  const steps = scale.map((s, c) => stepOf(codes[c]!) / s);
  if (codes.subarray(0, signals).some((code) => code >= STEP_CODES)) {
    throw corrupt("a block of coefficients has a step of no known size");
  }
  const levels = frames > 1 ? 32 - Math.clz32(frames - 1) : 0;
  return k.scope(() => {
    const ranges = k.room(16 * (levels + 1));
    k.call("kp_wavelet_ranges", "a block", frames, levels, 0, frames, ranges);
    const bounds = k.view(BigUint64Array, ranges, 2 * (levels + 1)).slice();
    const sizes = Array.from({ length: levels + 1 }, (_, n) => Number(bounds[2 * n + 1]! - bounds[2 * n]!));
    const rows = sizes.reduce((sum, size) => sum + size, 0);
    const own = codes.subarray(signals);
    const [source, step] = [k.put(own), k.put(steps)];
    const columns = k.put(Int32Array.from({ length: signals }, (_, c) => c));
    const [coefficients, used] = [k.room(8 * rows * signals), k.room(4)];
    k.view(Float64Array, coefficients, rows * signals).fill(0);
    k.call(
      "kp_wavelet_decode_codes", "a block of coefficients",
      source, own.length, frames, levels, ranges, signals, step, columns, signals, coefficients, used,
    );
    if (k.view(Uint32Array, used, 1)[0] !== own.length) throw corrupt("a block does not end with its last signal");
    const [scratch, out] = [k.room(32 * Math.max(...sizes) * signals), k.room(8 * frames * signals)];
    k.call(
      "kp_wavelet_inverse_window", "a block of coefficients",
      coefficients, frames, levels, ranges, 0, frames, signals, scratch, out,
    );
    return k.view(Float64Array, out, frames * signals).slice();
  });
}

/** Centimetres that one unit of each channel moves the end of the bone its joint drives. */
export function channelScale(skeleton: Skeleton): Float64Array {
  const lengths = drivenLengths(skeleton).map((length) => length * skeleton.unitCm);
  const typical = lengths.length ? lengths.reduce((sum, length) => sum + length, 0) / lengths.length : 1;
  const factor: Record<string, number> = { t: skeleton.unitCm, r: radiansPerAngle(skeleton), q: 2, v: 1, s: 1 };
  return Float64Array.from(skeleton.channels, ({ kind, joint }) => {
    if (kind === "scalar" || joint < 0) return typical;
    return factor[kind[0]!]! * (kind[0] === "t" ? 1 : lengths[joint]!);
  });
}

/** Its own length where a bone has a tip, else the longest to a child or end site; the mean where there is none. */
function drivenLengths({ joints }: Skeleton): number[] {
  const own = joints.map(({ direction, length }) => Math.hypot(...direction.map((d) => d * length)));
  const reach = [...own];
  joints.forEach(({ parent, offset, endSites }, joint) => {
    const span = Math.max(Math.hypot(...offset), own[joint]!);
    if (parent >= 0 && own[parent] === 0) reach[parent] = Math.max(reach[parent]!, span);
    for (const site of endSites) reach[joint] = Math.max(reach[joint]!, Math.hypot(...site));
  });
  const used = reach.filter((length) => length > 0);
  const mean = used.length ? used.reduce((sum, length) => sum + length, 0) / used.length : 1;
  return reach.map((length) => (length > 0 ? length : mean));
}
