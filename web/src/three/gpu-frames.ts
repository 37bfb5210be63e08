// A compressed mesh animation in textures: the vertex shader of whatever material the mesh has decodes it (gpu/shader.ts).

import {
  Box3,
  type BufferGeometry,
  DataTexture,
  FloatType,
  type IUniform,
  type Material,
  RedIntegerFormat,
  RGBAFormat,
  RGBAIntegerFormat,
  ShortType,
  Sphere,
  UnsignedIntType,
  UnsignedShortType,
  Vector3,
} from "three";
import type { Rows } from "../codecs/product.js";
import type { Topology } from "../model.js";
import { type Plane, Planes } from "../gpu/planes.js";
import { ringsOf } from "../gpu/rings.js";
import { DECODING, definesOf, shapeOf } from "../gpu/shader.js";
import type { KineClip } from "../reader.js";
import type { MeshFrames } from "./mesh.js";

/** Vertices times components up to which normals are smooth: each takes the vertex's neighbours to be decoded as well. */
const SMOOTH_WORK = 1_000_000;
const adopted = new WeakSet<Material>();

/** A geometry without normals is drawn flat by three.js; the shader has them. */
const shading = (material: Material) => ("flatShading" in material && material.flatShading ? "" : SMOOTH);
const SMOOTH = "#undef FLAT_SHADED\n#undef HAS_NORMAL\n#define HAS_NORMAL\n";

export class GpuFrames implements MeshFrames {
  readonly kind = "gpu";
  readonly smooth: boolean;
  readonly sphere = new Sphere();
  /** Told of every frame that is asked for, here or not. */
  onShow: (frame: number) => void = () => {};
  onDispose: () => void = () => {};
  private readonly uniforms: Record<string, IUniform> = {};
  private readonly textures: DataTexture[] = [];
  private readonly moving: DataTexture;
  private readonly defines: string;
  private readonly have: Uint8Array;
  private shown: [before: number, after: number, share: number] = [0, 0, 0];

  constructor(
    topology: Topology,
    readonly planes: Planes,
  ) {
    const { fixed, index } = planes;
    this.have = new Uint8Array(planes.frames);
    const rings = planes.vertices * 4 * planes.quads <= SMOOTH_WORK ? ringsOf(topology.faces, topology.vertices) : null;
    this.smooth = rings !== null;
    this.defines = definesOf(planes, this.smooth);
    this.texture("kineFixed", fixed, ["RGBA16I", RGBAIntegerFormat, ShortType]);
    this.moving = this.texture("kineMoving", planes.moving, ["RGBA32F", RGBAFormat, FloatType]);
    if (index) this.texture("kineIndex", index, ["R16UI", RedIntegerFormat, UnsignedShortType]);
    if (rings) this.texture("kineRings", rings, ["R32UI", RedIntegerFormat, UnsignedIntType]);
    this.uniforms.kineBits = { value: [fixed.bits, planes.moving.bits, index?.bits ?? 0, rings?.bits ?? 0] };
    this.uniforms.kineShape = { value: shapeOf(planes) };
    this.uniforms.kineFrames = { value: [0, 0] };
    this.uniforms.kineShare = { value: 0 };
  }

  /** Of a clip that is a product and fits into textures, no frames there yet; else null. */
  static async of(clip: KineClip): Promise<GpuFrames | null> {
    const product = await clip.product();
    const planes = product && Planes.of(product, clip.frames);
    return planes && clip.layout.kind === "mesh" ? new GpuFrames(clip.layout, planes) : null;
  }

  get frames(): number {
    return this.planes.frames;
  }

  /** Everything of the animation that is in textures. */
  get bytes(): number {
    return this.textures.reduce((sum, { image }) => sum + image.data!.byteLength, 0);
  }

  /** The longest side of a texture. */
  get side(): number {
    return Math.max(...this.textures.map(({ image }) => Math.max(image.width, image.height)));
  }

