import fc from 'fast-check';
import { ByteReader, ByteWriter } from './bytes.ts';

/**
 * Words as they occur in values: with only a few high bytes, or with any bytes. Trimmed, they lose the zero bytes at
 * their end.
 */
const word = fc.oneof(
  fc.integer({ min: -0x80000000, max: 0x7fffffff }),
  fc.constantFrom(0, 1, 0x40, 0x40000000, 0x7ff00000, -1, 0x00010000, -0x80000000, 0x00ff0000, 0x100),
);

test('trimmed words are read as they were written, in the middle of the bytes and at their end', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(word, word), { minLength: 1, maxLength: 30 }), (pairs) => {
      const out = new ByteWriter(1);
      for (const [high, low] of pairs) out.trimmedWords(high, low);
      const reader = new ByteReader(out.view());
      const read = pairs.map(() => {
        reader.trimmedWords();
        return [reader.high, reader.low];
      });
      expect(read).toEqual(pairs);
      expect(reader.done).toBe(true);
    }),
  );
});

test('trimmed words that reach past the end of a field are refused, whatever follows it', () => {
  const bytes = Uint8Array.of(3, 1, 2, 255, 255, 255, 255, 255, 255, 255, 255);
  expect(() => new ByteReader(bytes, 0, 3).trimmedWords()).toThrow(/past the end/);
  const reader = new ByteReader(bytes, 0, 4);
  reader.trimmedWords();
  expect([reader.high, reader.low]).toEqual([0x0102ff00, 0]);
});
