import fc from 'fast-check';
import { WireReader, WireWriter } from './protobuf-wire.ts';

test('nested messages of any length that are written in place are read back unchanged', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 })), (parts) => {
      const out = new WireWriter(1);
      const outer = out.open(3);
      for (const part of parts) {
        const inner = out.open(1);
        out.raw(part).close(inner);
      }
      out.close(outer).uint(4, 7);
      const reader = new WireReader(out.finish());
      expect(reader.key()).toBe(3 * 8 + 2);
      const message = reader.message();
      const found: Uint8Array[] = [];
      while (!message.done) {
        expect(message.key()).toBe(10);
        found.push(message.view().slice());
      }
      // Compared as bytes: Jest would take seconds to compare two million numbers one by one.
      expect(found.map(({ length }) => length)).toEqual(parts.map(({ length }) => length));
      expect(Buffer.concat(found).equals(Buffer.concat(parts))).toBe(true);
      expect([reader.key(), reader.uint(), reader.done]).toEqual([32, 7, true]);
    }),
    // Lengths that are written in one to four bytes, on either side of each limit.
    {
      examples: [127, 128, 16_383, 16_384, 2_097_152].map((length) => [
        [new Uint8Array(length).fill(7), new Uint8Array(1)],
      ]),
    },
  );
});

test('strings of any length are read back unchanged, and lone surrogates are replaced in the UTF-8', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 60 })), (texts) => {
      const out = new WireWriter(1);
      for (const text of texts) out.string(1, text);
      const reader = new WireReader(out.finish());
      const found: string[] = [];
      while (!reader.done) {
        expect(reader.key()).toBe(10);
        found.push(reader.string());
      }
      expect(found).toEqual(texts);
    }),
    {
      examples: [['a', 'é', '\u{1f600}'].flatMap((text) => [42, 43, 127, 128, 16_384].map((n) => text.repeat(n)))].map(
        (texts) => [texts],
      ),
    },
  );
  const halves = new WireWriter().string(1, '\ud800x').finish();
  expect(new TextDecoder().decode(halves.subarray(2))).toBe('\ufffdx');
});

test('a number that an unsigned field cannot hold is written as the nearest that it can', () => {
  const largest = 2 ** 64 - 2_048;
  const held = (bits: 32 | 64, value: number): number => {
    const reader = new WireReader(new WireWriter(1).nearestUint(1, value, bits).finish());
    reader.key();
    const read = reader.uint64();
    expect(reader.done).toBe(true);
    return Number(read);
  };
  const values = [1e300, Infinity, 2 ** 64, 2 ** 60, 2 ** 32, 2.5, -1, -1e300, NaN];
  expect(values.map((value) => held(64, value))).toEqual([
    ...[largest, largest, largest, 2 ** 60, 2 ** 32, 3, 0, 0, 0],
  ]);
  expect(values.map((value) => held(32, value))).toEqual([...Array<number>(5).fill(2 ** 32 - 1), 3, 0, 0, 0]);
});
