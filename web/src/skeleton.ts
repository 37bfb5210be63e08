// A skeleton in few bytes: words deflated against a dictionary of common rigs, numbers range coded (docs/format.md).

import dictionary from "kinepack-skeletons.txt";
import { type Bytes, ByteReader, parseJson } from "./bytes.js";
import { inflateRaw } from "./deflate.js";
import { charge, corrupt, LIMITS } from "./errors.js";
import { unpackIntegers } from "./integers.js";

/** The fields that canonical JSON would have. */
export type PlainSkeleton = Record<string, any>;
type Words = Record<string, any>;
type Row = number[];

/** Numbers in a row of each field, in the order in which they are coded. */
const WIDTHS = { axis_deg: 3, direction: 3, length: 1, offset: 3, rest: 4, rest_scale: 3, end_sites: 3 } as const;
type FieldName = keyof typeof WIDTHS;
const NAMES = Object.keys(WIDTHS) as FieldName[];
const DEFAULTS: Partial<Record<FieldName, Row>> = { rest: [0, 0, 0, 1], rest_scale: [1, 1, 1] };
const FORM = { decimal: 0, unit: 1, tips: 2, float32: 3, float64: 4 } as const;
const FORM_CONTEXTS = 6;
const MANTISSA_CONTEXTS = 5;
const NO_AXIS = 3;
const NEGATIVE_ZERO = -1;
const MOST_DECIMALS = 400;

export async function unpackCodedSkeleton(body: Bytes): Promise<PlainSkeleton> {
  const source = new ByteReader(body);
  const text = inflateRaw(source.block(), 1000 * (LIMITS.joints + LIMITS.channels), dictionary);
  const words: Words = { up: [], of: [], ...parseJson(text, "the skeleton in the file") }; // what is empty is left out
  checkWords(words);
  const rows = await numbers(words, source.block(), source.take(source.left));
  return plainFrom(words, rows);
}

const lists = (words: Words, ...keys: string[]) => keys.every((key) => words[key] === undefined || Array.isArray(words[key]));

function checkWords(words: Words): void {
  const optional = ["mirror", "orders", "sites", "scalars", "limits"];
  const sound =
    lists(words, ...optional, ...NAMES) && ["names", "kinds", "up", "of"].every((key) => Array.isArray(words[key]));
  if (!sound) throw corrupt("the skeleton in the file makes no sense");
  const { names, kinds } = words;
  const integers = [...words.up, ...words.of, ...(words.mirror ?? []), ...(words.sites ?? [])];
  const perJoint = [words.up, ...optional.slice(0, 3).map((key) => words[key]).filter(Boolean)];
  const belongs =
    integers.every(Number.isInteger) &&
    perJoint.every((column) => column.length === names.length) &&
    words.of.length === kinds.length &&
    kinds.every((kind: unknown) => typeof kind === "string") &&
    (words.mirror ?? []).every((step: number, n: number) => step >= 0 && step <= n) &&
    (words.sites ?? []).every((count: number) => count >= 0);
  if (!belongs) throw corrupt("the skeleton in the file makes no sense");
  charge("joints", names.length + (words.sites ?? []).reduce((sum: number, n: number) => sum + n, 0));
  charge("channels", kinds.reduce((sum: number, text: string) => sum + text.split(" ").length, 0));
}

/** [rows] of a field: the row of the joint on the other side, or -1. */
function partnersOf(words: Words, name: FieldName): number[] {
  const steps: number[] = words.mirror ?? words.names.map(() => 0);
  if (name !== "end_sites") return steps.map((step, n) => (step ? n - step : -1));
  const counts: number[] = words.sites ?? words.names.map(() => 0);
  const first = [0];
  for (const count of counts) first.push(first[first.length - 1]! + count);
  return counts.flatMap((count, n) =>
    Array.from({ length: count }, (_, site) =>
      steps[n] && site < counts[n - steps[n]!]! ? first[n - steps[n]!]! + site : -1,
    ),
  );
}