  /** Rows of frames that have arrived; only they are sent to the graphics processor. */
  take(first: number, rows: Rows, count: number): void {
    const { planes, moving } = this;
    planes.put(first, rows, count);
    this.have.fill(1, first, first + count);
    const { width, bits } = planes.moving;
    const [start, stop] = [planes.texelOf(first), planes.texelOf(first + count)];
    const partly = "addUpdateRange" in moving; // older three.js sends all of a texture again
    for (let row = start >> bits; partly && row << bits < stop; row++) moving.addUpdateRange(4 * row * width, 4 * width);
    moving.needsUpdate = true;
  }

  attach(geometry: BufferGeometry): void {
    geometry.computeBoundingSphere = () => {
      geometry.boundingSphere = new Sphere().setFromPoints(this.points());
    };
    geometry.computeBoundingBox = () => {
      geometry.boundingBox = new Box3().setFromPoints(this.points());
    };
  }

  /** The material with a vertex shader that decodes; a copy of it if it is another mesh's already. */
  adopt<T extends Material>(material: T): T {
    const own = adopted.has(material) ? material.clone() : material;
    adopted.add(own);
    if (!this.smooth && "flatShading" in own) own.flatShading = true;
    const { onBeforeCompile, customProgramCacheKey } = own;
    own.onBeforeCompile = (shader, renderer) => {
      onBeforeCompile.call(own, shader, renderer);
      Object.assign(shader.uniforms, this.uniforms);
      shader.vertexShader = shading(own) + this.decoding(shader.vertexShader);
      shader.fragmentShader = shading(own) + shader.fragmentShader;
    };
    own.customProgramCacheKey = () => customProgramCacheKey.call(own) + this.defines + shading(own);
    own.needsUpdate = true;
    return own;
  }

  /** Of frames that are not here yet the mesh stays as it is. */
  show(before: number, after: number, share: number): void {
    this.onShow(before);
    if (!this.have[before]) return;
    if (!this.have[after]) share = 0;
    this.shown = [before, after, share];
    this.uniforms.kineFrames!.value = [this.planes.texelOf(before), this.planes.texelOf(after)];
    this.uniforms.kineShare!.value = share;
    const [x, y, z, radius] = this.planes.sphere(before);
    this.sphere.set(new Vector3(x, y, z), radius);
    if (share === 0) return;
    const [x2, y2, z2, radius2] = this.planes.sphere(after);
    this.sphere.union(new Sphere(new Vector3(x2, y2, z2), radius2));
  }

  point(vertex: number, out: Vector3): Vector3 {
    const [before, after, share] = this.shown;
    const [a, b] = [new Float32Array(3), new Float32Array(3)];
    this.planes.multiply(before, a, vertex);
    this.planes.multiply(after, b, vertex);
    return out.fromArray(a).lerp(new Vector3().fromArray(b), share);
  }

  dispose(): void {
    for (const texture of this.textures) texture.dispose();
    this.onDispose();
  }

  private points(): Vector3[] {
    return Array.from({ length: this.planes.vertices }, (_, v) => this.point(v, new Vector3()));
  }

  private decoding(vertexShader: string): string {
    if (!vertexShader.includes("#include <begin_vertex>")) return vertexShader; // not one of three.js's own
    const normal = this.smooth ? "kineNormal(gl_VertexID, kinePoint)" : "vec3(0.0, 1.0, 0.0)";
    return vertexShader
      .replace("#include <common>", `#include <common>\n${this.defines}${DECODING}`)
      .replace("void main() {", "void main() {\nvec3 kinePoint = kineVertex(gl_VertexID);")
      .replace("#include <beginnormal_vertex>", `vec3 objectNormal = ${normal};`)
      .replace("#include <begin_vertex>", "vec3 transformed = kinePoint;");
  }

  private texture(
    name: string, { data, width, height }: Plane<BufferSource>, [internal, format, type]: [string, number, number],
  ): DataTexture {
    const texture = new DataTexture(data as never, width, height, format as never, type as never);
    texture.internalFormat = internal as never;
    texture.needsUpdate = true;
    this.textures.push(texture);
    this.uniforms[name] = { value: texture };
    return texture;
  }
}
