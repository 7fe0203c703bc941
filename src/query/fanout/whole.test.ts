import type { IncomingMessage, ServerResponse } from 'node:http';
import { encodeFrame } from '../../base/wire/frames.ts';
import { partialContentType, partialPath } from '../../promql/index.ts';
import type { ExpectedAgent } from '../agents/directory.ts';
import type { ApiAnswer, ApiParams } from '../../testing/query/api-client.ts';
import { startQueryStage } from '../../testing/query/query-stage.ts';
import type { QueryStage } from '../../testing/query/query-stage.ts';

/** Tests of queries whose selectors can match on one node only: in them, `#` stands for the matcher on `node-2`. */

const nodes = ['node-1', 'node-2', 'node-3'];
/** The ways to execute a query: agents return raw series, or compute series, aggregations or the whole query. */
const paths = ['off', 'series', 'agg', 'whole'] as const;
const end = Math.floor(Date.now() / 60_000) * 60_000;
let stage: QueryStage;
let expected: ExpectedAgent[];

beforeAll(async () => {
  stage = await startQueryStage({ nodes, flags: { agentTimeout: '1s', queryTimeout: '10s' } });
  expected = stage.cluster.expected as ExpectedAgent[];
  for (const [n, node] of nodes.entries()) {
    for (let k = 0; k <= 60; k++) {
      const t = end - (60 - k) * 30_000;
      for (const pod of ['a', 'b', 'c']) {
        for (const [i, le] of ['0.1', '1', '+Inf'].entries()) {
          const labels = { __name__: 'lat_bucket', service_name: pod === 'c' ? 's' : 'r', pod, le };
          stage.cluster.append(node, labels, t, k * (n + 1.1) * (i + 1) * (pod === 'a' ? 3 : 1));
        }
        stage.cluster.append(node, { __name__: 'odd', pod }, t, k % 7 === 0 ? NaN : 1e16 / (k + n) - k);
      }
    }
  }
});
afterAll(() => stage.close());
let agents: readonly ExpectedAgent[];
beforeEach(() => {
  agents ??= [...expected];
  expected.splice(0, expected.length, ...agents);
  for (const agent of stage.cluster.agents) agent.misbehave = undefined;
});

const pinned = (query: string): string => query.replaceAll('#', 'k8s_node_name="node-2"');
const header = (path: string): { headers: Record<string, string> } => ({ headers: { 'x-svc-pushdown': path } });
const ask = (query: string, path: string, more: ApiParams = {}): Promise<ApiAnswer> =>
  stage.ask('/api/v1/query', { query: pinned(query), time: String(end / 1000), ...more }, header(path));
const askRange = (query: string, path: string): Promise<ApiAnswer> => {
  const span = { start: String(end / 1000 - 600), end: String(end / 1000), step: '60' };
  return stage.ask('/api/v1/query_range', { query: pinned(query), ...span }, header(path));
};
/** An answer without elapsed times and agents' error messages. Only these may differ between paths. */
const worded = ({ json: { warnings = [], ...rest } }: ApiAnswer): string =>
  JSON.stringify([rest, warnings.map((text) => text.replace(/ after \d+ ms: .*/s, ''))]);

interface Explain {
  path: string;
  plan: string[];
  fallbacks: { from: string; to: string; reason: string }[];
  fragments: { mode: string; expr: string; outcome: string; nodes: { node: string; rows: number }[] }[];
}
const explained = async (query: string, path = 'whole'): Promise<{ answer: ApiAnswer; explain: Explain }> => {
  const answer = await ask(query, path, { explain: '1' });
  return { answer, explain: (answer.json as unknown as { explain: Explain }).explain };
};

const queries = [
  'sum by (service_name) (rate(lat_bucket{#}[5m]))',
  'avg(odd{#})',
  'quantile(0.5, odd{#})',
  'stddev by (pod) (odd{#})',
  'histogram_quantile(0.9, sum by (le, service_name) (rate(lat_bucket{#}[5m])))',
  'histogram_quantile(1.5, rate(lat_bucket{#}[5m]))',
  'sum(rate(lat_bucket{#,le="1"}[5m])) / sum(rate(lat_bucket{#,le="+Inf"}[5m]))',
  'max_over_time(sum(rate(lat_bucket{#}[5m]))[10m:1m])',
  'topk(3, sum by (pod, le) (lat_bucket{#}))',
  'bottomk by (service_name) (2, lat_bucket{#})',
  'topk(1, odd{#}) + 1',
  'sort_desc(sum by (pod) (lat_bucket{#}))',
  'sort_by_label(lat_bucket{#}, "pod")',
  'limitk(3, lat_bucket{#})',
  'count_values("v", lat_bucket{#})',
  'absent(nothing{#})',
  'absent_over_time(odd{#}[5m])',
  'count(nothing{#}) or vector(0)',
  'odd{#} > scalar(min(odd{#}))',
  'label_replace(odd{#}, "k8s_node_name", "elsewhere", "", "")',
  'lat_bucket{#} + on (pod) group_left () odd{#}',
  'lat_bucket{#,le="1"} * on (pod) odd{#}',
  'rate(odd{#}[5m])',
  'scalar(sum(odd{#})) + scalar(absent(nothing{#}))',
  'sum(odd{#} offset 5m) - sum(odd{#} @ end())',
  'sum(odd{#})[5m:1m]',
  'info(odd{#})',
];

