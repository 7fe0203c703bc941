import type { TypedObject } from '../../kube/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import type { Predicate, SourceEvent } from '../types.ts';
import { EventMapping } from './event-mapping.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

let clock: FakeClock;
let keys: string[];
let failures: number;
let retries: number;
/** The owners of which the mapper knows nothing. */
let unknown: Set<string>;
let predicates: Predicate[];
let mapping: EventMapping;
beforeEach(() => {
  clock = new FakeClock();
  keys = [];
  failures = 0;
  retries = 0;
  unknown = new Set();
  predicates = [];
  const map = ({ metadata }: TypedObject): { name: string }[] => {
    const owner = metadata.labels!['owner']!;
    if (unknown.has(owner)) throw new Error(`${owner} is unknown`);
    return [{ name: owner }];
  };
  mapping = new EventMapping({ map, predicates }, clock, {
    enqueue: (_event, more) => void keys.push(...more),
    failed: (_event, _error, retry) => {
      failures++;
      if (retry) retries++;
    },
  });
});

/** Each owner stands for another version of the object. */
const object = (owner: string, uid = 'uid-1'): TypedObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's', namespace: 'shop', uid, resourceVersion: owner, labels: { owner } },
});
const send = (type: SourceEvent['type'], now: TypedObject, old?: TypedObject): void =>
  mapping.take({ type, object: now, old, initial: false, missed: false });
const update = (from: string, to: string): void => send('updated', object(to), object(from));

test('the keys of one state are enqueued at once, and those of the other when the mapper gives them', async () => {
  unknown.add('a');
  update('a', 'b');
  expect(keys).toEqual(['b']);
  await clock.advance(minuteMs);
  expect(keys).toEqual(['b']);
  unknown.clear();
  await clock.advance(minuteMs);
  expect(keys).toEqual(['b', 'a']);
  expect(clock.pending).toBe(0);
});

test('of many events of an object, the newest and the first eight former states are mapped again', async () => {
  const owners = Array.from({ length: 100 }, (_, i) => `owner-${i}`);
  for (const owner of owners) unknown.add(owner);
  send('added', object(owners[0]!));
  for (let i = 1; i < owners.length; i++) update(owners[i - 1]!, owners[i]!);
  expect(clock.pending).toBe(1 + 8);
  expect(failures - retries).toBe(91);
  unknown.clear();
  await clock.advance(minuteMs);
  expect(keys.toSorted()).toEqual([...owners.slice(0, 8), 'owner-99']);
  expect(clock.pending).toBe(0);
});

test('a state that comes twice waits once', () => {
  unknown.add('a');
  update('a', 'b');
  update('a', 'b');
  expect(clock.pending).toBe(1);
  expect([failures, retries]).toEqual([2, 2]);
});

test('an existing object is tried until its mapping succeeds, every five minutes at last', async () => {
  unknown.add('a');
  send('added', object('a'));
  await clock.advance(24 * hourMs);
  const before = failures;
  await clock.advance(hourMs);
  expect(failures - before).toBe(12);
  unknown.clear();
  await clock.advance(5 * minuteMs);
  expect(keys).toEqual(['a']);
});

test('a change that is not accepted leaves the event that waits, and a deletion ends it', async () => {
  predicates.push(({ object: { metadata } }) => metadata.labels!['owner'] !== 'ignored');
  unknown.add('a');
  send('added', object('a'));
  update('a', 'ignored');
  expect(clock.pending).toBe(1);
  send('deleted', object('ignored'), object('ignored'));
  expect(clock.pending).toBe(0);
});

test.each<[string, () => void]>([
  ['a former state', () => update('a', 'b')],
  ['a deleted object', () => send('deleted', object('a'), object('a'))],
])('%s is mapped again for half an hour, and then given up', async (_what, happen) => {
  unknown.add('a');
  happen();
  await clock.advance(25 * minuteMs);
  expect(clock.pending).toBe(1);
  expect(retries).toBe(failures);
  await clock.advance(15 * minuteMs);
  expect(clock.pending).toBe(0);
  expect(failures).toBe(retries + 1);
});

