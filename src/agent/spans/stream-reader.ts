import type { StreamQuery } from './span-filter.ts';
import type { StreamItem, StreamRing } from './stream-ring.ts';

/** What a reader is handed: an item, or how many it was too late for. */
export type StreamEvent = { readonly item: StreamItem } | { readonly lost: number };

/**
 * Reads a ring as a query asks: what it holds, then (with `follow`) what comes, until `signal` aborts.
 * Asking for more than the ring holds gives what there is. Whoever writes to the client pulls; items that left the
 * ring in the meantime are told of as one sum, so a slow client costs the writer of the ring nothing.
 */
export async function* readStream(
  ring: StreamRing,
  query: StreamQuery,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  let seq = ring.next;
  let lost = 0;
  for (const at of heldNow(ring, query)) {
    const item = ring.at(at);
    if (item) yield { item };
    else lost++;
  }
  if (lost > 0) yield { lost };
  while (query.follow && !signal.aborted) {
    if (seq < ring.first) {
      yield { lost: ring.first - seq };
      seq = ring.first;
    }
    const item = ring.at(seq);
    if (!item) await nextPush(ring, signal);
    else {
      seq++;
      if (wanted(item, query)) yield { item };
    }
  }
}

/** Numbers of the items in the ring at this moment that the query wants, oldest first. */
function heldNow(ring: StreamRing, query: StreamQuery): number[] {
  const found: number[] = [];
  if (query.first) {
    for (let seq = ring.first; seq < ring.next && found.length < query.number; seq++) {
      if (wanted(ring.at(seq)!, query)) found.push(seq);
    }
    return found;
  }
  for (let seq = ring.next - 1; seq >= ring.first && found.length < query.number; seq--) {
    if (wanted(ring.at(seq)!, query)) found.push(seq);
  }
  return found.reverse();
}

function wanted(item: StreamItem, query: StreamQuery): boolean {
  return item.timeMs >= query.sinceMs && item.timeMs <= query.untilMs && query.matches(item);
}

function nextPush(ring: StreamRing, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      forget();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const forget = ring.onPush(done);
    signal.addEventListener('abort', done, { once: true });
  });
}
