// `mesh-pca`: principal components of whole frames (docs/codecs/mesh-pca.md).

import { ByteReader } from "../bytes.js";
import { corrupt } from "../errors.js";
import { type Codec, type Decoder, productDecoder } from "./base.js";
import { finish, takeFixed } from "./mesh/fixed-point.js";
import { takeShapes, withMean } from "./mesh/shapes.js";

export const meshPca: Codec = {
  id: "mesh-pca",
  version: 1,
  open(layout, { setup }, kernels): Decoder {
    if (layout.kind !== "mesh") throw corrupt("the stream is not of a mesh");
    const source = new ByteReader(setup);
    const [c, qC, qW] = [source.u32(), source.u8(), source.u8()];
    if (!(qC >= 2 && qC <= 32 && qW >= 2 && qW <= 32)) throw corrupt("the setup of mesh-pca makes no sense");
    const [mean, shapes, weight, centroid] = [source.f32(), source.f32(), source.f32(), source.f32()];
    const fixed = takeShapes(source, layout.vertices, c, qC, [mean, shapes], kernels);
    finish(source);
    return productDecoder({
      vertices: layout.vertices,
      components: 1 + c,
      clusters: 1,
      index: null,
      shapes: true,
      fixed,
      rows({ frames, data }) {
        const part = new ByteReader(data[0]!);
        const weights = takeFixed(part, frames * c, qW, weight, kernels);
        const offsets = takeFixed(part, frames * 3, qW, centroid, kernels);
        finish(part);
        return { offsets, values: withMean(weights, frames, c) };
      },
    });
  },
};
