import { OperatorError } from '../../base/errors.ts';

const two32 = 4_294_967_296;

/**
 * Reads a chunk's bit stream, most significant bit first. Safe on untrusted bytes.
 * Errors: ERR_STORE_CORRUPT when more bits are requested than there are.
 */
export class BitReader {
  readonly #bytes: Uint8Array;
  readonly #limit: number;
  #pos: number;

  constructor(bytes: Uint8Array, startByte: number) {
    this.#bytes = bytes;
    this.#limit = bytes.length * 8;
    this.#pos = startByte * 8;
  }

  bit(): 0 | 1 {
    const pos = this.#pos++;
    if (pos >= this.#limit) throw short();
    return ((this.#bytes[pos >>> 3]! >>> (7 - (pos & 7))) & 1) as 0 | 1;
  }

  /** Reads `n` (1…32) bits as an unsigned number. */
  bits(n: number): number {
    const pos = this.#pos;
    if (pos + n > this.#limit) throw short();
    this.#pos = pos + n;
    const b = this.#bytes;
    const i = pos >>> 3;
    const shift = pos & 7;
    // Bytes past the end count as zero; the check above ensures that none of them is in the result.
    const word = (b[i]! << 24) | ((b[i + 1] ?? 0) << 16) | ((b[i + 2] ?? 0) << 8) | (b[i + 3] ?? 0);
    const left = shift === 0 ? word : (word << shift) | ((b[i + 4] ?? 0) >>> (8 - shift));
    return left >>> (32 - n);
  }

  /** Reads 64 bits as a signed number in two's complement, which is rounded above 2^53. */
  signed64(): number {
    const high = this.bits(32) | 0;
    return high * two32 + this.bits(32);
  }
}

function short(): OperatorError {
  return new OperatorError('ERR_STORE_CORRUPT', 'chunk: its samples reach past its end');
}
