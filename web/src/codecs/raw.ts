// `raw`: the numbers as they are (docs/codecs/raw.md).

import { type Bytes, floats32, floats64 } from "../bytes.js";
import { truncated } from "../errors.js";
import { type Layout, widthOf } from "../model.js";
import type { Codec } from "./base.js";

/** Bytes of a stored number: float64 in clips, float32 in meshes. */
export const itemSize = (layout: Layout) => (layout.kind === "skeleton" ? 8 : 4);

export const numbersFrom = (data: Bytes, layout: Layout) =>
  layout.kind === "skeleton" ? floats64(data) : floats32(data);

export const raw: Codec = {
  id: "raw",
  version: 1,
  open: (layout) => ({
    decode({ frames, data }) {
      const wanted = frames * widthOf(layout) * itemSize(layout);
      if (data[0]!.length !== wanted) throw truncated("a segment does not hold the numbers of its frames");
      return numbersFrom(data[0]!, layout);
    },
  }),
};
