// `.kine` for three.js:
//
//   const { clip, root } = await new KineLoader().loadAsync("walk.kine");
//   scene.add(root);
//   const mixer = new AnimationMixer(root); mixer.clipAction(clip).play();

import { type AnimationClip, Loader, type Object3D, type Skeleton as ThreeSkeleton } from "three";
import { usage } from "../errors.js";
import { type KineClip, open, type OpenOptions, type Place } from "../reader.js";
import { KineMesh, meshClip } from "./mesh.js";
import { bonesOf, skeletonClip } from "./skeleton.js";

export { KineMesh };

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
      return await resultOf(await file.clip(this.which));
    } finally {
      file.close();
    }
  }
}

async function resultOf(source: KineClip): Promise<KineResult> {
  const frames = await source.decode();
  if (source.layout.kind === "mesh") {
    if (!(frames.values instanceof Float32Array)) throw usage("a mesh decodes to float32");
    const mesh = new KineMesh(source.layout, frames.values);
    return { clip: meshClip(source, mesh), root: mesh, skeleton: null, mesh, source };
  }
  const { root, skeleton } = bonesOf(source.layout);
  const clip = skeletonClip(source, skeleton.bones, (await source.rig()).local(frames.values as Float64Array, frames.frames));
  return { clip, root, skeleton, mesh: null, source };
}
