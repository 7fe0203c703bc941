import type { StreamMessage } from '../api/stream.ts';
import { LiveFeed, mostRows } from './live-feed.ts';

const time = '2026-11-22T05:40:29.000000000Z';
const span = (name: string): StreamMessage => {
  const rest = { traceId: 't', spanId: name, kind: 'server', start: time, durationNs: 1, status: 'unset' } as const;
  return { node: 'node-1', time, span: { ...rest, name, attributes: {} } };
};
const status = (state: 'NODE_CONNECTED' | 'NODE_UNAVAILABLE', nodes: string[], message?: string): StreamMessage => ({
  ...{ node: 'svc-query', time },
  node_status: { state, nodes, ...(message ? { message } : {}) },
});
const lost = (node: string, source: string, count: number): StreamMessage => ({ node, time, lost: { source, count } });
const names = (feed: LiveFeed): string[] => feed.rows.map(({ message }) => message.span!.name);
const add = (feed: LiveFeed, from: number, to: number): void => {
  for (let i = from; i < to; i++) feed.add(span(`${i}`));
  feed.show();
};

test('the newest row is the first, and the oldest rows beyond `mostRows` are dropped', () => {
  const feed = new LiveFeed();
  add(feed, 0, mostRows + 3);
  expect([feed.rows.length, feed.received]).toEqual([mostRows, mostRows + 3]);
  expect([names(feed)[0], names(feed).at(-1)]).toEqual([`${mostRows + 2}`, '3']);
  expect(new Set(feed.rows.map(({ id }) => id)).size).toBe(mostRows);
});

test('rows change only when they are drawn: a pause holds back an item that was not drawn yet', () => {
  const feed = new LiveFeed();
  add(feed, 0, 2);
  const before = feed.rows;
  feed.add(span('2'));
  feed.pause();
  feed.show();
  expect([feed.rows, feed.held]).toEqual([before, 1]);
  feed.resume();
  expect(names(feed)).toEqual(['2', '1', '0']);
});

test('items beyond `mostRows` between two drawings are dropped, but do not count as lost', () => {
  const feed = new LiveFeed();
  for (let i = 0; i < mostRows + 9; i++) feed.add(span(`${i}`));
  feed.show();
  expect([names(feed).at(-1), feed.received, feed.droppedHeld]).toEqual(['9', mostRows + 9, 0]);
});

test('a pause keeps the rows, and its end shows the held-back items', () => {
  const feed = new LiveFeed();
  add(feed, 0, 2);
  feed.pause();
  add(feed, 2, 5);
  expect([names(feed), feed.held, feed.droppedHeld, feed.received]).toEqual([['1', '0'], 3, 0, 5]);
  feed.resume();
  expect([names(feed), feed.held, feed.paused]).toEqual([['4', '3', '2', '1', '0'], 0, false]);
});

test('items dropped in a pause are counted, and the newest items are kept', () => {
  const feed = new LiveFeed();
  feed.pause();
  add(feed, 0, mostRows + 7);
  expect([feed.held, feed.droppedHeld]).toEqual([mostRows, 7]);
  feed.resume();
  expect([names(feed)[0], names(feed).at(-1), feed.droppedHeld]).toEqual([`${mostRows + 6}`, '7', 0]);
});

test('losses are summed by node and source, even in a pause', () => {
  const feed = new LiveFeed();
  feed.add(lost('node-1', 'ring', 2));
  feed.pause();
  for (const message of [lost('node-2', 'ring', 1), lost('node-1', 'ring', 3), lost('svc-query', 'relay', 9)]) {
    feed.add(message);
  }
  expect(feed.losses).toEqual([
    { node: 'node-1', source: 'ring', count: 5 },
    { node: 'node-2', source: 'ring', count: 1 },
    { node: 'svc-query', source: 'relay', count: 9 },
  ]);
  expect(feed.received).toBe(0);
});

test('the last status of a node counts, and a new connection forgets all nodes', () => {
  const feed = new LiveFeed();
  feed.add(status('NODE_CONNECTED', ['node-1', 'node-2', 'node-3']));
  feed.add(status('NODE_UNAVAILABLE', ['node-3', 'node-2'], 'no agent pod'));
  feed.add(status('NODE_CONNECTED', ['node-3']));
  expect([feed.connected, feed.absent]).toEqual([2, [{ node: 'node-2', message: 'no agent pod' }]]);
  feed.reconnected();
  expect([feed.connected, feed.absent]).toEqual([0, []]);
});

test('a node that is gone is neither connected nor absent', () => {
  const feed = new LiveFeed();
  feed.add(status('NODE_CONNECTED', ['node-1', 'node-2']));
  feed.add(status('NODE_UNAVAILABLE', ['node-3'], 'no agent pod'));
  const { node_status: left, ...rest } = status('NODE_UNAVAILABLE', ['node-2', 'node-3'], 'the node has left');
  feed.add({ ...rest, node_status: { ...left!, gone: true } });
  expect([feed.connected, feed.absent]).toEqual([1, []]);
});
