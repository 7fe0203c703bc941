import type { StreamMessage } from '../../stream/index.ts';
import {
  type Follower,
  startStreamStage,
  type StreamAnswer,
  type StreamStage,
} from '../../testing/query/stream-stage.ts';
import { until } from '../../testing/until.ts';

const start = Date.now() - 60_000;
const rights: Record<string, readonly string[] | 'all'> = { admin: 'all', shop: ['shop'], none: [] };
let mayRead = true;
let stage: StreamStage;

beforeEach(async () => {
  mayRead = true;
  rights['shop'] = ['shop'];
  stage = await startStreamStage(['node-1', 'node-2'], {
    flags: { tenancy: 'true' },
    reviews: {
      reviewToken: async (token) => (token in rights ? { username: token } : undefined),
      mayAccessPath: async () => mayRead,
    },
    tenants: {
      reviews: {
        mayReadPods: async ({ username }, namespace) => {
          const allowed = rights[username]!;
          return allowed === 'all' || (namespace !== undefined && allowed.includes(namespace));
        },
      },
      namespaces: { synced: true, names: () => ['bank', 'shop', 'zoo'] },
    },
  });
  for (const [i, namespace] of ['shop', 'zoo', 'bank'].entries()) {
    stage.agents[i % 2]!.push({ name: namespace, namespace, pod: `${namespace}-1` }, start + i);
  }
  stage.agents[0]!.push({ name: 'of no pod' }, start + 3);
  const flow = (source: string, destination: string, ms: number): void =>
    stage.agents[1]!.pushFlow(
      { source: { namespace: source }, destination: { namespace: destination, name: 'x' } },
      ms,
    );
  flow('shop', 'zoo', start + 4);
  flow('bank', 'zoo', start + 5);
});
afterEach(() => stage.close());

const shown = ({ messages }: { messages: readonly StreamMessage[] }): string[] =>
  messages.flatMap(({ span, flow }) =>
    span ? [span.name] : flow ? [`${flow.source.namespace} → ${flow.destination.namespace}`] : [],
  );
const read = (token: string, path = '/v1/stream'): Promise<StreamAnswer> => stage.read(path, { token });

test('a reader without a valid token gets 401, one without permission to read streams gets 403', async () => {
  const code = async (token?: string): Promise<number> =>
    (await stage.read('/v1/stream', token === undefined ? {} : { token })).status;
  expect(await Promise.all([code(), code('stranger')])).toEqual([401, 401]);
  mayRead = false;
  expect(await code('shop')).toBe(403);
});

test('a reader sees the spans of the namespaces whose pods they may read, and flows with an end in them', async () => {
  expect(shown(await read('admin'))).toEqual(['shop', 'zoo', 'bank', 'of no pod', 'shop → zoo', 'bank → zoo']);
  expect(shown(await read('shop'))).toEqual(['shop', 'shop → zoo']);
  expect(shown(await read('none'))).toEqual([]);
});

test.each([
  ['namespace=zoo', ['shop → zoo']],
  ['namespaces=zoo', []],
  ['namespaces=zoo&namespaces=shop', ['shop', 'shop → zoo']],
  [
    'include={"namespace":["zoo"]}&include={"pod":["zoo/"]}&include={"node":["node-1","node-2"]}',
    ['shop', 'shop → zoo'],
  ],
  ['exclude={"namespace":["shop"]}', []],
  ['number=1', ['shop → zoo']],
])('a reader of `shop` sees only spans and flows of `shop`, whatever is asked for: %s', async (query, expected) => {
  expect(shown(await read('shop', `/v1/stream?${query}`))).toEqual(expected);
});

test('an agent that sends items of a namespace that was not requested counts as failed', async () => {
  stage.agents[0]!.misbehave = (_req, res) => {
    const span = {
      ...{ traceId: 't', spanId: 's', name: 'zoo', kind: 'server', start: '2026-01-01T00:00:00.000000000Z' },
      ...{ durationNs: 1, status: 'unset', namespace: 'zoo', attributes: {} },
    };
    res.end(`${JSON.stringify({ node: 'node-1', time: span.start, span })}\n`);
  };
  const answer = await read('shop');
  expect(shown(answer)).toEqual(['shop → zoo']);
  expect(answer.messages.find(({ node_status: status }) => status)).toMatchObject({
    node_status: { state: 'NODE_ERROR', message: 'an item of a namespace that was not asked for' },
  });
});

test('one user gets half of the places of the stream, and the last quarter is for users who have none', async () => {
  const few = await startStreamStage(['node-1'], {
    flags: { tenancy: 'true', streamMaxClients: '4' },
    reviews: { reviewToken: async (username) => ({ username }), mayAccessPath: async () => true },
    tenants: {
      reviews: { mayReadPods: async () => true },
      namespaces: { synced: true, names: () => [] },
    },
  });
  const open: Follower[] = [];
  const follow = async (token: string): Promise<number> => {
    const follower = await few.follow('/v1/stream?follow', { token });
    if (follower.status === 200) open.push(follower);
    return follower.status;
  };
  const refusal = async (token: string): Promise<unknown> =>
    JSON.parse((await few.read('/v1/stream', { token })).text).error;
  try {
    expect([await follow('a'), await follow('a')]).toEqual([200, 200]);
    expect(await refusal('a')).toBe('you have 2 readers of the stream, the most of one user among 4');
    expect(await follow('b')).toBe(200);
    expect(await refusal('b')).toBe('all places of the stream are taken but those for users who have none: 1 of 4');
    expect(await follow('c')).toBe(200);
    expect(await refusal('d')).toBe('there are 4 readers of the stream already, the most that are served');
    open.shift()!.close();
    await until('a free place', async () => (await few.read('/v1/stream', { token: 'd' })).status === 200);
    expect(await refusal('b')).toBe('all places of the stream are taken but those for users who have none: 1 of 4');
  } finally {
    for (const follower of open) follower.close();
    await few.close();
  }
});

test('readers on loopback without a token, who cannot be told apart, share all places', async () => {
  const few = await startStreamStage(['node-1'], { flags: { streamMaxClients: '4' } });
  const open = await Promise.all([0, 1, 2, 3].map(() => few.follow('/v1/stream?follow')));
  expect(open.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  for (const follower of open) follower.close();
  await few.close();
});
