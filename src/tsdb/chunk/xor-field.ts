import type { BitReader } from './bit-reader.ts';
import type { BitWriter } from './bit-writer.ts';
import { OperatorError } from '../../base/errors.ts';

/**
 * One float column of a histogram chunk. Each value is XORed with the one before, as in an XOR chunk, but each column
 * has its own window of significant bits. An object either writes or reads.
 */
export class XorField {
  high = 0;
  low = 0;
  #leading = -1;
  #trailing = 0;

  /** Writes the first value as it is. */
  start(out: BitWriter, high: number, low: number): void {
    out.put64(high, low);
    this.high = high;
    this.low = low;
  }

  readStart(reader: BitReader): void {
    this.high = reader.bits(32);
    this.low = reader.bits(32);
  }

  write(out: BitWriter, high: number, low: number): void {
    const xh = high ^ this.high;
    const xl = low ^ this.low;
    this.high = high;
    this.low = low;
    if ((xh | xl) === 0) return out.put(0, 1);
    const leading = Math.min(31, xh !== 0 ? Math.clz32(xh) : 32 + Math.clz32(xl));
    const trailing = xl !== 0 ? 31 - Math.clz32(xl & -xl) : 63 - Math.clz32(xh & -xh);
    if (this.#leading >= 0 && leading >= this.#leading && trailing >= this.#trailing) {
      out.put(2, 2);
    } else {
      this.#leading = leading;
      this.#trailing = trailing;
      out.put((3 << 11) | (leading << 6) | ((64 - leading - trailing) & 63), 13);
    }
    this.#putShifted(out, xh, xl);
  }

  read(reader: BitReader): void {
    if (reader.bit() === 0) return;
    if (reader.bit() === 1) {
      this.#leading = reader.bits(5);
      this.#trailing = 64 - this.#leading - (reader.bits(6) || 64);
      if (this.#trailing < 0) throw new OperatorError('ERR_STORE_CORRUPT', 'chunk: a value has more than 64 bits');
    } else if (this.#leading < 0) this.#leading = 0;
    const shift = this.#trailing;
    const n = 64 - this.#leading - shift;
    const high = n > 32 ? reader.bits(n - 32) : 0;
    const low = reader.bits(Math.min(n, 32));
    if (shift >= 32) this.high ^= low << (shift - 32);
    else if (shift === 0) {
      this.high ^= high;
      this.low ^= low;
    } else {
      this.high ^= (high << shift) | (low >>> (32 - shift));
      this.low ^= low << shift;
    }
  }

  #putShifted(out: BitWriter, xh: number, xl: number): void {
    const shift = this.#trailing;
    const n = 64 - this.#leading - shift;
    if (shift >= 32) return out.put(xh >>> (shift - 32), n);
    const low = shift === 0 ? xl : (xl >>> shift) | (xh << (32 - shift));
    if (n > 32) out.put(xh >>> shift, n - 32);
    out.put(low, Math.min(n, 32));
  }
}
