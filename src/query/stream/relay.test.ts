import { connect } from 'node:http2';
import { join } from 'node:path';
import { type Client, credentials, loadPackageDefinition, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { StreamMessage } from '../../stream/index.ts';
import { createCa } from '../../net/ca.ts';
import { fixedTls, type TlsMaterial } from '../../net/tls-material.ts';
import { agentTls } from '../../testing/agent-tls.ts';
import { type Follower, startStreamStage, StreamAgent, type StreamStage } from '../../testing/query/stream-stage.ts';
import { until } from '../../testing/until.ts';

const nodes = ['node-1', 'node-2', 'node-3'];
const start = Date.now() - 60_000;
let stage: StreamStage;

beforeEach(async () => {
  stage = await startStreamStage(nodes, { flags: { agentTimeout: '2s', streamMaxClients: '3' } });
});
afterEach(() => stage.close());

/** Pushes a span to each agent in turn, one per millisecond: `0` to the first, `1` to the second. */
function pushInTurn(count: number, from = 0): void {
  for (let i = from; i < from + count; i++) stage.agents[i % nodes.length]!.push({ name: String(i) }, start + i);
}

const word = (message: StreamMessage): string => {
  const { node, span, flow, lost, node_status: state } = message;
  if (span) return span.name;
  if (flow) return `flow of ${node}`;
  if (lost) return `lost ${lost.count} ${lost.source}`;
  return `${state!.state} ${state!.nodes.join()}${state!.message ? `: ${state!.message}` : ''}`;
};
const words = ({ messages }: { messages: readonly StreamMessage[] }): string[] => messages.map(word);
const spans = (reader: { messages: readonly StreamMessage[] }): string[] =>
  reader.messages.flatMap(({ span }) => span?.name ?? []);
const numbers = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, i) => String(from + i));
const has = (follower: Follower, text: string | RegExp): Promise<boolean> =>
  until(String(text), () => words(follower).some((one) => (typeof text === 'string' ? one === text : text.test(one))));
const metric = async (name: string): Promise<number> => {
  const found = await stage.server.registry.getSingleMetric(name)!.get();
  return found.values.reduce((sum, { value }) => sum + value, 0);
};

test('the newest items of all nodes come in order of time, each with its node and without a cursor', async () => {
  pushInTurn(1_000);
  const answer = await stage.read('/v1/stream?number=10');
  expect(answer.status).toBe(200);
  expect(spans(answer)).toEqual(numbers(990, 1_000));
  expect(answer.messages.map(({ node }) => node)).toEqual(
    numbers(990, 1_000).map((n) => nodes[Number(n) % nodes.length]),
  );
  expect(Object.keys(answer.messages[0]!).sort()).toEqual(['node', 'span', 'time']);
  expect(spans(await stage.read('/v1/stream?number=3&first'))).toEqual(['0', '1', '2']);
  expect(spans(await stage.read('/v1/stream?number=all'))).toEqual(numbers(0, 1_000));
  expect(spans(await stage.read('/v1/stream'))).toEqual(numbers(900, 1_000));
  expect(words(await stage.read('/v1/stream?number=0'))).toEqual([]);
  expect(words(await stage.read('/v1/flows'))).toEqual([]);
});

test('filters, time bounds and a request body work as they do on an agent', async () => {
  pushInTurn(30);
  stage.agents[1]!.push({ name: 'slow', method: 'POST', statusCode: 503, durationNs: 2e9 }, start + 15);
  stage.agents[2]!.pushFlow({ source: { namespace: 'shop' }, destination: {} }, start + 16);
  expect(spans(await stage.read('/v1/spans?status=5%2B&minDuration=1s'))).toEqual(['slow']);
  expect(words(await stage.read('/v1/flows?namespace=shop'))).toEqual(['flow of node-3']);
  const bound = new Date(start + 27).toISOString();
  expect(spans(await stage.read(`/v1/stream?since=${bound}`))).toEqual(['27', '28', '29']);
  const body = JSON.stringify({ number: 1, include: [{ method: ['POST'] }], types: ['span'] });
  expect(spans(await stage.read('/v1/stream', { body }))).toEqual(['slow']);
});

