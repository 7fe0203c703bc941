import fc from 'fast-check';
import { WireWriter } from '../../base/wire/protobuf-wire.ts';
import { crc32c } from '../../base/wire/crc32c.ts';
import { labelsFromPairs } from '../labels.ts';
import { encodeSeriesFrame } from './chunked-series.ts';
import { encodeLabels } from './label-bytes.ts';

const text = fc.oneof(
  fc.string({ minLength: 1, maxLength: 20 }),
  fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }),
  fc.integer({ min: 100, max: 9000 }).map((length) => 'x'.repeat(length)),
);

test('labels get the same bytes as from a protobuf writer, short or long, ASCII or not', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { maxLength: 8 }), (pairs) => {
      const labels = labelsFromPairs(pairs);
      const out = new WireWriter();
      for (const [name, value] of labels) out.message(1, (l) => void l.string(1, name).string(2, value));
      expect(Buffer.compare(encodeLabels(labels), out.finish())).toBe(0);
    }),
  );
});

test('a frame is the same whether the checksums of its chunks are known or not', () => {
  const labels = encodeLabels([['a', 'b']]);
  const chunks = [1, 200, 5000].map((length, i) => {
    const bytes = Uint8Array.from({ length }, (_, k) => (k * 31 + i) & 255);
    return { encoding: 1 as const, minT: i * 10, maxT: i * 10 + 5, count: 2, bytes };
  });
  const known = chunks.map((chunk) => ({ ...chunk, crc: crc32c(chunk.bytes) }));
  expect(encodeSeriesFrame(labels, known, 3)).toEqual(encodeSeriesFrame(labels, chunks, 3));
  expect(encodeSeriesFrame(labels, [chunks[0]!, known[1]!, chunks[2]!], 0)).toEqual(
    encodeSeriesFrame(labels, chunks, 0),
  );
});
