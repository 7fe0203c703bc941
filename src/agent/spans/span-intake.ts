import type { Clock } from '../../base/clock.ts';
import type { TracesRequest } from '../otlp/model.ts';
import { isShown, type SpanRecord, spanRecord } from './span-record.ts';
import type { StreamRing } from './stream-ring.ts';

/** Puts the spans of a request into the ring, redacted. Returns how many spans the request held. */
export function takeSpans(request: TracesRequest, ring: StreamRing, clock: Clock): number {
  const now = clock.now();
  let taken = 0;
  for (const { attributes, scopes } of request.resources) {
    for (const { spans } of scopes) {
      for (const span of spans) {
        taken++;
        if (!isShown(span)) continue;
        const record = spanRecord(attributes, span);
        const timeMs = Number(span.startNs / 1_000_000n);
        // A time that no clock of ours can have given would keep its place in the ring for ever.
        ring.push({ timeMs: Math.min(timeMs > 0 ? timeMs : now, now), bytes: sizeOf(record), span: record }, now);
      }
    }
  }
  return taken;
}

/** About what a record holds in memory, without writing it out: its fixed part and each attribute with its text. */
function sizeOf(record: SpanRecord): number {
  let size = 600 + record.name.length + (record.path?.length ?? 0);
  for (const [key, value] of Object.entries(record.attributes)) {
    size += 48 + key.length + (typeof value === 'string' ? value.length : 16);
  }
  return size;
}
