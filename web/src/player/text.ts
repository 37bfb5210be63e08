// Numbers as people read them.

export function bytes(count: number): string {
  if (count < 10_000) return `${count.toLocaleString("en")} B`;
  if (count < 1e6) return `${(count / 1e3).toFixed(count < 1e5 ? 1 : 0)} kB`;
  return `${(count / 1e6).toFixed(count < 1e8 ? 1 : 0)} MB`;
}

/** Centimetres, three digits. */
export function length(cm: number): string {
  if (Number.isNaN(cm)) return "–";
  if (cm === 0) return "0 cm";
  if (cm < 1e-6) return "< 10⁻⁶ cm";
  return cm < 0.01 ? `${(cm * 1e4).toPrecision(3)} µm` : `${Number(cm.toPrecision(3))} cm`;
}

export function digits(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(3)));
}

export function clock(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const rest = (seconds - 60 * minutes).toFixed(2).padStart(5, "0");
  return `${minutes}:${rest}`;
}
