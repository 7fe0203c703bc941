import type { WireReader, WireWriter } from '../../base/wire/protobuf-wire.ts';
import type { Buckets, CounterResetHint, FloatHistogram } from '../histogram/float-histogram.ts';
import { malformed } from './numbers.ts';
import * as messages from './partial.pb.ts';

const hints: readonly CounterResetHint[] = ['unknown', 'reset', 'not_reset', 'gauge'];

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
