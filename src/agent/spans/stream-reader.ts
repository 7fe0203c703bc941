import type { Match } from './item-filter.ts';
import type { StreamQuery } from './stream-query.ts';
import type { StreamItem, StreamRing } from './stream-ring.ts';

/**
 * What a reader is handed: an item, or how many it does not get. `ring`: they had left the ring before it asked.
 * `reader`: it was too slow for them. `labels`: this node cannot tell whether they match, for that needs the labels of
 * another node's pod.
 */
export type StreamEvent =
  { readonly item: StreamItem } | { readonly lost: number; readonly source: 'ring' | 'reader' | 'labels' };

/** Events of one batch: enough that a busy stream costs few writes, few enough that none waits long. */
const batchEvents = 256;

/**
 * Reads a ring as a query asks: what it holds, then (with `follow`) what comes, until `signal` aborts.
 * Asking for more than the ring holds gives what there is, and says how many are gone. Whoever writes to the client
 * pulls batch after batch; items that left the ring in the meantime are told of as one sum, so a slow client costs
 * the writer of the ring nothing.
 */
export async function* readStream(
  ring: StreamRing,
  query: StreamQuery,
  signal: AbortSignal,
): AsyncGenerator<readonly StreamEvent[]> {
  let seq = ring.next;
  const { held, unknown } = heldNow(ring, query);
  const gone = goneBefore(ring, query, held.length);
  if (gone > 0) yield [{ lost: gone, source: 'ring' }];
  if (unknown > 0) yield [{ lost: unknown, source: 'labels' }];
  for (let at = 0; at < held.length; at += batchEvents) {
    const batch: StreamEvent[] = [];
    let late = 0;
    for (const number of held.slice(at, at + batchEvents)) {
      const item = ring.at(number);
      if (item) batch.push({ item });
      else late++;
    }
    if (late > 0) batch.unshift({ lost: late, source: 'reader' });
    yield batch;
    if (signal.aborted) return;
  }
  while (query.follow && !signal.aborted) {
    const batch: StreamEvent[] = [];
    if (seq < ring.first) {
      batch.push({ lost: ring.first - seq, source: 'reader' });
      seq = ring.first;
    }
    let untold = 0;
    for (let item = ring.at(seq); item && batch.length < batchEvents; item = ring.at(++seq)) {
      const match = wanted(item, query);
      if (match) batch.push({ item });
      else if (match === undefined) untold++;
    }
    if (untold > 0) batch.unshift({ lost: untold, source: 'labels' });
    if (batch.length > 0) yield batch;
    if (!ring.at(seq) && seq >= ring.first) await nextPush(ring, signal);
  }
}

/** Items that left the ring before the query came and may have been what it asks for. */
function goneBefore(ring: StreamRing, query: StreamQuery, found: number): number {
  if (ring.first === 0 || query.number === 0 || found >= query.number) return 0;
  const oldest = ring.at(ring.first);
  if (oldest && query.sinceMs > oldest.timeMs) return 0;
  return Math.min(ring.first, query.number - found);
}

/**
 * Numbers of the items in the ring at this moment that the query wants, oldest first; and of how many on the way to
 * them nobody can tell.
 */
function heldNow(ring: StreamRing, query: StreamQuery): { held: number[]; unknown: number } {
  const held: number[] = [];
  let unknown = 0;
  const step = query.first ? 1 : -1;
  const start = query.first ? ring.first : ring.next - 1;
  for (let seq = start; seq >= ring.first && seq < ring.next && held.length < query.number; seq += step) {
    const match = wanted(ring.at(seq)!, query);
    if (match) held.push(seq);
    else if (match === undefined) unknown++;
  }
  return { held: query.first ? held : held.reverse(), unknown };
}

function wanted(item: StreamItem, query: StreamQuery): Match {
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