test.each([
  ['/v1/stream?colour=red', 'colour: is not a field of this query'],
  ['/v1/stream?path=(', 'path: not an RE2 pattern'],
  ['/v1/stream?first&follow', 'first: excludes follow'],
  ['/v1/stream?after=ab.1', 'after: is for the stream of one agent'],
])('%s is refused without asking an agent, in the error format of the API', async (path, error) => {
  const { status: code, text } = await stage.read(path);
  expect([code, JSON.parse(text)]).toEqual([400, { status: 'error', errorType: 'bad_data', error }]);
  expect(stage.agents.map(({ requests }) => requests)).toEqual([0, 0, 0]);
});

test('before the agents are listed the stream is unavailable, and only GET and POST are allowed', async () => {
  stage.synced = false;
  const { status: code, text } = await stage.read('/v1/stream');
  expect([code, (JSON.parse(text) as { error: string }).error]).toEqual([
    503,
    'the list of agents is not complete yet',
  ]);
  const refused = await Promise.all(['HEAD', 'PUT'].map((method) => stage.read('/v1/stream?follow', { method })));
  expect(refused.map((answer) => answer.status)).toEqual([405, 405]);
});

test('over HTTP/2 the stream has the same items', async () => {
  pushInTurn(2_000);
  const session = connect(`https://127.0.0.1:${stage.server.port}`, { ca: stage.ca.cert, servername: 'localhost' });
  try {
    const stream = session.request({ ':path': '/v1/stream?number=all' });
    let text = '';
    for await (const chunk of stream.setEncoding('utf8')) text += chunk as string;
    const lines = text
      .trim()
      .split('\n')
      .map((one) => JSON.parse(one) as StreamMessage);
    expect(spans({ messages: lines })).toEqual(numbers(0, 2_000));
  } finally {
    session.close();
  }
});

test('if a request names a node, only that node is asked; an unknown node is reported as unavailable', async () => {
  pushInTurn(9);
  expect(spans(await stage.read('/v1/stream?node=node-2'))).toEqual(['1', '4', '7']);
  expect(stage.agents.map(({ requests }) => requests)).toEqual([0, 1, 0]);
  expect(words(await stage.read('/v1/stream?node=nowhere'))).toEqual([
    'NODE_UNAVAILABLE nowhere: no agent is expected on a node of this name',
  ]);
  expect(spans(await stage.read('/v1/stream?exclude={"node":["node-2","node-3"]}'))).toEqual(['0', '3', '6']);
});

test('nodes without an agent are reported immediately, in one message, and the others are shown', async () => {
  pushInTurn(3);
  const absent = ['x', 'y'].map((node) => ({ node, address: undefined, absence: 'no agent pod', nodeReady: true }));
  stage.expected = [...stage.expected, ...absent];
  expect(words(await stage.read('/v1/stream'))).toEqual(['NODE_UNAVAILABLE x,y: no agent pod', '0', '1', '2']);
});

const line = (node: string, name: string, time = '2026-01-01T00:00:00.000000000Z'): string => {
  const span = {
    ...{ traceId: 't', spanId: 's', name, kind: 'server', start: time },
    ...{ durationNs: 1, status: 'unset', attributes: {} },
  };
  return `${JSON.stringify({ node, time: span.start, span })}\n`;
};