/** Queries that may have a value or an annotation over no series at all, and some that have neither. */
const ofNothing = queries.filter((query) => /^sum by|absent|vector|scalar|1\.5|^topk/.test(query));

test('some queries have a value over no series', () => expect(ofNothing.length).toBeGreaterThan(5));

/** Queries that fail: the vector matching is ambiguous, or a range query gives a range vector. */
const failing: [query: string, way: typeof askRange, status: number][] = [
  ['lat_bucket{#} * on (pod) odd{#}', ask, 422],
  ['lat_bucket{#} * on (pod) odd{#}', askRange, 422],
  ['sum(odd{#})[5m:1m]', askRange, 400],
];
test.each(failing)('%s gives the same error on every path', async (query, way, status) => {
  const answers = await Promise.all(paths.map((path) => way(query, path)));
  expect(answers.map((answer) => answer.status)).toEqual(paths.map(() => status));
  expect(answers.map(({ text }) => text)).toEqual(paths.map(() => answers[0]!.text));
});

test.each(queries)('%s gives the same bytes on every path', async (query) => {
  for (const way of query.endsWith(']') ? [ask] : [ask, askRange]) {
    const answers = await Promise.all(paths.map((path) => way(query, path)));
    expect(answers.map(({ status, json }) => [status, json.degraded])).toEqual(paths.map(() => [200, false]));
    expect(answers.map(({ text }) => text)).toEqual(paths.map(() => answers[0]!.text));
  }
});

test('the node computes the query, and only its value crosses the network', async () => {
  const { answer, explain } = await explained(queries[4]!);
  expect(answer.headers['x-svc-pushdown']).toBe('whole');
  expect(explain).toMatchObject({
    path: 'whole',
    fallbacks: [],
    rawSelectors: 0,
    plan: [expect.stringMatching(/^nodes whole: histogram_quantile.*all of its series lie on one node/)],
    fragments: [
      { mode: 'whole', outcome: 'pushed', nodes: [{ node: 'node-2', rows: 2 }], pruned: ['node-1', 'node-3'] },
    ],
  });
});

test('the query server evaluates a scalar or subquery outside the aggregation; nodes compute a rate', async () => {
  const modes = async (query: string): Promise<string[]> => {
    const { explain } = await explained(query);
    return [explain.path, ...explain.fragments.map(({ mode, expr }) => `${mode} ${expr}`)];
  };
  expect(await modes('scalar(sum(odd{#})) + 1')).toEqual(['whole', 'whole sum(odd{k8s_node_name="node-2"})']);
  expect(await modes('sum(odd{#})[5m:1m]')).toEqual(['whole', 'whole sum(odd{k8s_node_name="node-2"})']);
  expect(await modes('rate(odd{#}[5m])')).toEqual(['agg', 'series rate(odd{k8s_node_name="node-2"}[5m])']);
  expect(await modes('vector(1)')).toEqual(['off']);
});

test('a query that may find series on two nodes is not sent as a whole', async () => {
  for (const query of ['sum(odd{#}) / sum(odd)', 'sum(odd{k8s_node_name=~"node-[12]"})', 'sum(odd)']) {
    const { answer, explain } = await explained(query);
    expect([answer.headers['x-svc-pushdown'], explain.fragments.map(({ mode }) => mode)]).toEqual([
      'agg',
      explain.fragments.map(() => 'agg'),
    ]);
  }
});

