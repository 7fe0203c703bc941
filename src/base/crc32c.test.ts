import { crc32c } from './crc32c.ts';

test('matches the check value of RFC 3720', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
});

test('gives the same sum in one piece and continued from any cut', () => {
  const bytes = Uint8Array.from({ length: 1000 }, (_, i) => (i * 31 + (i >> 3)) & 255);
  const whole = crc32c(bytes);
  for (const cut of [0, 1, 7, 8, 9, 500, 999, 1000]) {
    expect(crc32c(bytes, crc32c(bytes, 0, 0, cut), cut)).toBe(whole);
  }
});
