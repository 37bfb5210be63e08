// `.kine` for three.js:
//
//   const { clip, root } = await new KineLoader().loadAsync("walk.kine");
//   scene.add(root);
//   const mixer = new AnimationMixer(root); mixer.clipAction(clip).play();

import { type AnimationClip, Loader, type Object3D, type Skeleton as ThreeSkeleton } from "three";
import type { Rows } from "../codecs/product.js";
import { usage } from "../errors.js";
import type { Topology } from "../model.js";
import { type KineClip, open, type OpenOptions, type Place } from "../reader.js";
import { KineStream } from "../stream.js";
import { CpuFrames } from "./cpu-frames.js";
import { GpuFrames } from "./gpu-frames.js";
import { KineMesh, meshClip, type MeshFrames } from "./mesh.js";
import { bonesOf, skeletonClip } from "./skeleton.js";

export { CpuFrames, GpuFrames, KineMesh, type MeshFrames };

export interface KineResult {
  /** To be played on `root` by an AnimationMixer. */
  clip: AnimationClip;
  /** What to add to a scene, in metres: bones in a group, or a KineMesh. */
  root: Object3D;
  /** Of a skeletal clip; bind it to a SkinnedMesh or draw it with a SkeletonHelper. */
  skeleton: ThreeSkeleton | null;
  /** Of a mesh animation. */
  mesh: KineMesh | null;
  source: KineClip;
  /** Resolves when all frames are here. */
  complete: Promise<void>;
}

export class KineLoader extends Loader<KineResult> {
  /** Which clip of a file of several, by name or number. */
  which: string | number = 0;
  /** Whether graphics processors decode meshes, where the codec allows it; they need a WebGLRenderer. */
  gpu = true;
  /** Whether a mesh is there with its first frames, while the others still arrive, those to be shown next first. */
  streaming = false;
  /** For files whose skeleton is kept in another file, and for slow connections. */
  options: OpenOptions = {};

  setClip(which: string | number): this {
    this.which = which;
    return this;
  }

  override load(
    url: string,
    onLoad: (result: KineResult) => void,
    _onProgress?: (event: ProgressEvent) => void,
    onError?: (error: unknown) => void,
  ): void {
    const place = this.manager.resolveURL(this.path + url);
    this.manager.itemStart(place);
    this.parse(place)
      .then(onLoad)
      .catch((error: unknown) => {
        this.manager.itemError(place);
        if (onError) onError(error);
        else console.error(error);
      })
      .finally(() => this.manager.itemEnd(place));
  }

  /** The same from a File, Blob or bytes. */
  async parse(place: Place): Promise<KineResult> {
    const file = await open(place, this.options);
    let complete = Promise.resolve();
    try {
      const source = await file.clip(this.which);
      const gpu = this.gpu ? await GpuFrames.of(source) : null;
      if (!gpu) return { ...(await wholeResult(source)), complete };
      const { mesh, begun, all } = arriving(source, gpu);
      complete = all;
      await (this.streaming ? Promise.race([begun, all]) : all);
      return { ...meshResult(source, mesh), complete };
    } finally {
      void complete.catch(() => {}).finally(() => file.close());
    }
  }
}

async function wholeResult(source: KineClip) {
  if (source.layout.kind === "mesh") return meshResult(source, new KineMesh(source.layout, await cpuFrames(source)));
  const frames = await source.decode();
  const { root, skeleton } = bonesOf(source.layout);
  const local = (await source.rig()).local(frames.values as Float64Array, frames.frames);
  return { clip: skeletonClip(source, skeleton.bones, local), root, skeleton, mesh: null, source };
}

const meshResult = (source: KineClip, mesh: KineMesh) =>
  ({ clip: meshClip(source, mesh), root: mesh, skeleton: null, mesh, source });

/** A mesh whose frames arrive; `begun` is the first run of them, `all` all. */
function arriving(source: KineClip, gpu: GpuFrames): { mesh: KineMesh; begun: Promise<void>; all: Promise<void> } {
  const mesh = new KineMesh(source.layout as Topology, gpu);
  let begin = () => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  let damage: unknown = null;
  const stream = new KineStream<Rows>(source, {
    decode: (run, data) => source.rows(run, data),
    onRun: (run, rows) => {
      gpu.take(source.runs[run]!.first, rows, source.runs[run]!.frames);
      mesh.refresh();
      begin();
    },
    onDamage: (_run, error) => (damage ??= error),
  });
  gpu.onShow = (frame) => stream.playAt(frame);
  gpu.onDispose = () => stream.close();
  const all = stream.done.then(() => {
    if (stream.failure ?? damage) throw stream.failure ?? damage;
  });
  return { mesh, begun, all };
}

async function cpuFrames(source: KineClip): Promise<MeshFrames> {
  const { values, width, frames } = await source.decode();
  if (!(values instanceof Float32Array)) throw usage("a mesh decodes to float32");
  return new CpuFrames(width / 3, frames, (frame) => values.subarray(frame * width, (frame + 1) * width));
}
