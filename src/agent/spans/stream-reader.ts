import { sortInTurns } from '../../base/turns/sort-in-turns.ts';
import { Pace, type Pacing } from '../../base/turns/turns.ts';
import { invalidField, type Match, type StreamQuery, timeOf, type Undecided } from '../../stream/index.ts';
import type { StreamItem, StreamRing } from './stream-ring.ts';

/**
 * What a reader gets: an item, or the number of items that it misses. `ring`: the items had left the ring (the agent's
 * buffer of the newest items) before the query. `reader`: the reader was too slow for them. Otherwise the reason why
 * this node cannot decide whether they match. `next` is where to continue after the event, for items read in the order
 * of arrival.
 */
export type StreamEvent =
  | { readonly item: StreamItem; readonly next?: number }
  | { readonly lost: number; readonly source: 'ring' | 'reader' | Undecided; readonly next?: number };

/** Events of one batch: enough that a busy stream needs few writes, few enough that no event waits long. */
const batchEvents = 256;
/** Work of one comparison of two times, in the units of `Pacing`. */
const compareWork = 10;

interface TimedItem {
  readonly time: string;
  readonly seq: number;
}

/**
 * The number of the first item that a query reads in the order of arrival: the next one to arrive, or the reader's
 * cursor. A cursor of another ring, from an agent process that has ended, starts at the oldest item of this ring.
 * Errors: ERR_INPUT_INVALID for a cursor that no agent issued.
 */
export function startOf(ring: StreamRing, { after }: Pick<StreamQuery, 'after'>): number {
  if (after === undefined) return ring.next;
  const [, id, seq] = /^([0-9a-f]+)\.(\d{1,15})$/.exec(after) ?? [];
  if (id === undefined) throw invalidField('after', 'is no cursor that an agent issued');
  return id === ring.id ? Math.min(Number(seq), ring.next) : ring.first;
}

/**
 * Reads a ring for a query: first the held items with numbers below `start`, then those from `start` on, then (with
 * `follow`) new ones until `signal` aborts. Held items come in the order of their time, the rest in the order of
 * arrival. A query for more than the ring holds gets what is held and the number of missing items. The connection's
 * writer pulls batch after batch; items that left the ring in the meantime are reported as one sum, so a slow client
 * does not slow the writer of the ring. A long scan lets other work run.
 */
export async function* readStream(
  ring: StreamRing,
  query: StreamQuery,
  signal: AbortSignal,
  start = startOf(ring, query),
  pace: Pacing = new Pace(),
): AsyncGenerator<readonly StreamEvent[]> {
  if (query.after === undefined) yield* readHeld(ring, query, start, signal, pace);
  let seq = start;
  const end = query.follow ? Infinity : query.after === undefined ? start : ring.next;
  while (seq < end && !signal.aborted) {
    const batch: StreamEvent[] = [];
    const upTo = Math.min(end, ring.next);
    let late = 0;
    let turnDue = false;
    const undecided = new UndecidedItems();
    for (const held of ring.held(seq, upTo)) {
      late += held.seq - seq;
      seq = held.seq + 1;
      const match = wanted(held.item, query);
      if (match === true) batch.push({ item: held.item, next: seq });
      else undecided.count(match);
      turnDue = pace.spend(query.work(held.item));
      if (turnDue || batch.length >= batchEvents) break;
    }
    if (!turnDue && batch.length < batchEvents) {
      late += upTo - seq;
      seq = upTo;
    }
    batch.unshift(...undecided.events());
    if (late > 0) batch.unshift({ lost: late, source: 'reader', ...(batch.length === 0 ? { next: seq } : {}) });
    if (batch.length > 0) yield batch;
    if (turnDue) await pace.turn();
    if (seq < end && seq === ring.next) await nextPush(ring, signal);
  }
}

async function* readHeld(
  ring: StreamRing,
  query: StreamQuery,
  end: number,
  signal: AbortSignal,
  pace: Pacing,
): AsyncGenerator<readonly StreamEvent[]> {
  const { held, undecided } = await heldBefore(ring, query, end, signal, pace);
  if (signal.aborted) return;
  const gone = goneBefore(ring, query, held.length);
  if (gone > 0) yield [{ lost: gone, source: 'ring' }];
  const unknown = undecided.events();
  if (unknown.length > 0) yield unknown;
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
}

/** Number of items that left the ring before the query and may have matched it. */
function goneBefore(ring: StreamRing, query: StreamQuery, found: number): number {
  const { count, latestMs } = ring.left;
  if (count === 0 || query.number === 0 || found >= query.number || query.sinceMs > latestMs) return 0;
  return Math.min(count, query.number - found);
}

/**
 * Numbers of the items before `end` that match the query, in order of their time: the newest by time (or the oldest),
 * not the last to arrive, because a span arrives when it ends. It also returns how many of the examined items cannot be
 * decided here. It ends early when the signal aborts.
 */
async function heldBefore(
  ring: StreamRing,
  query: StreamQuery,
  end: number,
  signal: AbortSignal,
  pace: Pacing,
): Promise<{ held: number[]; undecided: UndecidedItems }> {
  const { number, first } = query;
  let kept: TimedItem[] = [];
  const undecided = new UndecidedItems();
  /** The time limit that an item must satisfy once there are enough items. */
  let bound: string | undefined;
  const cut = async (): Promise<void> => {
    const byTime = (a: TimedItem, b: TimedItem): number => (a.time < b.time ? -1 : a.time > b.time ? 1 : a.seq - b.seq);
    kept = await sortInTurns(pace, kept, byTime, compareWork);
    if (kept.length <= number) return;
    kept = first ? kept.slice(0, number) : kept.slice(-number);
    bound = (first ? kept.at(-1) : kept[0])!.time;
  };
  const look = (seq: number, item: StreamItem): void => {
    const time = timeOf(item);
    if (bound !== undefined && (first ? time >= bound : time <= bound)) return;
    const match = wanted(item, query);
    if (match === true) kept.push({ time, seq });
    else undecided.count(match);
  };
  /** The numbers that are still to be looked at: the ring changes while other work runs. */
  let [from, to] = [0, number > 0 ? end : 0];
  while (from < to && !signal.aborted) {
    let turnDue = false;
    for (const { seq, item } of ring.held(from, to, !first)) {
      look(seq, item);
      if (first) from = seq + 1;
      else to = seq;
      turnDue = pace.spend(query.work(item));
      if (turnDue || kept.length >= 2 * number) break;
    }
    const isFull = kept.length >= 2 * number;
    if (isFull) await cut();
    if (turnDue) await pace.turn();
    else if (!isFull) break;
  }
  await cut();
  return { held: kept.map(({ seq }) => seq), undecided };
}

/** Counts the items that this node cannot decide, by the reason. */
class UndecidedItems {
  readonly #counts = new Map<Undecided, number>();

  count(match: false | Undecided): void {
    if (match !== false) this.#counts.set(match, (this.#counts.get(match) ?? 0) + 1);
  }

  events(): StreamEvent[] {
    return [...this.#counts].map(([source, lost]) => ({ lost, source }));
  }
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
