// `zstd-float`: lossless byte planes through Zstandard (docs/codecs/zstd-float.md).

import { decompress } from "fzstd";
import { corrupt } from "../errors.js";
import { widthOf } from "../model.js";
import { type Codec, joinPlanes, transpose } from "./base.js";
import { itemSize, numbersFrom } from "./raw.js";

export const zstdFloat: Codec = {
  id: "zstd-float",
  version: 1,
  open: (layout) => ({
    decode({ frames, data }) {
      const width = widthOf(layout);
      const plain = inflated(data[0]!, frames * width * itemSize(layout));
      const channelMajor = numbersFrom(joinPlanes(plain, itemSize(layout)), layout);
      return transpose(channelMajor, width, frames, channelMajor.slice());
    },
  }),
};

function inflated(data: Uint8Array, size: number): Uint8Array {
  let plain: Uint8Array;
  try {
    plain = decompress(data, new Uint8Array(size));
  } catch {
    throw corrupt("a segment's Zstandard frame is damaged");
  }
  if (plain.length !== size) throw corrupt("a segment's Zstandard frame is not of its declared size");
  return plain;
}
