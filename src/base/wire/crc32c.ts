/**
 * CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), slice-by-16.
 * Check value: `crc32c("123456789")` is 0xE3069283. Source: RFC 3720 appendix B.4.
 */

const polynomial = 0x82f63b78;
/** Entry 256·k + b: what byte b does to the sum when k bytes follow it. One array, so that its address is constant. */
const table = buildTable();

/** The checksum of `bytes[start, end)` as an unsigned 32-bit number; pass a previous result as `seed` to continue. */
export function crc32c(bytes: Uint8Array, seed = 0, start = 0, end = bytes.length): number {
  let crc = ~seed;
  let i = start;
  for (; i + 16 <= end; i += 16) {
    crc =
      table[3840 + ((crc ^ bytes[i]!) & 255)]! ^
      table[3584 + (((crc >>> 8) ^ bytes[i + 1]!) & 255)]! ^
      table[3328 + (((crc >>> 16) ^ bytes[i + 2]!) & 255)]! ^
      table[3072 + ((crc >>> 24) ^ bytes[i + 3]!)]! ^
      table[2816 + bytes[i + 4]!]! ^
      table[2560 + bytes[i + 5]!]! ^
      table[2304 + bytes[i + 6]!]! ^
      table[2048 + bytes[i + 7]!]! ^
      table[1792 + bytes[i + 8]!]! ^
      table[1536 + bytes[i + 9]!]! ^
      table[1280 + bytes[i + 10]!]! ^
      table[1024 + bytes[i + 11]!]! ^
      table[768 + bytes[i + 12]!]! ^
      table[512 + bytes[i + 13]!]! ^
      table[256 + bytes[i + 14]!]! ^
      table[bytes[i + 15]!]!;
  }
  for (; i < end; i++) crc = table[(crc ^ bytes[i]!) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/**
 * The checksum of two adjacent pieces, from the checksum of each and the length of the second: bytes with a known
 * checksum need not be read again. Equal to `crc32c(b, first)`, where `b` are the bytes of the second piece.
 */
export function crc32cConcat(first: number, second: number, secondLength: number): number {
  return (multiply(power(secondLength), first) ^ second) >>> 0;
}

/** x^(8n) modulo the polynomial, by n, for the lengths seen so far: chunks have some hundreds of different lengths. */
const powers = new Uint32Array(4096);
const xToThe8 = 0x00800000;

function power(n: number): number {
  if (n < powers.length && powers[n] !== 0) return powers[n]!;
  let result = 0x80000000;
  let square = xToThe8;
  for (let rest = n; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = multiply(square, result);
    square = multiply(square, square);
  }
  if (n < powers.length) powers[n] = result;
  return result;
}

/** Product of two polynomials modulo ours; bit 31 is the constant term, as in every reflected CRC. */
function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let rest = a; rest !== 0; rest <<= 1) {
    product ^= shifted & (rest >> 31);
    shifted = (shifted >>> 1) ^ (polynomial & -(shifted & 1));
  }
  return product;
}

function buildTable(): Int32Array {
  const made = new Int32Array(16 * 256);
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? polynomial ^ (c >>> 1) : c >>> 1;
    made[n] = c;
  }
  for (let i = 256; i < made.length; i++) {
    const previous = made[i - 256]!;
    made[i] = made[previous & 255]! ^ (previous >>> 8);
  }
  return made;
}