async function numbers(words: Words, forms: Bytes, mantissas: Bytes): Promise<Record<FieldName, Row[]>> {
  const fields = NAMES.filter((name) => name in words).map((name) => new Field(name, words[name], partnersOf(words, name)));
  const contexts = fields.map((field) => field.formContexts());
  const what = "the skeleton";
  const known = await unpackIntegers(forms, Int32Array.from(contexts.flat()), FORM_CONTEXTS * NAMES.length, what);
  let at = 0;
  const own = contexts.map((chosen) => Array.from(known.subarray(at, (at += chosen.length))));
  const places = fields.map((field, n) => field.places(own[n]!));
  const wanted = fields.flatMap((field, n) => places[n]!.map((place) => field.context(place)));
  const residuals = await unpackIntegers(mantissas, Int32Array.from(wanted), MANTISSA_CONTEXTS * NAMES.length, what);
  const rows = Object.fromEntries(
    NAMES.map((name) => [name, partnersOf(words, name).map(() => DEFAULTS[name] ?? new Array(WIDTHS[name]).fill(0))]),
  ) as Record<FieldName, Row[]>;
  at = 0;
  fields.forEach((field, n) => {
    const found = field.decode(own[n]!, places[n]!, residuals.subarray(at, (at += places[n]!.length)));
    rows[field.name] = field.form === FORM.tips ? tips(words, rows) : found;
  });
  return rows;
}

/** [joints] from the parent's origin to the end of the parent's bone. */
function tips(words: Words, rows: Record<FieldName, Row[]>): Row[] {
  return words.up.map((up: number, n: number) => {
    if (!up) return [0, 0, 0];
    const parent = n - up;
    if (!rows.direction[parent]) throw corrupt("a joint of the skeleton comes before its parent");
    return rows.direction[parent]!.map((part) => part * rows.length[parent]![0]!);
  });
}

interface Place {
  row: number;
  column: number;
  /** Decimals beyond the field's own. */
  further: number;
  /** Of a unit vector: expected from the other two. */
  longest?: boolean;
}

class Field {
  readonly form: number;
  private readonly decimals: number;
  private readonly flips: number;
  private readonly width: number;
  private readonly mantissas: number[][];
  private readonly further: number[][];
  private readonly last = new Map<string, number>();

  constructor(
    readonly name: FieldName,
    coding: unknown[],
    private readonly partners: number[],
  ) {
    const [form, decimals = 0, flips = 0] = coding as number[];
    const sound = [form, decimals, flips].every(Number.isInteger) && form! >= 0 && form! <= 4;
    if (!sound || decimals < 0 || decimals > MOST_DECIMALS) throw corrupt(`the skeleton's ${name} is coded in no known way`);
    [this.form, this.decimals, this.flips] = [form!, decimals, flips];
    this.width = WIDTHS[name] * (form === FORM.float64 ? 2 : 1);
    this.mantissas = partners.map(() => new Array(this.width).fill(0));
    this.further = partners.map(() => new Array(this.width).fill(0));
  }

  /** Contexts of the integers that tell each row's form. */
  formContexts(): number[] {
    const first = FORM_CONTEXTS * NAMES.indexOf(this.name);
    if (this.form === FORM.decimal) return this.partners.flatMap(() => Array.from({ length: this.width }, (_, n) => first + n));
    if (this.form !== FORM.unit) return [];
    return this.partners.flatMap((partner) => [first, first + 1 + Number(partner >= 0), first + 3, first + 4]);
  }

  /** The mantissas that are coded, in order. */
  places(forms: number[]): Place[] {
    if (this.form === FORM.tips) return [];
    if (this.form === FORM.unit) return this.partners.flatMap((_, row) => unitPlaces(row, forms.slice(4 * row, 4 * row + 4)));
    const places = Array.from({ length: this.width * this.partners.length }, (_, n) => ({
      row: Math.floor(n / this.width),
      column: n % this.width,
      further: this.form === FORM.decimal ? forms[n]! : 0,
    }));
    return places.filter(({ further }) => further !== NEGATIVE_ZERO);
  }

