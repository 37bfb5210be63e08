// Energy of a wireless card that receives a motion: Eq. 11 of Chattopadhyay, Bhandarkar and Li (MPEG-4 BAP-indexing and BAP-sparsing),
// with the powers of their Table 1.

/** mW while receiving, and while asleep. */
export const RECEIVING = 1425;
export const SLEEPING = 177;
/** kbit/s of their three networks; a kbit is 1024 bits. */
export const BANDWIDTHS = [128, 1024, 4096];

/** mJ for `bytes` that play for `seconds`. */
export function networkEnergy(bytes: number, seconds: number, kbitPerSecond: number): number {
  const receiving = (8 * bytes) / (1024 * kbitPerSecond);
  return RECEIVING * receiving + SLEEPING * (seconds - receiving);
}

export const rateName = (kbit: number) => (kbit >= 1024 ? `${kbit / 1024} Mbit/s` : `${kbit} kbit/s`);
