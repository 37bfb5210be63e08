// Figure 8 of Sattler 2005 in GLSL ES 3.00: a vertex of any frame from textures that hold the compressed animation.

import type { Planes } from "./planes.js";

/** `#define`s of the variant that suits some planes. */
export function definesOf({ shapes, index }: Planes, rings: boolean): string {
  const wanted = { KINE_SHAPES: shapes, KINE_CLUSTERED: index !== null, KINE_RINGS: rings };
  return Object.entries(wanted).map(([name, set]) => (set ? `#define ${name}\n` : "")).join("");
}

/** Values of `kineShape`. */
export const shapeOf = ({ quads, vertexTexels, clusterTexels }: Planes) => [quads, vertexTexels, clusterTexels];

export const DECODING = /* glsl */ `
uniform highp isampler2D kineFixed;   // of vertices: weights, or shapes
uniform highp sampler2D kineMoving;   // of frames: offset of each cluster, then eigentrajectories, or weights
uniform highp usampler2D kineIndex;   // cluster of each vertex
uniform highp usampler2D kineRings;   // neighbours of each vertex
uniform highp ivec4 kineBits;         // log2 of their widths
uniform highp ivec3 kineShape;        // components by fours; texels of a vertex; texels of a cluster
uniform highp ivec2 kineFrames;       // first texels of the two frames
uniform highp float kineShare;        // of the second one

ivec2 kineAt(int n, int bits) { return ivec2(n & ((1 << bits) - 1), n >> bits); }

vec4 kineVertexTexel(int n) { return vec4(texelFetch(kineFixed, kineAt(n, kineBits.x), 0)); }

vec4 kineFrameTexel(int n) {
  vec4 a = texelFetch(kineMoving, kineAt(kineFrames.x + n, kineBits.y), 0);
  if (kineShare == 0.0) return a;
  return mix(a, texelFetch(kineMoving, kineAt(kineFrames.y + n, kineBits.y), 0), kineShare);
}

vec3 kineSum(vec4 weights, vec4 a, vec4 b, vec4 c) {
  return weights.x * a.xyz + weights.y * vec3(a.w, b.xy) + weights.z * vec3(b.zw, c.x) + weights.w * c.yzw;
}

vec3 kineVertex(int vertex) {
  int frame = 0;
#ifdef KINE_CLUSTERED
  frame = int(texelFetch(kineIndex, kineAt(vertex, kineBits.z), 0).r) * kineShape.z;
#endif
  int own = vertex * kineShape.y;
  vec3 point = kineFrameTexel(frame++).xyz;
  for (int n = 0; n < kineShape.x; n++) {
#ifdef KINE_SHAPES
    int at = own + 3 * n;
    point += kineSum(kineFrameTexel(frame + n), kineVertexTexel(at), kineVertexTexel(at + 1), kineVertexTexel(at + 2));
#else
    int at = frame + 3 * n;
    point += kineSum(kineVertexTexel(own + n), kineFrameTexel(at), kineFrameTexel(at + 1), kineFrameTexel(at + 2));
#endif
  }
  return point;
}

#ifdef KINE_RINGS
int kineRing(int n) { return int(texelFetch(kineRings, kineAt(n, kineBits.w), 0).r); }

// The sum of the normals of the faces around a vertex, each as long as its face is large.
vec3 kineNormal(int vertex, vec3 point) {
  vec3 sum = vec3(0.0);
  vec3 before = vec3(0.0);
  int end = kineRing(vertex + 1);
  for (int n = kineRing(vertex); n < end; n++) {
    int neighbour = kineRing(n);
    vec3 spoke = kineVertex(neighbour >> 1) - point;
    if ((neighbour & 1) == 1) sum += cross(before, spoke);
    before = spoke;
  }
  float size = length(sum);
  return size > 0.0 ? sum / size : vec3(0.0, 1.0, 0.0);
}
#endif
`;
