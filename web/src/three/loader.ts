// `.kine` for three.js:
//
//   const { clip, root } = await new KineLoader().loadAsync("walk.kine");
//   scene.add(root);
//   const mixer = new AnimationMixer(root); mixer.clipAction(clip).play();

import { type AnimationClip, Loader, type Object3D, type Skeleton as ThreeSkeleton } from "three";
import { usage } from "../errors.js";
import { type KineClip, open, type OpenOptions, type Place } from "../reader.js";
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
}

export class KineLoader extends Loader<KineResult> {
  /** Which clip of a file of several, by name or number. */
  which: string | number = 0;
  /** Whether graphics processors decode meshes, where the codec allows it; they need a WebGLRenderer. */
  gpu = true;
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
    try {
      return await resultOf(await file.clip(this.which), this.gpu);
    } finally {
      file.close();
    }
  }
}

async function resultOf(source: KineClip, gpu: boolean): Promise<KineResult> {
  if (source.layout.kind === "mesh") {
    const mesh = new KineMesh(source.layout, (gpu && (await gpuFrames(source))) || (await cpuFrames(source)));
    return { clip: meshClip(source, mesh), root: mesh, skeleton: null, mesh, source };
  }
  const frames = await source.decode();
  const { root, skeleton } = bonesOf(source.layout);
  const clip = skeletonClip(source, skeleton.bones, (await source.rig()).local(frames.values as Float64Array, frames.frames));
  return { clip, root, skeleton, mesh: null, source };
}

async function gpuFrames(source: KineClip): Promise<MeshFrames | null> {
  const found = await GpuFrames.of(source);
  if (found) for (const [n, { first, frames }] of source.runs.entries()) found.take(first, await source.rows(n), frames);
  return found;
}

async function cpuFrames(source: KineClip): Promise<MeshFrames> {
  const { values, width, frames } = await source.decode();
  if (!(values instanceof Float32Array)) throw usage("a mesh decodes to float32");
  return new CpuFrames(width / 3, frames, (frame) => values.subarray(frame * width, (frame + 1) * width));
}