  context({ row, further, longest }: Place): number {
    const first = MANTISSA_CONTEXTS * NAMES.indexOf(this.name);
    return longest ? first : first + 1 + Number(this.partners[row]! >= 0) + 2 * Number(further > 0);
  }

  decode(forms: number[], places: Place[], residuals: Int32Array): Row[] {
    places.forEach((place, n) => {
      const mantissa = this.expected(place) + residuals[n]!;
      this.put(place, place.longest && forms[4 * place.row + 1] ? -mantissa : mantissa);
    });
    if (this.form === FORM.float32) return this.mantissas.map((row) => Array.from(new Float32Array(Int32Array.from(row).buffer)));
    if (this.form === FORM.float64) return this.mantissas.map((row) => Array.from(new Float64Array(Int32Array.from(row).buffer)));
    return this.mantissas.map((row, r) => row.map((_, column) => this.number(r, column)));
  }

  /** The mantissa, as far as the ones before tell it. */
  private expected({ row, column, further, longest }: Place): number {
    if (longest) {
      const [a, b] = [0, 1, 2].filter((other) => other !== column).map((other) => this.number(row, other)) as [number, number];
      return Math.floor(Math.sqrt(Math.max(0, 1 - a * a - b * b)) * Number(`1e${this.decimals}`) + 0.5);
    }
    if (this.form === FORM.float32 || this.form === FORM.float64) return 0;
    const partner = this.partners[row]!;
    if (partner >= 0 && this.further[partner]![column] === further) {
      const other = this.mantissas[partner]![column]!;
      return (this.flips >> column) & 1 ? -other : other;
    }
    return further ? (this.last.get(`${column} ${further}`) ?? 0) : 0;
  }

  private put({ row, column, further }: Place, mantissa: number): void {
    if (!(Math.abs(mantissa) <= 2 ** 31 && further >= 0 && further <= MOST_DECIMALS)) {
      throw corrupt(`a number of the skeleton's ${this.name} is too large`);
    }
    this.mantissas[row]![column] = mantissa;
    this.further[row]![column] = further;
    this.last.set(`${column} ${further}`, mantissa);
  }

  /** Parsed as decimal text, so the result is the nearest float64. */
  private number(row: number, column: number): number {
    return Number(`${this.mantissas[row]![column]!}e-${this.decimals + this.further[row]![column]!}`);
  }
}

function unitPlaces(row: number, [axis, , ...further]: number[]): Place[] {
  if (!(axis! >= 0 && axis! <= NO_AXIS)) throw corrupt("a direction of the skeleton has no axis");
  if (axis === NO_AXIS) return [];
  const others = [0, 1, 2].filter((column) => column !== axis);
  const places: Place[] = others.map((column, n) => ({ row, column, further: further[n]! }));
  return [...places.filter((place) => place.further !== NEGATIVE_ZERO), { row, column: axis!, further: 0, longest: true }];
}

/** In the shape of the canonical JSON, so that one check serves both forms. */
function plainFrom(words: Words, rows: Record<FieldName, Row[]>): PlainSkeleton {
  let site = 0;
  const joints = words.names.map((name: unknown, n: number) => ({
    name,
    parent: words.up[n] ? n - words.up[n] : -1,
    order: words.orders?.[n],
    axis_deg: rows.axis_deg[n],
    offset: rows.offset[n],
    rest: rows.rest[n],
    rest_scale: rows.rest_scale[n],
    direction: rows.direction[n],
    length: rows.length[n]![0],
    end_sites: rows.end_sites.slice(site, (site += words.sites?.[n] ?? 0)),
  }));
  let joint = 0;
  const channels: object[] = [];
  words.kinds.forEach((kinds: string, group: number) => {
    joint += words.of[group];
    for (const kind of kinds.split(" ")) channels.push({ joint, kind, name: words.scalars?.[channels.length] });
  });
  const { unit_cm, angle_unit, translation } = words;
  return { joints, channels, unit_cm, angle_unit, translation };
}
