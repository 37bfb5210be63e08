// `pca`: principal components of poses (docs/codecs/pca.md).

import { ByteReader, type Bytes, floats32 } from "../bytes.js";
import { inflateRaw } from "../deflate.js";
import { corrupt, truncated } from "../errors.js";
import type { Skeleton } from "../model.js";
import { type Codec, type Decoder, joinPlanes } from "./base.js";

const LEVELS = 32767;

export const pca: Codec = {
  id: "pca",
  version: 1,
  open(layout, { setup }): Decoder {
    if (layout.kind !== "skeleton") throw corrupt("a mesh cannot be coded as poses");
    const { angles, others } = split(layout);
    const { mean, axes, ranges, components, deflated } = readSetup(setup, angles.length, others.length);
    const width = components + others.length;
    return {
      decode({ frames, data }) {
        const levels = shorts(joinPlanes(unpack(data[0]!, 2 * frames * width, deflated), 2));
        const channels = layout.channels.length;
        const out = new Float64Array(frames * channels);
        const signals = new Float64Array(width);
        for (let t = 0; t < frames; t++) {
          for (let n = 0; n < width; n++) signals[n] = levels[n * frames + t]! * ranges[width + n]! + ranges[n]!;
          angles.forEach((channel, a) => {
            let value = mean[a]!;
            for (let n = 0; n < components; n++) value += signals[n]! * axes[n * angles.length + a]!;
            out[t * channels + channel] = value;
          });
          others.forEach((channel, n) => (out[t * channels + channel] = signals[components + n]!));
        }
        return out;
      },
    };
  },
};

/** Channels that are rotations, and all others. */
function split({ channels }: Skeleton) {
  const isAngle = (kind: string) => kind !== "scalar" && "rqv".includes(kind[0]!);
  const numbers = [...channels.keys()];
  return {
    angles: numbers.filter((c) => isAngle(channels[c]!.kind)),
    others: numbers.filter((c) => !isAngle(channels[c]!.kind)),
  };
}

function readSetup(setup: Bytes, angles: number, others: number) {
  const head = new ByteReader(setup);
  const [deflated, components] = [head.u8(), head.u8() + 256 * head.u8()];
  if (deflated > 1 || components > angles) throw corrupt("the codec's setup has more components than angles");
  const end = 4 + 2 * angles * (components + 1);
  const body = unpack(head.take(head.left), end + 8 * (components + others), deflated === 1);
  const span = floats32(body.subarray(0, 4))[0]!;
  const numbers = shorts(joinPlanes(body.subarray(4, end), 2));
  return {
    mean: Float64Array.from(numbers.subarray(0, angles), (n) => n * span),
    axes: Float64Array.from(numbers.subarray(angles), (n) => n / LEVELS),
    ranges: floats32(body.subarray(end)),
    components,
    deflated: deflated === 1,
  };
}

const shorts = (data: Bytes) => new Int16Array(data.buffer, 0, data.length >> 1);

function unpack(data: Bytes, size: number, deflated: boolean): Bytes {
  const plain = deflated ? inflateRaw(data, size) : data;
  if (plain.length !== size) throw truncated("the stream's numbers are not of their size");
  return plain;
}