test('the deletion of an object is mapped again although another object took its name', async () => {
  unknown.add('a');
  send('deleted', object('a'), object('a'));
  send('added', object('b', 'uid-2'));
  unknown.clear();
  await clock.advance(minuteMs);
  expect(keys).toEqual(['b', 'a']);
});

test('a predicate that throws on every state of an object is asked again', async () => {
  let broken = true;
  predicates.push(() => {
    if (broken) throw new Error('broken');
    return true;
  });
  update('a', 'b');
  update('b', 'c');
  expect(keys).toEqual(['a', 'b']);
  expect(clock.pending).toBe(1);
  broken = false;
  await clock.advance(minuteMs);
  expect(keys).toEqual(['a', 'b', 'c']);
  expect(clock.pending).toBe(0);
});

test('the keys of a state before a change that could not be judged are told although the object is deleted', () => {
  let broken = true;
  predicates.push(() => {
    if (broken) throw new Error('broken');
    return true;
  });
  update('a', 'b');
  broken = false;
  send('deleted', object('b'), object('b'));
  expect(keys).toEqual(['a', 'b']);
  expect(clock.pending).toBe(0);
});

test('changes that could not be judged are judged as one', async () => {
  let broken = true;
  predicates.push(({ type, object: { metadata }, old }) => {
    if (broken) throw new Error('broken');
    return type === 'added' || old!.metadata.labels!['owner'] !== metadata.labels!['owner'];
  });
  update('a', 'b');
  update('b', 'b');
  send('added', object('c', 'uid-2'));
  send('updated', object('c', 'uid-2'), object('c', 'uid-2'));
  keys = [];
  broken = false;
  await clock.advance(minuteMs);
  expect(keys).toEqual(['b', 'c']);
});

test('a change that is not accepted gives its state to the event that waits', async () => {
  predicates.push(({ type }) => type === 'added');
  unknown.add('a');
  send('added', object('a'));
  update('a', 'b');
  expect(clock.pending).toBe(1);
  await clock.advance(minuteMs);
  expect(keys).toEqual(['b']);
  expect(clock.pending).toBe(0);
});

test('a change that cannot be compared tells the keys of the old state if the new one is not accepted', () => {
  predicates.push(({ object: { metadata }, old }) => {
    if (old) throw new Error('cannot compare');
    return metadata.labels!['owner'] !== 'ignored';
  });
  update('a', 'ignored');
  expect(keys).toEqual(['a']);
  expect([failures, retries]).toEqual([1, 0]);
  expect(clock.pending).toBe(0);
});

test('a predicate that cannot compare two states judges the new one as that of a new object', () => {
  const judged: string[] = [];
  predicates.push(({ type, old }) => {
    judged.push(`${type} ${old ? 'with' : 'without'} an old state`);
    if (old) throw new Error('cannot compare');
    return true;
  });
  update('a', 'b');
  expect(judged).toEqual(['updated with an old state', 'added without an old state']);
  expect(keys).toEqual(['b', 'a']);
  expect([failures, retries]).toEqual([1, 0]);
});

test('a mapper that gives no keys counts as one that throws', () => {
  const odd = new EventMapping({ map: () => undefined as never, predicates: [] }, clock, {
    enqueue: (_event, more) => void keys.push(...more),
    failed: () => void failures++,
  });
  odd.take({ type: 'added', object: object('a'), initial: false, missed: false });
  expect(failures).toBe(1);
  expect(clock.pending).toBe(1);
});

test('nothing is tried after a stop', () => {
  unknown.add('a');
  update('a', 'b');
  send('added', object('a', 'uid-2'));
  expect(clock.pending).toBe(2);
  mapping.stop();
  expect(clock.pending).toBe(0);
});
