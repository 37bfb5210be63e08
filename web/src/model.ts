// Skeletons, meshes and what decoding yields. What the numbers mean: docs/conventions.md.

import { type Bytes, ByteReader, inflate, parseJson } from "./bytes.js";
import { charge, corrupt, isPlainObject, LIMITS, truncated, unsupported } from "./errors.js";
import { type Kernels, kernels } from "./kernels.js";
import { unpackCodedSkeleton } from "./skeleton.js";

export type Vector = [number, number, number];
export type Quaternion = [number, number, number, number];

export interface Joint {
  name: string;
  /** Index of the parent, -1 for a root; parents come before their children. */
  parent: number;
  offset: Vector;
  order: string;
  axisDeg: Vector;
  rest: Quaternion;
  restScale: Vector;
  direction: Vector;
  length: number;
  endSites: Vector[];
}

export interface Channel {
  joint: number;
  kind: string;
  name: string;
}

export interface Skeleton {
  kind: "skeleton";
  joints: Joint[];
  channels: Channel[];
  unitCm: number;
  angleUnit: "deg" | "rad";
  translation: "replace" | "add";
}

export interface Topology {
  kind: "mesh";
  faces: Uint32Array;
  vertices: number;
  unitCm: number;
}

export type Layout = Skeleton | Topology;

/** Decoded frames: `values[frame * width + n]`, channels of a skeleton or x, y, z of each vertex. */
export interface Frames {
  layout: Layout;
  first: number;
  frames: number;
  width: number;
  values: Float64Array | Float32Array;
}

/** Numbers per frame. */
export function widthOf(layout: Layout): number {
  return layout.kind === "skeleton" ? layout.channels.length : layout.vertices * 3;
}

export const radiansPerAngle = (skeleton: Skeleton) => (skeleton.angleUnit === "deg" ? Math.PI / 180 : 1);

/** kind -> channel index, for each joint. */
export function channelsByJoint(skeleton: Skeleton): Map<string, number>[] {
  const table = skeleton.joints.map(() => new Map<string, number>());
  skeleton.channels.forEach(({ joint, kind }, index) => {
    if (kind !== "scalar" && joint >= 0) table[joint]!.set(kind, index);
  });
  return table;
}

/** Whatever a static chunk holds. */
export async function unpackStatic(body: Bytes): Promise<Layout> {
  const source = new ByteReader(body);
  const kind = source.left ? source.u8() : -1;
  if (kind === 0) return unpackSkeleton(source.take(source.left));
  if (kind === 3) return skeletonFrom(await unpackCodedSkeleton(source.take(source.left)));
  if (kind === 1 || kind === 2) return unpackMesh(source, kind === 2);
  throw unsupported(`the file's static data is of a kind this reader does not know (${kind})`);
}

async function unpackSkeleton(packed: Bytes): Promise<Skeleton> {
  const text = await inflate(packed, 1000 * (LIMITS.joints + LIMITS.channels));
  return skeletonFrom(parseJson(text, "the skeleton in the file"));
}

function skeletonFrom(plain: any): Skeleton {
  const skeleton: Skeleton = {
    kind: "skeleton",
    joints: list(plain?.joints).map(jointFrom),
    channels: list(plain?.channels).map(channelFrom),
    unitCm: plain.unit_cm ?? 1,
    angleUnit: plain.angle_unit ?? "deg",
    translation: plain.translation ?? "replace",
  };
  checkSkeleton(skeleton);
  return skeleton;
}

function list(value: unknown): any[] {
  if (!Array.isArray(value) || !value.every(isPlainObject)) throw corrupt("the skeleton in the file lacks a list");
  return value;
}

function jointFrom(plain: any): Joint {
  return {
    name: plain.name,
    parent: plain.parent,
    offset: plain.offset ?? [0, 0, 0],
    order: plain.order ?? "xyz",
    axisDeg: plain.axis_deg ?? [0, 0, 0],
    rest: plain.rest ?? [0, 0, 0, 1],
    restScale: plain.rest_scale ?? [1, 1, 1],
    direction: plain.direction ?? [0, 0, 0],
    length: plain.length ?? 0,
    endSites: plain.end_sites ?? [],
  };
}

