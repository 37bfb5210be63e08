// Colours of the page for the 3D view, and the ramp of the error heat.

import { Color } from "three";

const property = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export const themed = (name: string) => new Color(property(name).slice(0, 7));
export const themedNumber = (name: string) => Number(property(name));

/** Blue, green, yellow, red: readable on light and dark ground. */
const RAMP = [0x3b6fd4, 0x2fae7b, 0xe9c23c, 0xd62f2f].map((hex) => new Color(hex));

/** Colour of an error, 0 to 1 of the scale. */
export function heat(share: number, out: Color): Color {
  const at = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1);
  const n = Math.min(Math.floor(at), RAMP.length - 2);
  return out.lerpColors(RAMP[n]!, RAMP[n + 1]!, at - n);
}

export function paintRamp(canvas: HTMLCanvasElement): void {
  const pen = canvas.getContext("2d")!;
  const colour = new Color();
  for (let x = 0; x < canvas.width; x++) {
    pen.fillStyle = `#${heat(x / (canvas.width - 1), colour).getHexString()}`;
    pen.fillRect(x, 0, 1, canvas.height);
  }
}