test('with a single node each query is sent as a whole; a node without an agent counts as a second node', async () => {
  expected.splice(1);
  expect((await explained('stddev(odd)')).explain.path).toBe('whole');
  for (const query of queries) {
    const everywhere = query.replaceAll(/#,?/g, '');
    const [off, whole] = [await ask(everywhere, 'off'), await ask(everywhere, 'whole')];
    expect([whole.status, whole.text]).toEqual([200, off.text]);
  }
  expected.push({ node: 'node-9', address: undefined, absence: 'no agent pod', nodeReady: true });
  expect((await explained('sum(odd)')).explain.path).toBe('agg');
});

describe.each<[title: string, misbehave: (req: IncomingMessage, res: ServerResponse) => void, reason: string]>([
  ['closes before it answers', (_q, r) => r.destroy(), 'unreachable'],
  ['refuses with 403', (_q, r) => r.writeHead(403).end('no'), 'auth'],
  ['has too much to do', (_q, r) => r.writeHead(429).end('busy'), 'over limit'],
  [
    'cuts the stream',
    (_q, r) => {
      r.writeHead(200, { 'content-type': partialContentType });
      r.write(encodeFrame(Uint8Array.of(10, 0)).subarray(0, 3));
      setImmediate(() => r.destroy());
    },
    'protocol',
  ],
])('when the node’s agent %s', (_, misbehave, reason) => {
  test('every path answers as if no series existed', async () => {
    stage.cluster.agents[1]!.misbehave = misbehave;
    for (const query of ofNothing) {
      const answers = await Promise.all(paths.map((path) => ask(query, path)));
      expect(new Set(answers.map(worded)).size).toBe(1);
      expect(answers[0]!.json).toMatchObject({ degraded: true, missingNodes: ['node-2'] });
      expect(answers[3]!.json.warnings).toContainEqual(expect.stringMatching(`node-2 is missing .*: ${reason} after`));
    }
    const { answer } = await explained('absent(odd{#})');
    expect(answer.json.data).toMatchObject({ result: [{ value: [end / 1000, '1'] }] });
  });
});

test('an agent that answers for another node counts as missing', async () => {
  stage.cluster.agents[1]!.misbehave = (req, res) => stage.cluster.agents[0]!.serve(req, res);
  for (const query of ofNothing) {
    // The path `off` is left out: an empty answer to a remote read does not name its node.
    const answers = await Promise.all(paths.slice(1).map((path) => ask(query, path)));
    expect(new Set(answers.map(worded)).size).toBe(1);
    expect(answers[0]!.json.missingNodes).toEqual(['node-2']);
  }
});

describe('a whole query falls back to another path', () => {
  test.each([
    ['does not support it', 501, 'agg', /not supported/],
    ['is over a limit of its own', 413, 'agg', /over a limit/],
    ['has no partial answers', 404, 'off', /has no partial answers/],
  ])('if the agent %s', async (_title, status, to, reason) => {
    const query = 'stddev(odd{#}) + sum(odd{#})';
    const off = await ask(query, 'off');
    const { agents: simulated } = stage.cluster;
    let refused = 0;
    simulated[1]!.misbehave = (req, res) => {
      // The first request is the whole query, and later ones are its parts.
      if (req.url === partialPath && refused++ === 0) res.writeHead(status).end('{"message":"m"}');
      else simulated[1]!.serve(req, res);
    };
    const { answer, explain } = await explained(query);
    expect([answer.json.data, answer.json.degraded, explain.path]).toEqual([off.json.data, false, to]);
    expect(explain.fallbacks).toEqual([{ from: 'whole', to, node: 'node-2', reason: expect.stringMatching(reason) }]);
  });

  test('if it fails on the node, and the answer is then the error of the path `off`', async () => {
    const query = 'lat_bucket{#} * on (pod) odd{#} * on (pod) lat_bucket{#}';
    const [off, whole] = [await ask(query, 'off'), await ask(query, 'whole')];
    expect([whole.status, whole.text]).toEqual([422, off.text]);
  });

  test('if two agents speak for the node', async () => {
    const [, second, third] = expected;
    expected[1] = { ...second!, more: [third!.address!] };
    const { explain } = await explained('stddev(odd{#})');
    expect(explain.fallbacks).toEqual([
      { from: 'whole', to: 'off', node: 'node-2', reason: 'two agents speak for the node' },
    ]);
  });

  test('if the only agent has series of another node', async () => {
    expected.splice(1);
    const labels: [string, string][] = [
      ['__name__', 'odd'],
      ['k8s_node_name', 'node-7'],
      ['pod', 'z'],
    ];
    stage.cluster.agents[0]!.store.append(labels, end - 30_000, 5);
    const { answer, explain } = await explained('quantile(1, odd)');
    expect(explain.fallbacks).toEqual([
      { from: 'whole', to: 'off', node: 'node-1', reason: expect.stringMatching(/another node/) },
    ]);
    expect(answer.json.data).toEqual((await ask('quantile(1, odd)', 'off')).json.data);
    // With a matcher that excludes those series, the query is sent as a whole again.
    expect((await explained('quantile(1, odd{k8s_node_name="node-1"})')).explain.path).toBe('whole');
  });
});

test('a request can choose each path', async () => {
  for (const path of paths) expect((await ask('sum(odd{#})', path)).headers['x-svc-pushdown']).toBe(path);
});
