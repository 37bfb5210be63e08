// An endless floor of squares that fades with distance.

import { Color, Mesh, PlaneGeometry, ShaderMaterial, type Vector3 } from "three";
import { themed } from "./colours.js";

const VERTEX = `
varying vec2 place;
void main() {
  vec4 world = modelMatrix * vec4(position, 1.0);
  place = world.xz;
  gl_Position = projectionMatrix * viewMatrix * world;
}`;

const FRAGMENT = `
uniform vec3 colour;
uniform float cell;
uniform float reach;
uniform vec2 middle;
varying vec2 place;

float lines(float width) {
  vec2 at = place / width;
  vec2 edge = abs(fract(at - 0.5) - 0.5) / fwidth(at);
  return 1.0 - min(min(edge.x, edge.y), 1.0);
}

void main() {
  float fade = 1.0 - smoothstep(0.15 * reach, reach, distance(place, middle));
  float near = 1.0 - smoothstep(0.0, 0.45 * reach, distance(place, middle));
  float ink = max(lines(cell), 0.4 * near * lines(cell / 5.0));
  gl_FragColor = vec4(colour, ink * fade * 0.9);
  #include <colorspace_fragment>
}`;

export class Floor extends Mesh<PlaneGeometry, ShaderMaterial> {
  constructor() {
    const uniforms = {
      colour: { value: new Color() },
      cell: { value: 100 },
      reach: { value: 1000 },
      middle: { value: [0, 0] },
    };
    const material = new ShaderMaterial({
      uniforms, vertexShader: VERTEX, fragmentShader: FRAGMENT, transparent: true, depthWrite: false,
    });
    super(new PlaneGeometry(1, 1), material);
    this.rotation.x = -Math.PI / 2;
    this.frustumCulled = false;
    this.recolour();
  }

  /** At a height, with squares of a size, both in cm. */
  place(height: number, cell: number): void {
    this.position.y = height;
    this.material.uniforms.cell!.value = cell;
  }

  follow(target: Vector3, size: number): void {
    const reach = 9 * size;
    this.position.x = target.x;
    this.position.z = target.z;
    this.scale.set(2 * reach, 2 * reach, 1);
    this.material.uniforms.reach!.value = reach;
    this.material.uniforms.middle!.value = [target.x, target.z];
  }

  recolour(): void {
    this.material.uniforms.colour!.value = themed("grid");
  }
}
