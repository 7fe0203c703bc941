/**
 * CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), slice-by-8.
 * Check value: `crc32c("123456789")` is 0xE3069283. Source: RFC 3720 appendix B.4.
 */
const tables = buildTables();

/** The checksum of `bytes[start, end)` as an unsigned 32-bit number; pass a previous result as `seed` to continue. */
export function crc32c(bytes: Uint8Array, seed = 0, start = 0, end = bytes.length): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = tables;
  let crc = ~seed;
  let i = start;
  for (; i + 8 <= end; i += 8) {
    crc ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    crc =
      t7[crc & 255]! ^
      t6[(crc >>> 8) & 255]! ^
      t5[(crc >>> 16) & 255]! ^
      t4[crc >>> 24]! ^
      t3[bytes[i + 4]!]! ^
      t2[bytes[i + 5]!]! ^
      t1[bytes[i + 6]!]! ^
      t0[bytes[i + 7]!]!;
  }
  for (; i < end; i++) crc = t0[(crc ^ bytes[i]!) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

type Tables = readonly [Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array];

function buildTables(): Tables {
  const made = Array.from({ length: 8 }, () => new Int32Array(256));
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0x82f63b78 ^ (c >>> 1) : c >>> 1;
    made[0]![n] = c;
  }
  for (let n = 0; n < 256; n++) {
    for (let k = 1; k < 8; k++) {
      const previous = made[k - 1]![n]!;
      made[k]![n] = made[0]![previous & 255]! ^ (previous >>> 8);
    }
  }
  return made as unknown as Tables;
}
