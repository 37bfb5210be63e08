// Every codec this package decodes.

import { unsupported } from "../errors.js";
import type { ClipRecord } from "../clip-record.js";
import type { Codec } from "./base.js";
import { deltaLzma } from "./delta-lzma.js";
import { bapIndexing, frameDrop, mpeg4Float, sparseIndexing } from "./float-frames.js";
import { kine } from "./kine.js";
import { kineMesh } from "./kine-mesh.js";
import { meshCpca } from "./mesh-cpca.js";
import { meshPca } from "./mesh-pca.js";
import { meshPcaLpc } from "./mesh-pca-lpc.js";
import { mpeg4Dct16 } from "./mpeg4-dct16.js";
import { bapSparsing, mpeg4Predictive } from "./mpeg4-predictive.js";
import { pca } from "./pca.js";
import { raw } from "./raw.js";
import { wavelet, waveletOptimized } from "./wavelet.js";
import { waveletIk } from "./wavelet-ik.js";
import { waveletQuaternion } from "./wavelet-quaternion.js";
import { zstdFloat } from "./zstd-float.js";

export const codecs: ReadonlyMap<string, Codec> = new Map(
  [
    raw, zstdFloat, deltaLzma, kine, kineMesh, wavelet, waveletOptimized, waveletQuaternion, waveletIk, pca, mpeg4Float,
    mpeg4Predictive, mpeg4Dct16, frameDrop, bapSparsing, bapIndexing, sparseIndexing, meshPca, meshPcaLpc, meshCpca,
  ].map((codec) => [codec.id, codec]),
);

export function codecFor({ codec: id, codecVersion }: Pick<ClipRecord, "codec" | "codecVersion">): Codec {
  const codec = codecs.get(id);
  if (!codec) {
    throw unsupported(`the clip needs the codec '${id}', which this player does not have (it has ${[...codecs.keys()].join(", ")})`);
  }
  if (codecVersion > codec.version) throw unsupported(`the clip needs version ${codecVersion} of ${id}`);
  return codec;
}