test.each([
  ['refuses', 'NODE_ERROR node-2: HTTP 403: no', (end: (s: number, t: string) => void) => end(403, 'no')],
  ['is overloaded', 'NODE_ERROR node-2: HTTP 503: busy', (end: (s: number, t: string) => void) => end(503, 'busy')],
  [
    'sends invalid JSON',
    'NODE_ERROR node-2: an invalid message: line: is not JSON',
    (end: (s: number, t: string) => void) => end(200, '{"node":\n'),
  ],
  [
    'sends JSON that is not a message',
    'NODE_ERROR node-2: an invalid message: node: Expected required property',
    (end: (s: number, t: string) => void) => end(200, '{}\n'),
  ],
  [
    'sends a time that does not exist',
    'NODE_ERROR node-2: an invalid message: time: must be a time that exists',
    (end: (s: number, t: string) => void) => end(200, line('node-2', 'never', '2026-13-01T00:00:00.000000000Z')),
  ],
  [
    'sends an item whose own time does not exist',
    'NODE_ERROR node-2: an invalid message: span/start: must be a time that exists',
    (end: (s: number, t: string) => void) => {
      const sound = line('node-2', 'never');
      end(200, sound.replace(/("start":"2026-)01-01/, '$102-31'));
    },
  ],
  [
    'has lost more than an agent can',
    'NODE_ERROR node-2: an invalid message: lost/count: Expected integer to be less or equal to 1000000000000',
    (end: (s: number, t: string) => void) => {
      const lost = { source: 'ring', count: 1e300 };
      end(200, `${JSON.stringify({ node: 'node-2', time: '2026-01-01T00:00:00.000000000Z', lost })}\n`);
    },
  ],
  [
    'answers for another node',
    'NODE_ERROR node-2: a message of node "node-1"',
    (end: (s: number, t: string) => void) => end(200, line('node-1', 'forged')),
  ],
  [
    'sends a line without an end',
    'NODE_ERROR node-2: a line is longer than 1048576 characters',
    (end: (s: number, t: string) => void) => end(200, 'x'.repeat(1_100_000)),
  ],
  [
    'ends in the middle of a line',
    'NODE_ERROR node-2: the answer ends in the middle of a line',
    (end: (s: number, t: string) => void) => end(200, line('node-2', 'half').slice(0, 40)),
  ],
])('if an agent %s, only its own items are missing, and the reader is told', async (_, told, misbehave) => {
  pushInTurn(6);
  stage.agents[1]!.misbehave = (_req, res) => misbehave((code, text) => void res.writeHead(code).end(text));
  const answer = await stage.read('/v1/stream');
  expect(words(answer).sort()).toEqual(['0', '2', '3', '5', told]);
  expect(await metric('svc_query_stream_node_failures_total')).toBe(1);
});

test('sound lines of an agent stay when one that is no message comes in the same piece', async () => {
  pushInTurn(6);
  const body = `${line('node-2', 'sound')}{}\n${line('node-2', 'after')}`;
  stage.agents[1]!.misbehave = (_req, res) => void res.writeHead(200).end(body);
  const told = 'NODE_ERROR node-2: an invalid message: node: Expected required property';
  expect(words(await stage.read('/v1/stream')).sort()).toEqual(['0', '2', '3', '5', told, 'sound']);
});

test('an agent that is down, never answers, stalls or breaks off is unavailable after its timeout', async () => {
  pushInTurn(6);
  await stage.agents[0]!.stop('dies');
  stage.agents[1]!.misbehave = () => {};
  stage.agents[2]!.misbehave = (_req, res) =>
    void res.write(line('node-3', 'before') + line('node-3', 'cut').slice(0, 30));
  const answer = await stage.read('/v1/stream');
  expect(spans(answer)).toEqual(['before']);
  const told = answer.messages.flatMap(({ node, node_status: s }) => (s ? [[node, s.state, s.message]] : [])).sort();
  expect(told).toEqual([
    ['node-1', 'NODE_UNAVAILABLE', expect.stringContaining('ECONNREFUSED') as string],
    ['node-2', 'NODE_UNAVAILABLE', 'no answer within 2000 ms'],
    ['node-3', 'NODE_UNAVAILABLE', 'no more of the answer within 2000 ms'],
  ]);
  stage.agents[2]!.misbehave = (_req, res) => {
    res.write(line('node-3', 'before') + line('node-3', 'cut').slice(0, 30), () => res.destroy());
  };
  const broken = await stage.read('/v1/stream?node=node-3');
  expect(broken.messages.map(({ span, node_status: s }) => span?.name ?? s!.state)).toContain('NODE_UNAVAILABLE');
});

test.each<[string, RegExp, () => Promise<TlsMaterial>]>([
  [
    'of another CA',
    /certificate/,
    async () => agentTls(await createCa({ commonName: 'svc-ca', now: Date.now() }), 'node-2'),
  ],
  ['of another node', /the certificate is of node-3\./, () => agentTls(stage.ca, 'node-3')],
])('an agent with a certificate %s is not read', async (_what, reason, material) => {
  pushInTurn(6);
  await stage.agents[1]!.stop('dies');
  const impostor = new StreamAgent('node-2', '127.0.0.2', fixedTls(await material()));
  impostor.push({ name: 'forged' }, start);
  await impostor.start(stage.agents[1]!.port);
  try {
    const answer = await stage.read('/v1/stream');
    expect(spans(answer)).toEqual(['0', '2', '3', '5']);
    const told = answer.messages.find(({ node_status: state }) => state);
    expect(told).toMatchObject({
      node: 'node-2',
      node_status: { state: 'NODE_ERROR', message: expect.stringMatching(reason) as string },
    });
    const follower = await stage.follow('/v1/stream?follow');
    await has(follower, new RegExp(`NODE_ERROR node-2: .*${reason.source}`));
    follower.close();
    expect(impostor.requests).toBe(0);
  } finally {
    await impostor.stop('dies');
  }
});

test('a follower sees past items, then new ones of all nodes, in order of time', async () => {
  pushInTurn(30);
  const follower = await stage.follow('/v1/stream?follow&number=5');
  await has(follower, 'NODE_CONNECTED node-1,node-2,node-3');
  expect(spans(follower)).toEqual(numbers(25, 30));
  for (const i of [33, 31, 30, 35, 32, 34]) stage.agents[i % nodes.length]!.push({ name: String(i) }, start + i);
  await until('what came', () => spans(follower).length === 11);
  expect(spans(follower)).toEqual(numbers(25, 36));
  expect(await metric('svc_query_stream_clients')).toBe(1);
  follower.close();
  await until('the agents to be left', () => stage.agents.every(({ clients }) => clients === 0));
  expect(await metric('svc_query_stream_clients')).toBe(0);
});

test('a follower learns that an agent died, and reads on when it is back, without duplicates', async () => {
  const follower = await stage.follow('/v1/stream?follow');
  await has(follower, 'NODE_CONNECTED node-1,node-2,node-3');
  pushInTurn(6);
  await until('the first', () => spans(follower).length === 6);
  await stage.agents[1]!.stop('dies');
  await has(follower, /^NODE_UNAVAILABLE node-2: /);
  pushInTurn(1, 6);
  await until('the others to go on', () => spans(follower).includes('6'));
  await stage.agents[1]!.restart();
  stage.agents[1]!.push({ name: 'since its start' }, start + 100);
  await has(follower, 'NODE_CONNECTED node-2');
  await has(follower, 'since its start');
  // Only the connection breaks, and the agent lives on: the items in its memory are read on from the last cursor.
  await stage.agents[2]!.stop('dies');
  stage.agents[2]!.push({ name: 'while away' }, start + 101);
  await stage.agents[2]!.start(stage.agents[2]!.port);
  await has(follower, 'while away');
  expect(spans(follower)).toEqual([...numbers(0, 7), 'since its start', 'while away']);
  follower.close();
});

test('a follower learns of nodes that come and leave', async () => {
  const all = stage.expected;
  stage.expected = all.slice(0, 2);
  const follower = await stage.follow('/v1/stream?follow');
  await has(follower, 'NODE_CONNECTED node-1,node-2');
  stage.agents[2]!.push({ name: 'before it was seen' }, start);
  stage.expected = [{ ...all[0]!, address: undefined, absence: 'no agent pod' }, all[2]!];
  await has(follower, 'before it was seen');
  expect(words(follower)).toEqual(
    expect.arrayContaining([
      'NODE_UNAVAILABLE node-1: no agent pod',
      'NODE_UNAVAILABLE node-2: the node has left',
      'NODE_CONNECTED node-3',
    ]),
  );
  await until('the old connections to end', () => stage.agents.map(({ clients }) => clients).join() === '0,0,1');
  follower.close();
});

test('a node that leaves is reported as gone, whether or not it had an agent, and is new when it is back', async () => {
  const [first, second] = stage.expected;
  const without = { ...second!, address: undefined, absence: 'no agent pod' };
  stage.expected = [first!, without];
  const follower = await stage.follow('/v1/stream?follow');
  await has(follower, 'NODE_UNAVAILABLE node-2: no agent pod');
  await has(follower, 'NODE_CONNECTED node-1');
  stage.expected = [];
  const gone = (): unknown[] =>
    follower.messages.filter(({ node_status: state }) => state?.gone).map(({ node_status: state }) => state);
  await until('both to be gone', () => gone().length > 0);
  expect(gone()).toEqual([
    { state: 'NODE_UNAVAILABLE', nodes: ['node-1', 'node-2'], message: 'the node has left', gone: true },
  ]);
  const before = words(follower).length;
  stage.expected = [without];
  await until('it to be told again', () => words(follower).length > before);
  expect(words(follower).slice(before)).toEqual(['NODE_UNAVAILABLE node-2: no agent pod']);
  follower.close();
});

test('a node that the request names is never gone: it stays unavailable', async () => {
  const follower = await stage.follow('/v1/stream?follow&node=node-1');
  await has(follower, 'NODE_CONNECTED node-1');
  stage.expected = [];
  await has(follower, 'NODE_UNAVAILABLE node-1: no agent is expected on a node of this name');
  expect(follower.messages.filter(({ node_status: state }) => state?.gone)).toEqual([]);
  follower.close();
});

test('an agent announces its end, and so does the query server', async () => {
  const follower = await stage.follow('/v1/stream?follow');
  await has(follower, 'NODE_CONNECTED node-1,node-2,node-3');
  await stage.agents[0]!.stop('ends');
  await has(follower, 'NODE_UNAVAILABLE node-1: the agent is ending');
  await stage.server.close();
  await until('the end', () => follower.ended);
  expect(words(follower).at(-1)).toBe('NODE_UNAVAILABLE : svc-query is ending');
});

test('a stalled reader loses what does not fit, learns how much, and does not hold up others', async () => {
  const [slow, quick] = [await stage.follow('/v1/stream?follow'), await stage.follow('/v1/stream?follow')];
  for (const one of [slow, quick]) await has(one, 'NODE_CONNECTED node-1,node-2,node-3');
  slow.pause();
  const filler = 'x'.repeat(4_000);
  let total = 0;
  // Until the buffers on the way to the slow reader are full, of which the kernel's may be large.
  while ((await metric('svc_query_stream_lost_total')) < 600) {
    for (const end = total + 300; total < end; total++)
      stage.agents[total % nodes.length]!.push({ name: `${total}`, path: filler }, start + total);
    await until('the quick reader', () => spans(quick).length >= total - 300);
  }
  await until('the quick reader', () => spans(quick).length === total);
  expect(words(quick).filter((one) => one.startsWith('lost'))).toEqual([]);
  slow.resume();
  const lost = (): number => slow.messages.reduce((sum, message) => sum + (message.lost?.count ?? 0), 0);
  await until('the slow reader to have all or know what not', () => spans(slow).length + lost() === total);
  expect(lost()).toBeGreaterThan(0);
  expect(slow.messages.find((message) => message.lost)).toMatchObject({ node: 'svc-query', lost: { source: 'relay' } });
  expect(await metric('svc_query_stream_lost_total')).toBe(lost());
  slow.close();
  quick.close();
}, 40_000);

test('a slow reader of past items loses nothing', async () => {
  for (let i = 0; i < 3_000; i++)
    stage.agents[i % nodes.length]!.push({ name: `${i}`, path: 'x'.repeat(4_000) }, start + i);
  const reader = await stage.follow('/v1/stream?number=all');
  reader.pause();
  await until('the agents to be asked', () => stage.agents.every(({ requests }) => requests === 1));
  const turns = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await new Promise(setImmediate);
  };
  let pauses = 0;
  for (; !reader.ended; pauses++) {
    await turns(200);
    const before = reader.messages.length;
    reader.readPiece();
    await until('some more', () => reader.messages.length > before || reader.ended);
  }
  expect(pauses).toBeGreaterThan(5);
  expect(spans(reader)).toEqual(numbers(0, 3_000));
}, 20_000);

test('readers beyond the limit are refused, and a place is free again when a reader leaves', async () => {
  const readers = await Promise.all([0, 1, 2].map(() => stage.follow('/v1/stream?follow')));
  const refused = await stage.read('/v1/stream');
  expect([refused.status, JSON.parse(refused.text)]).toEqual([
    503,
    {
      ...{ status: 'error', errorType: 'unavailable' },
      error: 'there are 3 readers of the stream already, the most that are served',
    },
  ]);
  // A request is not looked at before there is a place for it.
  expect((await stage.read('/v1/stream?path=(')).status).toBe(503);
  expect(await metric('svc_query_stream_refused_total')).toBe(2);
  for (const reader of readers) reader.close();
  await until('a free place', async () => (await stage.read('/v1/stream')).status === 200);
});

interface StreamClient extends Client {
  read: (request: object) => AsyncIterable<Record<string, unknown>> & { cancel: () => void };
}

/** A client that an independent library makes from the published proto file. */
function grpcClient(): StreamClient {
  const file = join(import.meta.dirname, '../../stream/proto/stream.proto');
  const definition = loadPackageDefinition(loadSync(file, { longs: Number, enums: String, oneofs: true }));
  const { Stream } = (
    definition as unknown as { svc: { stream: { v1: { Stream: new (...a: unknown[]) => StreamClient } } } }
  ).svc.stream.v1;
  const options = { 'grpc.ssl_target_name_override': 'localhost' };
  return new Stream(`127.0.0.1:${stage.server.port}`, credentials.createSsl(Buffer.from(stage.ca.cert)), options);
}

test('gRPC gives the same items as HTTP, on the same port, and refuses with the equivalent status', async () => {
  pushInTurn(9);
  const client = grpcClient();
  try {
    const seen: string[] = [];
    for await (const message of client.read({ number: 4, types: ['span'] })) {
      seen.push(`${String(message['node'])} ${(message['span'] as { name: string }).name}`);
    }
    expect(seen).toEqual(['node-3 5', 'node-1 6', 'node-2 7', 'node-3 8']);
    const refused = async (request: object): Promise<void> => {
      for await (const _ of client.read(request));
    };
    await expect(refused({ first: true, follow: true })).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: 'first: excludes follow',
    });
    const call = client.read({ follow: true });
    const states: unknown[] = [];
    for await (const message of call) {
      states.push(message['nodeStatus']);
      break;
    }
    expect(states).toEqual([{ state: 'NODE_CONNECTED', nodes }]);
    call.cancel();
    await until('the agents to be left', () => stage.agents.every(({ clients }) => clients === 0));
  } finally {
    client.close();
  }
});

test('numbers beyond 64 bits end no gRPC call: they come as the largest that the field holds', async () => {
  stage.agents[0]!.push({ name: 'huge', statusCode: 1e300, durationNs: 1e300 }, start);
  stage.agents[1]!.pushFlow({ source: { port: 1e300 }, destination: {}, bytes: 1e300 }, start + 1);
  pushInTurn(1, 2);
  const client = grpcClient();
  try {
    const seen: unknown[] = [];
    for await (const { span, flow } of client.read({ all: true })) seen.push(span ?? flow);
    const largest = 2 ** 64 - 2_048;
    expect(seen).toMatchObject([
      { name: 'huge', statusCode: 2 ** 32 - 1, durationNs: largest },
      { source: { port: 2 ** 32 - 1 }, bytes: largest },
      { name: '2' },
    ]);
  } finally {
    client.close();
  }
});
