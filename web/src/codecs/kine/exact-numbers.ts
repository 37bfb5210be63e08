// Setups of lossless streams with learning predictors, and their numbers (docs/codecs/kine.md).

import prior from "../../../../src/kinepack/codecs/kine_exact_prior.bin";
import { ByteReader, type Bytes, floats64 } from "../../bytes.js";
import { corrupt } from "../../errors.js";
import type { Kernels } from "../../kernels.js";
import { CONSTANT, COPY, codedOf, DECIMAL, type Layout, MODES, MOST_DECIMALS } from "./exact.js";
import { SETUP_BINS } from "./prior.js";
import { integers } from "./setup.js";

const [DYADIC, MOST_DIGITS, MOST_SCALE, NO_ROLE] = [16, 15, 40, 255];
/** Rigs that the prior knows: none, and the one that most AMC files share. */
const [NO_RIG, AMC, AMC_CHANNELS] = [0, 1, 62];
/** Of each channel: mode, decimals, digits, scale, distance of a copy. */
const [FIELDS, USUAL_DECIMALS, NO_DECIMAL] = [5, 5, 255];

/** What the kernel is told of each coded channel. */
interface Model {
  digits: Uint8Array;
  scales: Uint8Array;
  decimals: Uint8Array;
  roles: Uint8Array;
  prior: Bytes | null;
}

/** Of versions 3 and 4. */
export function readDeflated(source: ByteReader, width: number, kernels: Kernels): Layout {
  const modes = source.take(width);
  const count = codedOf(modes).length;
  const [places, digits, scales] = [source.take(count), source.take(count), source.take(count)];
  const model = { digits, scales, decimals: places, roles: new Uint8Array(count).fill(NO_ROLE), prior: null };
  return { modes, places, sound: isSound(modes, [...digits], [...scales]), numbers: decoding(model, kernels), odd: floats64 };
}

export function readLatest(source: ByteReader, width: number, kernels: Kernels): Layout {
  const contexts = [0, ...Array.from({ length: FIELDS * width }, (_, n) => 1 + Math.floor(n / width))];
  const fresh = new Uint32Array((1 + FIELDS) * SETUP_BINS).fill(0x80000000);
  const values = integers(source.block(), contexts, fresh, kernels);
  const field = (n: number) => [...values.subarray(1 + n * width, 1 + (n + 1) * width)];
  const [every, finer] = [field(0).map((m) => m + DECIMAL), field(1).map((n) => n + USUAL_DECIMALS)];
  if (!every.every((m) => MODES.includes(m)) || !finer.every((n) => n >= 0 && n <= MOST_DECIMALS))
    throw corrupt("the codec's setup holds a number out of its range");
  const modes = Uint8Array.from(every);
  const coded = codedOf(modes);
  const places = Uint8Array.from(coded, (c) => finer[c]!);
  const [digitSteps, scaleSteps, distances] = [field(2), field(3), field(4)];
  const digits = coded.map((c, n) => digitSteps[c]! + (places[n]! > 4 ? 6 : 0));
  const scales = coded.map((c, n) => scaleSteps[c]! + Math.floor((10 * places[n]!) / 3));
  const rig = values[0]!;
  const roles = Uint8Array.from(coded, (c) => (rig === AMC ? c : NO_ROLE));
  const model = { digits: Uint8Array.from(digits), scales: Uint8Array.from(scales), decimals: places, roles, prior: prior as Bytes };
  return {
    modes,
    places,
    sound: isSound(modes, digits, scales) && (rig === NO_RIG || (rig === AMC && width === AMC_CHANNELS)),
    copied: [...modes.keys()].filter((c) => modes[c] === COPY).map((c) => c - distances[c]!),
    numbers: decoding(model, kernels),
    odd: unpackOdd,
    constants: unpackOdd(source.take(source.left), modes.filter((mode) => mode === CONSTANT).length),
    latest: true,
  };
}

/** Decimals of each, 255 if it is none; digits of the others as three planes of bytes; the rest as float64. */
function unpackOdd(data: Bytes, count: number): Float64Array {
  const source = new ByteReader(data);
  const places = source.take(count);
  const decimals = places.filter((n) => n !== NO_DECIMAL).length;
  const [low, middle, high] = [source.take(decimals), source.take(decimals), source.take(decimals)];
  const others = floats64(source.take(source.left));
  if (others.length !== count - decimals || places.some((n) => n !== NO_DECIMAL && n > MOST_DECIMALS))
    throw corrupt("a segment's odd numbers are cut short");
  let [used, other] = [0, 0];
  return Float64Array.from(places, (n) => {
    if (n === NO_DECIMAL) return others[other++]!;
    const mantissa = low[used]! | (middle[used]! << 8) | ((high[used++]! << 24) >> 8);
    return mantissa / 10 ** n;
  });
}

function isSound(modes: Uint8Array, digits: number[], scales: number[]): boolean {
  return (
    modes.every((mode) => MODES.includes(mode)) &&
    digits.every((n) => n >= 0 && n <= DYADIC + MOST_DIGITS && n !== DYADIC) &&
    scales.every((n) => n >= 0 && n <= MOST_SCALE)
  );
}

const decoding = (model: Model, kernels: Kernels) => (data: Bytes, frames: number) =>
  kernels.scope(() => {
    const count = model.digits.length;
    const [bytes, out] = [kernels.put(data), kernels.room(8 * frames * count)];
    const digits = kernels.put(model.digits);
    const rest = [model.scales, model.decimals, model.roles].map((part) => kernels.put(part));
    const known = model.prior ? kernels.put(model.prior) : 0;
    const room = kernels.room(8 * kernels.size("kp_kine_numbers_room", digits, count));
    kernels.call(
      "kp_kine_numbers_decode", "a segment",
      bytes, data.length, out, frames, count, digits, ...rest, known, room,
    );
    return kernels.view(BigInt64Array, out, frames * count).slice();
  });
