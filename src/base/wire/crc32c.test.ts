import { crc32c, crc32cConcat } from './crc32c.ts';

test('matches the check value of RFC 3720', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
});

test('gives the same checksum for bytes in one piece and for bytes in two pieces, wherever they are cut', () => {
  const bytes = Uint8Array.from({ length: 1000 }, (_, i) => (i * 31 + (i >> 3)) & 255);
  const whole = crc32c(bytes);
  for (let cut = 0; cut <= bytes.length; cut++) {
    expect(crc32c(bytes, crc32c(bytes, 0, 0, cut), cut)).toBe(whole);
  }
});

test('computes the checksum of the whole from the checksums of two pieces, without their bytes', () => {
  const bytes = Uint8Array.from({ length: 20_000 }, (_, i) => (i * 97 + (i >> 4)) & 255);
  const whole = crc32c(bytes);
  for (const cut of [0, 1, 15, 300, 15_904, 15_905, 19_999, 20_000]) {
    const second = crc32c(bytes, 0, cut);
    expect(crc32cConcat(crc32c(bytes, 0, 0, cut), second, bytes.length - cut)).toBe(whole);
    // The second call takes the factor that depends on the length from the cache.
    expect(crc32cConcat(crc32c(bytes, 0, 0, cut), second, bytes.length - cut)).toBe(whole);
  }
});
