import type { WireReader, WireWriter } from '../../base/wire/protobuf-wire.ts';
import type { Buckets, CounterResetHint, FloatHistogram } from '../histogram/float-histogram.ts';
import { malformed } from './numbers.ts';

const hints: readonly CounterResetHint[] = ['unknown', 'reset', 'not_reset', 'gauge'];

/** Writes a native histogram as field `field`. Bucket indexes are sent as differences, all doubles bit for bit. */
export function writeHistogram(out: WireWriter, field: number, h: FloatHistogram): void {
  out.message(field, (m) => {
    m.int(1, h.schema).double(2, h.zeroThreshold).double(3, h.zeroCount).double(4, h.count).double(5, h.sum);
    writeBuckets(m, 6, h.positive);
    writeBuckets(m, 7, h.negative);
    for (const bound of h.customValues) m.double(8, bound);
    m.uint(9, hints.indexOf(h.counterReset));
  });
}

function writeBuckets(out: WireWriter, field: number, { indexes, counts }: Buckets): void {
  if (indexes.length === 0) return;
  out.message(field, (m) => {
    indexes.forEach((index, i) => m.int(1, i === 0 ? index : index - indexes[i - 1]!));
    for (const count of counts) m.double(2, count);
  });
}

/** Errors: ERR_INPUT_INVALID for an invalid histogram. */
export function readHistogram(reader: WireReader): FloatHistogram {
  const found = {
    schema: 0,
    zeroThreshold: 0,
    zeroCount: 0,
    count: 0,
    sum: 0,
    positive: { indexes: [], counts: [] } as Buckets,
    negative: { indexes: [], counts: [] } as Buckets,
    customValues: [] as number[],
    counterReset: 'unknown' as CounterResetHint,
  };
  while (!reader.done) {
    const key = reader.key();
    if (key === 8) found.schema = reader.int();
    else if (key === 17) found.zeroThreshold = reader.double();
    else if (key === 25) found.zeroCount = reader.double();
    else if (key === 33) found.count = reader.double();
    else if (key === 41) found.sum = reader.double();
    else if (key === 50) found.positive = readBuckets(reader.message());
    else if (key === 58) found.negative = readBuckets(reader.message());
    else if (key === 65) found.customValues.push(reader.double());
    else if (key === 72) found.counterReset = hints[reader.uint()] ?? 'unknown';
    else reader.skip(key & 7);
  }
  if (found.schema !== -53 && (found.schema < -9 || found.schema > 52))
    throw malformed(`histogram schema ${found.schema}`);
  return found;
}

function readBuckets(reader: WireReader): Buckets {
  const indexes: number[] = [];
  const counts: number[] = [];
  while (!reader.done) {
    const key = reader.key();
    if (key === 8) {
      const distance = reader.int();
      if (indexes.length > 0 && distance < 1) throw malformed('histogram buckets are not in order');
      indexes.push(indexes.length === 0 ? distance : indexes.at(-1)! + distance);
    } else if (key === 17) counts.push(reader.double());
    else reader.skip(key & 7);
  }
  if (indexes.length !== counts.length) throw malformed('histogram has not as many counts as buckets');
  return { indexes, counts };
}
