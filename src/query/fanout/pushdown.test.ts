import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { encodeFrame } from '../../base/wire/frames.ts';
import { partialContentType, partialPath } from '../../promql/index.ts';
import type { ExpectedAgent } from '../agents/directory.ts';
import { askApi } from '../../testing/query/api-client.ts';
import type { ApiAnswer, ApiParams } from '../../testing/query/api-client.ts';
import { startQueryStage } from '../../testing/query/query-stage.ts';
import type { QueryStage } from '../../testing/query/query-stage.ts';

const nodes = ['node-1', 'node-2', 'node-3'];
const end = Math.floor(Date.now() / 60_000) * 60_000;
/** The execution paths: agents send chunks (`off`), values at the steps (`series`) or partial aggregates (`agg`). */
const paths = ['off', 'series', 'agg'] as const;
let stage: QueryStage;

const ask = (query: string, path: string, more: ApiParams = {}): Promise<ApiAnswer> =>
  stage.ask('/api/v1/query', { query, time: String(end / 1000), ...more }, { headers: { 'x-svc-pushdown': path } });
const askRange = (query: string, path: string): Promise<ApiAnswer> => {
  const span = { start: String(end / 1000 - 600), end: String(end / 1000), step: '60' };
  return stage.ask('/api/v1/query_range', { query, ...span }, { headers: { 'x-svc-pushdown': path } });
};
/** Elapsed times differ; all else in the text must not. */
const timeless = ({ text }: ApiAnswer): string => text.replace(/after \d+ ms[^"]*/g, 'after N ms');

beforeAll(async () => {
  stage = await startQueryStage({ nodes, flags: { agentTimeout: '1s', queryTimeout: '10s' } });
  for (const [n, node] of nodes.entries()) {
    for (let k = 0; k <= 60; k++) {
      const t = end - (60 - k) * 30_000;
      stage.cluster.append(node, { __name__: 'svc_agent_up' }, t, 1);
      for (const pod of ['a', 'b']) {
        const labels = { service_name: `s${n % 2}`, pod };
        for (const [i, le] of ['0.1', '1', '+Inf'].entries()) {
          const value = k * (n + 1.1) * (i + 1) * (pod === 'a' ? 3 : 1);
          stage.cluster.append(node, { __name__: 'lat_bucket', ...labels, le }, t, value);
          // Its buckets are made monotonic, which an info tells.
          stage.cluster.append(node, { __name__: 'dented_bucket', ...labels, le }, t, [5, 3, 9][i]!);
        }
        stage.cluster.append(node, { __name__: 'odd', ...labels }, t, k % 7 === 0 ? NaN : 1e16 / (k + n) - k);
      }
    }
  }
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const agent of stage.cluster.agents) agent.misbehave = undefined;
});

/** Queries for each aggregation and each place of evaluation, and some that fall back to raw chunks. */
const queries = [
  'sum by (service_name) (rate(lat_bucket[5m]))',
  'avg(odd)',
  'count(svc_agent_up)',
  'min by (pod) (odd)',
  'max without (pod) (odd)',
  'group by (le) (lat_bucket)',
  'topk(2, rate(lat_bucket[5m]))',
  'bottomk by (service_name) (1, lat_bucket)',
  'limitk(3, lat_bucket)',
  'count_values("v", lat_bucket)',
  'quantile(0.5, odd)',
  'stddev by (pod) (odd)',
  'histogram_quantile(0.9, sum by (le, service_name) (rate(lat_bucket[5m])))',
  'sum(rate(lat_bucket{le="1"}[5m])) / sum(rate(lat_bucket{le="+Inf"}[5m]))',
  'max_over_time(sum(rate(lat_bucket[5m]))[10m:1m])',
  'sum by (k8s_node_name) (odd)',
  'lat_bucket{k8s_node_name="node-2"}',
  'absent(nothing)',
  'sum(svc_agent_up) + count(lat_bucket offset 5m)',
  'sort_desc(sum by (pod) (lat_bucket))',
  'label_replace(odd, "x", "$1", "pod", "(.*)")',
  'rate(svc_agent_up[5m])',
  'lat_bucket + on (k8s_node_name, pod) group_left () odd',
  // Beyond the times of a Date, and of an int64.
  'max_over_time(sum(rate(lat_bucket[5m]))[10m:1m] @ 9e12)',
  'max_over_time(sum(rate(lat_bucket[5m]))[10m:1m] @ -9e12) or count(svc_agent_up)',
  'max_over_time(absent(lat_bucket)[10m:1m] @ 9e12)',
  'max_over_time(absent(lat_bucket)[10m:1m] @ 9e18)',
  'max_over_time(sum(rate(lat_bucket[5m]))[10m:1m] @ 9e18)',
  'max_over_time(sum(rate(lat_bucket[5m]))[10m:1m] @ -9e18) or vector(1)',
  'sum(rate(lat_bucket[5m] @ 9e18)) or vector(1)',
  `max_over_time(histogram_quantile(0.5, dented_bucket @ ${end / 1000 - 60})[10m:1m] @ 9e12)`,
  '1 + 2',
];

/** Queries that fail over these data, with the same error on every path. */
const failing = ['lat_bucket + on (pod) group_left () odd'];
test.each(failing)('%s gives the same error on every path', async (query) => {
  for (const way of [ask, askRange]) {
    const answers = await Promise.all(paths.map((path) => way(query, path)));
    expect(answers.map(({ status, json }) => [status, json.errorType])).toEqual(paths.map(() => [422, 'execution']));
    expect(answers.map(({ text }) => text)).toEqual(paths.map(() => answers[0]!.text));
  }
});

test.each(queries)('%s gives the same bytes on every path', async (query) => {
  for (const way of [ask, askRange]) {
    const answers = await Promise.all(paths.map((path) => way(query, path)));
    expect(answers.map(({ status, json }) => [status, json.degraded])).toEqual(paths.map(() => [200, false]));
    expect(answers.map(({ text }) => text)).toEqual(paths.map(() => answers[0]!.text));
  }
});

test('the answer names the path it took, and explain gives the reason', async () => {
  const query = 'sum by (service_name) (rate(lat_bucket[5m]))';
  for (const path of paths) expect((await ask(query, path)).headers['x-svc-pushdown']).toBe(path);
  const best = await stage.ask('/api/v1/query', { query, time: String(end / 1000), explain: '1' });
  const { explain } = best.json as { explain: Record<string, unknown> };
  expect(explain).toMatchObject({
    path: 'agg',
    fallbacks: [],
    rawSelectors: 0,
    plan: [expect.stringMatching(/^nodes partial: sum by \(service_name\) .*exact expansion/)],
    fragments: [{ mode: 'agg', op: 'sum', expr: 'rate(lat_bucket[5m])', steps: 1, outcome: 'pushed', pruned: [] }],
  });
  const [{ nodes: told }] = explain['fragments'] as [{ nodes: { node: string; rows: number; bytes: number }[] }];
  expect(told.map(({ node, rows }) => [node, rows])).toEqual(nodes.map((node) => [node, 1]));
  expect(told.every(({ bytes }) => bytes > 20)).toBe(true);
  expect((await ask(query, 'agg')).json).not.toHaveProperty('explain');
});

test('series with fewer bytes as chunks than as values at the steps are read raw; aggregates never are', async () => {
  const span = { start: String(end / 1000 - 600), end: String(end / 1000), step: '10', explain: '1' };
  const outcome = async (query: string): Promise<unknown> => {
    const { json } = await stage.ask('/api/v1/query_range', { query, ...span });
    return (json as { explain: { fragments: { outcome: string }[] } }).explain.fragments.map((one) => one.outcome);
  };
  expect(await outcome('rate(lat_bucket[5m])')).toEqual([expect.stringMatching(/^read raw: about \d+ bytes a series/)]);
  expect(await outcome('max by (k8s_node_name) (rate(lat_bucket[5m]))')).toEqual(['pushed']);
});

test('an unknown path is refused', async () => {
  expect((await ask('up', 'fast')).json).toMatchObject({
    errorType: 'bad_data',
    error: expect.stringContaining('fast'),
  });
});

test('agents that cannot have matching series are not asked, whatever the path', async () => {
  for (const path of paths) {
    const before = stage.cluster.agents.map(({ requests }) => requests);
    await ask('sum(rate(lat_bucket{k8s_node_name=~"node-[13]"}[5m]))', path);
    expect(stage.cluster.agents.map(({ requests }, i) => requests - before[i]!)).toEqual([1, 0, 1]);
  }
});

type Misbehave = (req: IncomingMessage, res: ServerResponse) => void;
const partial = { 'content-type': partialContentType };
const lies: [title: string, misbehave: Misbehave, reason: string][] = [
  ['closes before it answers', (_q, r) => r.destroy(), 'unreachable'],
  ['is slower than its deadline', () => {}, 'timeout'],
  ['refuses with 403', (_q, r) => r.writeHead(403).end('no'), 'auth'],
  ['has too much to do', (_q, r) => r.writeHead(429).end('busy'), 'over limit'],
  ['fails', (_q, r) => r.writeHead(500).end('oh'), 'protocol'],
  ['answers with something else', (_q, r) => r.writeHead(200, { 'content-type': 'text/html' }).end('<p>'), 'protocol'],
  ['sends bytes that are not a frame', (_q, r) => r.writeHead(200, partial).end(Buffer.alloc(40, 255)), 'protocol'],
  ['sends nothing', (_q, r) => r.writeHead(200, partial).end(), 'protocol'],
  [
    'sends a wrong checksum',
    (_q, r) => {
      const frame = encodeFrame(Uint8Array.of(10, 0));
      frame[1]! ^= 1;
      r.writeHead(200, partial).end(frame);
    },
    'protocol',
  ],
  [
    'cuts the stream',
    (_q, r) => {
      r.writeHead(200, partial);
      r.write(encodeFrame(Uint8Array.of(10, 0)).subarray(0, 3));
      setImmediate(() => r.destroy());
    },
    'protocol',
  ],
];

describe.each(['series', 'agg'])('on the path %s', (path) => {
  test.each(lies)('an agent that %s is missing, and the answer is that of the others', async (_, misbehave, reason) => {
    const query = 'sum by (service_name, le) (rate(lat_bucket[5m]))';
    const others = 'sum by (service_name, le) (rate(lat_bucket{k8s_node_name!="node-3"}[5m]))';
    const want = await ask(others, path);
    stage.cluster.agents[2]!.misbehave = misbehave;
    const got = await ask(query, path);
    expect([got.status, got.json.degraded, got.json.missingNodes]).toEqual([200, true, ['node-3']]);
    expect(got.json.data).toEqual(want.json.data);
    expect(got.json.warnings).toEqual([
      expect.stringMatching(new RegExp(`^node node-3 is missing from this answer: ${reason} after \\d+ ms: `)),
    ]);
    expect(got.headers['cache-control']).toBe('no-store');
    const refused = await ask(query, path, { partial_response: 'false' });
    expect([refused.status, refused.json.errorType]).toEqual([503, 'unavailable']);
  });
});

test('an agent that answers for another node is missing', async () => {
  const [first, , third] = stage.cluster.agents;
  // The third address is answered by the first node's agent.
  third!.misbehave = (req, res) => first!.serve(req, res);
  for (const path of paths) {
    const { json } = await ask('count(svc_agent_up)', path);
    expect([json.missingNodes, (json.data as { result: { value: unknown[] }[] }).result[0]!.value[1]]).toEqual([
      ['node-3'],
      '2',
    ]);
    expect(json.warnings![0]).toMatch(/protocol after .*from the agent of node-3/);
  }
});

test('the data of an answer that lacks a node are those of the other nodes, on every path', async () => {
  const expected = stage.cluster.expected as ExpectedAgent[];
  const [lost] = expected.splice(1, 1);
  const others: unknown[] = [];
  try {
    for (const query of queries) others.push((await ask(query, 'off')).json.data);
  } finally {
    expected.splice(1, 0, lost!);
  }
  stage.cluster.agents[1]!.misbehave = (_q, r) => r.destroy();
  for (const [i, query] of queries.entries()) {
    const answers = await Promise.all(paths.map((path) => ask(query, path)));
    expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
    expect(new Set(answers.map(timeless)).size).toBe(1);
    expect(answers[0]!.json.data).toEqual(others[i]);
  }
});

describe('a query falls back to another path', () => {
  const onlyPartial =
    (answer: Misbehave): Misbehave =>
    (req, res) =>
      req.url === partialPath ? answer(req, res) : stage.cluster.agents[2]!.serve(req, res);
  const explained = async (
    query: string,
  ): Promise<{ answer: ApiAnswer; explain: { path: string; fallbacks: unknown } }> => {
    const answer = await ask(query, 'agg', { explain: '1' });
    return { answer, explain: (answer.json as unknown as { explain: { path: string; fallbacks: unknown } }).explain };
  };

  test.each<[title: string, status: number, to: string, reason: RegExp]>([
    ['has no partial answers', 404, 'off', /has no partial answers/],
    ['is over a limit of its own', 413, 'off', /over a limit of the agent/],
    ['does not support the fragment', 501, 'series', /not supported/],
  ])('if an agent %s', async (_, status, to, reason) => {
    const whole = await ask('sum(odd)', 'off');
    stage.cluster.agents[2]!.misbehave = onlyPartial((_q, r) => r.writeHead(status).end('{"message":"m"}'));
    const { answer, explain } = await explained('sum(odd)');
    const [first] = explain.fallbacks as [unknown];
    expect([answer.json.data, answer.json.degraded]).toEqual([whole.json.data, false]);
    expect(first).toEqual({ from: 'agg', to, node: 'node-3', reason: expect.stringMatching(reason) });
    expect(explain.path).toBe('off');
  });

  test('if a fragment fails on one node only, and the query succeeds', async () => {
    const off = await ask('sum(odd)', 'off');
    stage.cluster.agents[2]!.misbehave = onlyPartial((_q, r) => r.writeHead(422).end('{"message":"duplicate"}'));
    const { answer, explain } = await explained('sum(odd)');
    expect([answer.status, answer.json.degraded, answer.json.data]).toEqual([200, false, off.json.data]);
    expect(explain).toMatchObject({
      path: 'off',
      rawSelectors: 1,
      fragments: [{ outcome: 'evaluated here: node-3 says duplicate' }],
    });
    expect(answer.headers['x-svc-pushdown']).toBe('off');
  });

  test('if a fragment fails on every node, and the query fails with the same error as without pushdown', async () => {
    const query = 'sum(label_replace(lat_bucket, "pod", "one", "", ""))';
    const before = stage.cluster.agents.map(({ requests }) => requests);
    const [off, agg] = [await ask(query, 'off'), await ask(query, 'agg')];
    expect([off.status, off.json.errorType]).toEqual([422, 'execution']);
    expect([agg.status, agg.text]).toEqual([422, off.text]);
    // Each of the two answers takes one request for raw chunks; the fragment that failed takes a third.
    expect(stage.cluster.agents.map(({ requests }, i) => requests - before[i]!)).toEqual([3, 3, 3]);
  });

  test('if an offset reaches before the first sample of an agent', async () => {
    const { explain } = await explained('sum(odd offset 2h)');
    expect(explain.fallbacks).toEqual([
      expect.objectContaining({ to: 'off', reason: expect.stringMatching(/offset/) }),
    ]);
  });

  test('if an agent has series of another node, which are joined with that node’s own, with a warning', async () => {
    const [first, , third] = stage.cluster.agents;
    const foreign: [string, string][] = [
      ['__name__', 'moved'],
      ['k8s_node_name', 'node-1'],
    ];
    third!.store.append(foreign, end - 60_000, 1);
    third!.store.append(foreign, end - 30_000, 2);
    first!.store.append([['__name__', 'moved']], end - 30_000, 5);
    first!.store.append([['__name__', 'moved']], end, 6);
    const { answer, explain } = await explained('sum(sum_over_time(moved[5m]))');
    expect(explain).toMatchObject({
      path: 'off',
      fallbacks: [{ node: 'node-3', reason: expect.stringMatching(/another node/) }],
    });
    expect(answer.json.data).toMatchObject({ result: [{ value: [end / 1000, '12'] }] });
    expect(answer.json.warnings).toEqual([expect.stringMatching(/came from two agents and were joined/)]);
    expect((await ask('sum(sum_over_time(moved[5m]))', 'off')).json.data).toEqual(answer.json.data);
  });
});

test('if an agent is too old to count samples, the answer is complete and a warning names its node', async () => {
  const counted = async (query: string): Promise<unknown> => {
    const { json } = await ask(query, 'agg', { stats: 'true' });
    const { result, stats } = json.data as { result: unknown; stats: { samples: Record<string, number> } };
    return { result, total: stats.samples['totalQueryableSamples'], warnings: json.warnings };
  };
  const whole = (await ask('sum(odd)', 'agg')).json.data as { result: unknown };
  expect(await counted('sum(odd)')).toEqual({ result: whole.result, total: 6, warnings: undefined });
  const third = stage.cluster.agents[2]!;
  third.misbehave = (req, res) => {
    const parts: Buffer[] = [];
    req
      .on('data', (part: Buffer) => parts.push(part))
      .on('end', () => {
        const { countSamples, ...known } = JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>;
        expect(countSamples).toBe(true);
        const { method, url, socket, headers } = req;
        const body = Readable.from([Buffer.from(JSON.stringify(known))]);
        const rest = { ...headers, 'content-length': undefined };
        third.serve(Object.assign(body, { method, url, socket, headers: rest }) as unknown as IncomingMessage, res);
      });
  };
  const warnings = ['the samples in "stats" lack those of node-3, whose agent is of an earlier version'];
  expect(await counted('sum(odd)')).toEqual({ result: whole.result, total: 4, warnings });
});

test('another replica of the query server gives the same answers', async () => {
  const other = await stage.replica();
  const some = queries.slice(0, 6);
  expect(some).toHaveLength(6);
  for (const query of some) {
    const [one, two] = await Promise.all([
      ask(query, 'agg'),
      askApi({ port: other.port, ca: stage.cluster.ca.cert }, '/api/v1/query', { query, time: String(end / 1000) }),
    ]);
    expect(two.text).toBe(one.text);
  }
});
