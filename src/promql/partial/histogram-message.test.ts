import { WireReader, WireWriter } from '../../base/wire/protobuf-wire.ts';
import { emptyHistogram } from '../histogram/arithmetic.ts';
import type { FloatHistogram } from '../histogram/float-histogram.ts';
import { readHistogram, writeHistogram } from './histogram-message.ts';

const sent = (schema: number): FloatHistogram => {
  const positive = { indexes: [1, 3], counts: [1, 2] };
  const out = new WireWriter();
  writeHistogram(out, 1, { ...emptyHistogram, schema, count: 3, positive });
  const reader = new WireReader(out.finish());
  reader.key();
  return readHistogram(reader.message());
};

test.each([-53, -4, 0, 8])('a histogram of schema %i is decoded as it was sent', (schema) => {
  expect(sent(schema)).toMatchObject({ schema, count: 3, positive: { indexes: [1, 3], counts: [1, 2] } });
});

test.each([-54, -5, 9, 52])('a histogram of the unknown schema %i is refused', (schema) => {
  expect(() => sent(schema)).toThrow(`histogram schema ${schema}`);
});
