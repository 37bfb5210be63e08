// Vertices decoded by a graphics processor and read back: for pages that draw with WebGL2 themselves.

import { unsupported } from "../errors.js";
import type { KineClip } from "../reader.js";
import { type Plane, Planes } from "./planes.js";
import { DECODING, definesOf, shapeOf } from "./shader.js";

const VERTEX = /* glsl */ `
out vec3 vertex;
void main() { vertex = kineVertex(gl_VertexID); }
`;
const SAMPLERS = ["kineFixed", "kineMoving", "kineIndex"];
const FRAGMENT = "#version 300 es\nvoid main() {}\n";

export class GpuDecoder {
  private readonly program: WebGLProgram;
  private readonly textures: WebGLTexture[] = [];
  private readonly output: WebGLBuffer;
  private readonly feedback: WebGLTransformFeedback;
  private readonly framesAt: WebGLUniformLocation | null;
  private readonly shareAt: WebGLUniformLocation | null;

  constructor(
    readonly gl: WebGL2RenderingContext,
    readonly planes: Planes,
  ) {
    this.program = programOf(gl, `#version 300 es\n${definesOf(planes, false)}${DECODING}${VERTEX}`);
    this.addTexture(planes.fixed, gl.RGBA16I, gl.RGBA_INTEGER, gl.SHORT);
    this.addTexture(planes.moving, gl.RGBA32F, gl.RGBA, gl.FLOAT);
    if (planes.index) this.addTexture(planes.index, gl.R16UI, gl.RED_INTEGER, gl.UNSIGNED_SHORT);
    const at = (name: string) => gl.getUniformLocation(this.program, name);
    gl.useProgram(this.program);
    SAMPLERS.forEach((name, unit) => gl.uniform1i(at(name), unit));
    gl.uniform4i(at("kineBits"), planes.fixed.bits, planes.moving.bits, planes.index?.bits ?? 0, 0);
    gl.uniform3iv(at("kineShape"), shapeOf(planes));
    [this.framesAt, this.shareAt] = [at("kineFrames"), at("kineShare")];
    this.output = gl.createBuffer()!;
    gl.bindBuffer(gl.TRANSFORM_FEEDBACK_BUFFER, this.output);
    gl.bufferData(gl.TRANSFORM_FEEDBACK_BUFFER, 12 * planes.vertices, gl.STREAM_COPY);
    this.feedback = gl.createTransformFeedback()!;
  }

  /** A whole clip, on a context of its own unless there is one. */
  static async load(clip: KineClip, gl = newContext()): Promise<GpuDecoder> {
    const product = await clip.product();
    const planes = product && Planes.of(product, clip.frames);
    if (!planes) throw unsupported(`a clip of ${clip.codec} cannot be decoded by a graphics processor`);
    for (const [n, { first, frames }] of clip.runs.entries()) planes.put(first, await clip.rows(n), frames);
    return new GpuDecoder(gl, planes);
  }

  /** Rows of frames that `planes` has taken since: those of `count` frames go to the graphics processor. */
  update(first: number, count: number): void {
    const { gl, planes } = this;
    const { data, width, bits } = planes.moving;
    const row = planes.texelOf(first) >> bits;
    const rows = (((planes.texelOf(first + count) - 1) >> bits) - row) + 1;
    gl.bindTexture(gl.TEXTURE_2D, this.textures[1]!);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, row, width, rows, gl.RGBA, gl.FLOAT, data.subarray(4 * row * width));
  }

  /** Computes the vertices of a frame, or of a place between two, into the buffer `vertices`. */
  compute(frame: number): void {
    const { gl, planes, program } = this;
    gl.useProgram(program);
    this.textures.forEach((texture, unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, texture);
    });
    const before = Math.floor(frame);
    gl.uniform2i(this.framesAt, planes.texelOf(before), planes.texelOf(Math.min(before + 1, planes.frames - 1)));
    gl.uniform1f(this.shareAt, frame - before);
    gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, this.feedback);
    gl.bindBufferBase(gl.TRANSFORM_FEEDBACK_BUFFER, 0, this.output);
    gl.enable(gl.RASTERIZER_DISCARD);
    gl.beginTransformFeedback(gl.POINTS);
    gl.drawArrays(gl.POINTS, 0, planes.vertices);
    gl.endTransformFeedback();
    gl.disable(gl.RASTERIZER_DISCARD);
    gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, null);
  }

  /** [vertices * 3] floats on the graphics processor, to be bound as an attribute. */
  get vertices(): WebGLBuffer {
    return this.output;
  }

  /** The vertices of a frame, read back. */
  decode(frame: number, out = new Float32Array(3 * this.planes.vertices)): Float32Array {
    const { gl } = this;
    this.compute(frame);
    gl.bindBuffer(gl.TRANSFORM_FEEDBACK_BUFFER, this.output);
    gl.getBufferSubData(gl.TRANSFORM_FEEDBACK_BUFFER, 0, out);
    gl.bindBuffer(gl.TRANSFORM_FEEDBACK_BUFFER, null);
    return out;
  }

  dispose(): void {
    const { gl } = this;
    for (const texture of this.textures) gl.deleteTexture(texture);
    gl.deleteBuffer(this.output);
    gl.deleteTransformFeedback(this.feedback);
    gl.deleteProgram(this.program);
  }

  private addTexture(plane: Plane<ArrayBufferView>, internal: number, format: number, type: number): void {
    const { gl } = this;
    const texture = gl.createTexture()!;
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texImage2D(gl.TEXTURE_2D, 0, internal, plane.width, plane.height, 0, format, type, plane.data);
    this.textures.push(texture);
  }
}

function newContext(): WebGL2RenderingContext {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) throw unsupported("this browser has no WebGL2");
  return gl;
}

function programOf(gl: WebGL2RenderingContext, vertex: string): WebGLProgram {
  const program = gl.createProgram()!;
  for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
    const shader = gl.createShader(type)!;
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    gl.deleteShader(shader);
  }
  gl.transformFeedbackVaryings(program, ["vertex"], gl.SEPARATE_ATTRIBS);
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
    throw unsupported(`the graphics processor refuses the shader: ${gl.getProgramInfoLog(program)}`);
  }
  return program;
}
