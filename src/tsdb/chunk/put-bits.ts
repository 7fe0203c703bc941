/** Bytes that `putWord` and `putPair` may touch, starting with the byte of the bit position: keep this many free. */
export const putSlackBytes = 9;

/**
 * Writes up to 32 bits at a bit position, most significant first. They are the top bits of `word`, whose other bits
 * must be zero. The bits that follow in the buffer are cleared, so that memory can be reused without being wiped.
 * No loops and no branches: this is the hot spot of the encoders.
 */
export function putWord(view: DataView, pos: number, word: number): void {
  const i = pos >>> 3;
  const shift = pos & 7;
  view.setInt32(i, (kept(view, i, shift) << 24) | (word >>> shift));
  // At a byte boundary the shift is eight, which clears the byte, as it should.
  view.setUint8(i + 4, word << (8 - shift));
}

/** Like `putWord`, for up to 64 bits in two words. */
export function putPair(view: DataView, pos: number, first: number, second: number): void {
  const i = pos >>> 3;
  const shift = pos & 7;
  view.setInt32(i, (kept(view, i, shift) << 24) | (first >>> shift));
  // In two steps, because JavaScript treats a shift by 32 as a shift by 0.
  view.setInt32(i + 4, ((first << 1) << (31 - shift)) | (second >>> shift));
  view.setUint8(i + 8, second << (8 - shift));
}

/** The bits of byte `i` before the position, which must be kept. */
function kept(view: DataView, i: number, shift: number): number {
  return view.getUint8(i) & (0xff00 >>> shift);
}
