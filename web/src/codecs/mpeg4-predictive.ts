// `mpeg4-predictive`: I and P frames of body parameters as an FBA stream (docs/codecs/mpeg4-predictive.md), and
// `bap-sparsing`, which is either that or the stream of `mpeg4-float`.

import { ByteReader, type Bytes } from "../bytes.js";
import { corrupt, truncated } from "../errors.js";
import type { Kernels } from "../kernels.js";
import type { Codec, Decoder } from "./base.js";
import { Carriers, groupSizes, parameterCount, stepsInOrder, TABLES } from "./fba/carriers.js";
import { mpeg4Float } from "./float-frames.js";

/** More than a byte can hold: four bits skip fifteen frames at most. */
const FRAMES_PER_BYTE = 32;
/** Scratch words of the decoder for one parameter. */
const MODEL_WORDS = 3722;
/** The setup of `bap-sparsing` that says it is a stream of floats. */
const FLOATS = 255;

export const mpeg4Predictive: Codec = {
  id: "mpeg4-predictive",
  version: 1,
  open(layout, { setup }, k): Decoder {
    if (layout.kind !== "skeleton") throw corrupt("the stream has no skeleton");
    const table = setup[0] ?? TABLES;
    if (table >= TABLES) throw truncated("the codec's setup names no step table");
    const carriers = new Carriers(layout);
    return { decode: ({ frames, data }) => carriers.toValues(decodeRun(data[0]!, frames, table, carriers, k)) };
  },
};

export const bapSparsing: Codec = {
  id: "bap-sparsing",
  version: 1,
  open(layout, record, k) {
    const floats = record.setup.length === 1 && record.setup[0] === FLOATS;
    return (floats ? mpeg4Float : mpeg4Predictive).open(layout, record, k);
  },
};

/** [frames * channels] parameters: offsets (count, then channel and zigzag offset as varints), then the FBA stream. */
function decodeRun(data: Bytes, frames: number, table: number, carriers: Carriers, k: Kernels): Float64Array {
  const width = carriers.chosen.length;
  const head = new ByteReader(data);
  const count = head.varint();
  if (count > width) throw corrupt("a segment has more offsets than channels");
  const offsets = Array.from({ length: count }, () => [head.varint(), unzigzag(head.varint())] as const);
  if (offsets.some(([channel, offset]) => channel >= width || Math.abs(offset) >= 2 ** 32)) {
    throw corrupt("a segment offsets a channel that is not there");
  }
  const values = decodeFba(head.take(head.left), frames, table, carriers, k);
  for (const [channel, offset] of offsets) for (let t = 0; t < frames; t++) values[t * width + channel]! += offset;
  return values;
}

function decodeFba(data: Bytes, frames: number, table: number, carriers: Carriers, k: Kernels): Float64Array {
  const width = carriers.chosen.length;
  if (frames > FRAMES_PER_BYTE * data.length) throw truncated("an FBA stream is too short for its frames");
  return k.scope(() => {
    const groups = k.put(groupSizes);
    const [bytes, steps, columns] = [k.put(data), k.put(stepsInOrder(table)), k.put(carriers.columns())];
    const words = MODEL_WORDS * parameterCount;
    const [scratch, values, used] = [k.room(4 * words), k.room(4 * frames * width), k.room(parameterCount)];
    const [found, sixteenths] = [k.room(4), k.room(4)];
    k.call(
      "kp_fba_decode", "an FBA stream",
      bytes, data.length, parameterCount, groups, groupSizes.length, steps, columns, width,
      scratch, words, values, frames, found, used, sixteenths,
    );
    if (k.view(Uint32Array, found, 1)[0] !== frames) throw truncated("an FBA stream has fewer frames than its segment");
    return Float64Array.from(k.view(Int32Array, values, frames * width));
  });
}

const unzigzag = (value: number) => (value % 2 ? -(value + 1) / 2 : value / 2);
