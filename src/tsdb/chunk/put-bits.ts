/** Bytes that `putWord` and `putPair` may touch from the byte of the bit position on: keep so many free. */
export const putSlackBytes = 9;

/**
 * Writes up to 32 bits, which stand at the top of `word` with zeros behind them, at a bit position; most significant
 * first. What stands behind them is cleared, so that memory can be used again without being wiped.
 * No loops and no branches: this is the hot spot of the encoders.
 */
export function putWord(view: DataView, pos: number, word: number): void {
  const i = pos >>> 3;
  const shift = pos & 7;
  view.setInt32(i, (kept(view, i, shift) << 24) | (word >>> shift));
  // Shifted by eight nothing is left of the word's lowest byte, as it should be when it begins with a byte.
  view.setUint8(i + 4, word << (8 - shift));
}

/** As `putWord`, up to 64 bits in two words. */
export function putPair(view: DataView, pos: number, first: number, second: number): void {
  const i = pos >>> 3;
  const shift = pos & 7;
  view.setInt32(i, (kept(view, i, shift) << 24) | (first >>> shift));
  // In two steps, because a shift by 32 is one by nothing.
  view.setInt32(i + 4, ((first << 1) << (31 - shift)) | (second >>> shift));
  view.setUint8(i + 8, second << (8 - shift));
}

/** The bits of byte `i` before the position, which are to stay. */
function kept(view: DataView, i: number, shift: number): number {
  return view.getUint8(i) & (0xff00 >>> shift);
}
