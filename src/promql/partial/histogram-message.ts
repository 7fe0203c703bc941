import { WireReader, type WireWriter } from '../../base/wire/protobuf-wire.ts';
import type { Buckets, CounterResetHint, FloatHistogram } from '../histogram/float-histogram.ts';
import { malformed } from './numbers.ts';
import * as messages from './partial.pb.ts';

const hints: readonly CounterResetHint[] = ['unknown', 'reset', 'not_reset', 'gauge'];

/** The keys of a message's two fields of buckets. */
const [positiveKey, negativeKey] = [50, 58];

/** Writes a native histogram as field `field`. */
export function writeHistogram(out: WireWriter, field: number, histogram: FloatHistogram): void {
  const message = {
    ...histogram,
    positive: bucketsMessage(histogram.positive),
    negative: bucketsMessage(histogram.negative),
    counterReset: hints.indexOf(histogram.counterReset),
  };
  out.message(field, (m) => messages.writeHistogram(m, message));
}

/** Bucket indexes are sent as differences, each from the index before it. */
function bucketsMessage({ indexes, counts }: Buckets): messages.Buckets | null {
  if (indexes.length === 0) return null;
  return { distances: indexes.map((index, i) => (i === 0 ? index : index - indexes[i - 1]!)), counts };
}

/** Size of a histogram, and of each field of its message, of which one may be two bytes and become a number. Bytes. */
const [histogramBytes, fieldBytes] = [256, 16];

/** The memory that the histogram of a message will take, at most. Does not move the reader. Units: bytes. */
export function sizeOfHistogram({ bytes, pos, end }: WireReader): number {
  let fields = 0;
  for (const reader = new WireReader(bytes, pos, end); !reader.done; fields++) {
    const key = reader.key();
    if (key !== positiveKey && key !== negativeKey) reader.skip(key & 7);
    else for (const buckets = reader.message(); !buckets.done; fields++) buckets.skip(buckets.key() & 7);
  }
  return histogramBytes + fieldBytes * fields;
}

/** Reads a native histogram. Errors: ERR_INPUT_INVALID for an invalid one. */
export function readHistogram(reader: WireReader): FloatHistogram {
  const message = messages.readHistogram(reader);
  const { schema, positive, negative, counterReset } = message;
  if (schema !== -53 && (schema < -4 || schema > 8)) throw malformed(`histogram schema ${schema}`);
  return {
    ...message,
    positive: bucketsOf(positive),
    negative: bucketsOf(negative),
    counterReset: hints[counterReset] ?? 'unknown',
  };
}

function bucketsOf(message: messages.Buckets | null): Buckets {
  const { distances, counts } = message ?? { distances: [], counts: [] };
  if (distances.length !== counts.length) throw malformed('histogram has not as many counts as buckets');
  let index = 0;
  const indexes = distances.map((distance, i) => {
    if (i > 0 && distance < 1) throw malformed('histogram buckets are not in order');
    return (index += distance);
  });
  return { indexes, counts };
}