const channelFrom = (plain: any): Channel => ({ joint: plain.joint, kind: plain.kind, name: plain.name ?? "" });

const KINDS = new Set("tx ty tz rx ry rz qx qy qz qw vx vy vz sx sy sz scalar".split(" "));

function checkSkeleton(skeleton: Skeleton): void {
  const { joints, channels } = skeleton;
  charge("joints", joints.length);
  charge("channels", channels.length);
  const sound =
    Number.isFinite(skeleton.unitCm) &&
    skeleton.unitCm > 0 &&
    ["deg", "rad"].includes(skeleton.angleUnit) &&
    ["replace", "add"].includes(skeleton.translation) &&
    joints.every((joint, index) => soundJoint(joint, index)) &&
    channels.every(({ joint, kind, name }) => {
      return KINDS.has(kind) && Number.isInteger(joint) && joint >= -1 && joint < joints.length && typeof name === "string";
    });
  if (!sound) throw corrupt("the skeleton in the file makes no sense");
}

function soundJoint(joint: Joint, index: number): boolean {
  const { offset, axisDeg, rest, restScale, direction, endSites } = joint;
  return (
    typeof joint.name === "string" &&
    Number.isInteger(joint.parent) &&
    joint.parent >= -1 &&
    joint.parent < index &&
    typeof joint.order === "string" &&
    [...joint.order].sort().join("") === "xyz" &&
    Array.isArray(endSites) &&
    [offset, axisDeg, restScale, direction, ...endSites].every((v) => isRow(v, 3)) &&
    isRow(rest, 4) &&
    Number.isFinite(joint.length)
  );
}

const isRow = (value: unknown, size: number) => Array.isArray(value) && value.length === size && value.every(Number.isFinite);

async function unpackMesh(source: ByteReader, coded: boolean): Promise<Topology> {
  const vertices = charge("vertices", source.varint());
  const unitCm = source.f64();
  const count = charge("faces", source.varint());
  if (vertices < 1 || !(unitCm > 0 && unitCm < Infinity)) throw corrupt("the mesh in the file makes no sense");
  const rest = source.take(source.left);
  const faces = coded ? decodeFaces(rest, count, vertices, await kernels()) : await plainFaces(rest, count);
  if (faces.some((corner) => corner >= vertices)) throw corrupt("the mesh in the file names a vertex that does not exist");
  return { kind: "mesh", faces, vertices, unitCm };
}

/** Differences to the corner before, zigzag, in four byte planes. */
async function plainFaces(packed: Bytes, faces: number): Promise<Uint32Array> {
  const count = 3 * faces;
  const planes = await inflate(packed, 4 * count);
  if (planes.length !== 4 * count) throw corrupt("the mesh's faces are cut short");
  const out = new Uint32Array(count);
  let corner = 0;
  for (let i = 0; i < count; i++) {
    const zigzag = planes[i]! | (planes[count + i]! << 8) | (planes[2 * count + i]! << 16) | (planes[3 * count + i]! << 24);
    corner += (zigzag >>> 1) ^ -(zigzag & 1);
    out[i] = corner;
  }
  return out;
}

const POLICIES = [0, 1, 3, 5, 7];

/** Triangles as a walk over the mesh (docs/format.md). */
function decodeFaces(data: Bytes, count: number, vertices: number, k: Kernels): Uint32Array {
  if (!data.length || count > (data.length + 8) * 2 ** 14) throw truncated("the mesh's faces are cut short");
  if (!POLICIES.includes(data[0]!)) throw corrupt("the mesh's faces are coded by no known policy");
  return k.scope(() => {
    const sizes = [k.room(4), k.room(4)] as const;
    k.call("kp_faces_scratch", "the mesh's faces", count, vertices, ...sizes);
    const [words, masks] = sizes.map((address) => k.view(Uint32Array, address, 1)[0]!) as [number, number];
    const out = k.room(12 * count);
    const scratch = [k.room(4 * words), k.room(24 * count + 8), k.room(masks)];
    const bytes = k.put(data.subarray(1));
    k.call("kp_faces_decode", "the mesh's faces", bytes, data.length - 1, out, count, vertices, data[0]!, ...scratch);
    return k.view(Uint32Array, out, 3 * count).slice();
  });
}
