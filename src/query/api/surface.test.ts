import { connect } from 'node:http2';
import type { IncomingHttpHeaders } from 'node:http2';
import { request } from 'node:https';
import { zstdDecompressSync } from 'node:zlib';
import { decodeXorChunk, SampleBuffer, buildStreamedRead, readStreamedSeries } from '../../tsdb/index.ts';
import type { ChunkedSeries, Matcher, ReadQuery } from '../../tsdb/index.ts';
import { startQueryStage } from '../../testing/query/query-stage.ts';
import type { QueryStage } from '../../testing/query/query-stage.ts';
import { askApi } from '../../testing/query/api-client.ts';

const end = Math.floor(Date.now() / 60_000) * 60_000;
const at = String(end / 1000);
let stage: QueryStage;

beforeAll(async () => {
  stage = await startQueryStage({ flags: { clusterName: 'blue' } });
  for (const node of ['node-1', 'node-2', 'node-3']) {
    for (let k = 0; k <= 240; k++) {
      const t = end - (240 - k) * 15_000;
      stage.cluster.append(node, { __name__: 'svc_agent_up' }, t, 1);
      for (let i = 0; i < 20; i++) stage.cluster.append(node, { __name__: 'wide', i: String(i) }, t, k * i);
    }
  }
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const agent of stage.cluster.agents) agent.misbehave = undefined;
});

describe('protocols and encodings', () => {
  const http2 = async (
    path: string,
    headers: Record<string, string> = {},
    body?: string,
  ): Promise<{ headers: IncomingHttpHeaders; body: Buffer }> => {
    const session = connect(`https://localhost:${stage.server.port}`, { ca: stage.cluster.ca.cert });
    try {
      const stream = session.request({ ':path': path, ...headers }, { endStream: body === undefined });
      if (body !== undefined) stream.end(body);
      const got = new Promise<IncomingHttpHeaders>((resolve, reject) =>
        stream.once('response', resolve).once('error', reject),
      );
      const parts: Buffer[] = [];
      for await (const part of stream) parts.push(part as Buffer);
      return { headers: await got, body: Buffer.concat(parts) };
    } finally {
      session.close();
    }
  };

  test('HTTP/2 gives what HTTP/1.1 gives, for GET, POST forms, errors and unknown paths', async () => {
    const params = `query=${encodeURIComponent('sum(svc_agent_up)')}&time=${at}`;
    const one = await stage.ask(`/api/v1/query?${params}`);
    const get = await http2(`/api/v1/query?${params}`);
    expect([get.headers[':status'], get.body.toString()]).toEqual([200, one.text]);
    const form = { ':method': 'POST', 'content-type': 'application/x-www-form-urlencoded' };
    expect((await http2('/api/v1/query', form, params)).body.toString()).toBe(one.text);
    expect((await http2('/api/v1/query?query=(')).headers[':status']).toBe(400);
    expect((await http2('/nothing')).headers[':status']).toBe(404);
    expect((await http2('/api/v1/query', { ':method': 'DELETE' })).headers).toMatchObject({
      ':status': 405,
      allow: 'GET, POST',
    });
  });

  test('a large answer arrives whole over HTTP/2', async () => {
    const params = { query: 'wide', start: String(end / 1000 - 3600), end: at, step: '5' };
    const search = new URLSearchParams(params).toString();
    const one = await stage.ask('/api/v1/query_range', params);
    expect(one.text.length).toBeGreaterThan(500_000);
    expect((await http2(`/api/v1/query_range?${search}`)).body.toString() === one.text).toBe(true);
  });

  test('zstd is used where the client prefers it', async () => {
    const search = new URLSearchParams({ query: 'wide', time: at });
    const packed = await http2(`/api/v1/query?${search}`, { 'accept-encoding': 'gzip;q=0.5, zstd' });
    expect(packed.headers['content-encoding']).toBe('zstd');
    expect(zstdDecompressSync(packed.body).toString()).toBe((await stage.ask(`/api/v1/query?${search}`)).text);
  });
});

describe('further paths and parameters', () => {
  test('rules, alerts and exemplars that do not exist are empty lists', async () => {
    expect((await stage.ask('/api/v1/rules')).json.data).toEqual({ groups: [] });
    expect((await stage.ask('/api/v1/alerts')).json.data).toEqual({ alerts: [] });
    expect((await stage.ask('/api/v1/query_exemplars', { query: 'up' })).json.data).toEqual([]);
    expect((await stage.ask('/api/v1/query_exemplars', { query: 'up(' })).status).toBe(400);
  });

  test('a parsed query has the tree that Prometheus gives', async () => {
    const { json } = await stage.ask('/api/v1/parse_query', {
      query: 'sum by (a) (rate(x{b="c"}[5m] offset 1m)) > bool 1',
    });
    expect(json.data).toMatchObject({
      type: 'binaryExpr',
      op: '>',
      bool: true,
      matching: null,
      lhs: { type: 'aggregation', op: 'sum', grouping: ['a'], without: false, param: null },
      rhs: { type: 'numberLiteral', val: '1' },
    });
    expect((json.data as { lhs: { expr: object } }).lhs.expr).toEqual({
      type: 'call',
      func: { name: 'rate', argTypes: ['matrix'], variadic: 0, returnType: 'vector' },
      args: [
        {
          type: 'matrixSelector',
          name: 'x',
          matchers: [
            { name: 'b', type: '=', value: 'c' },
            { name: '__name__', type: '=', value: 'x' },
          ],
          range: 300_000,
          rangeExpr: null,
          offset: 60_000,
          offsetExpr: null,
          timestamp: null,
          startOrEnd: null,
          anchored: false,
          smoothed: false,
        },
      ],
    });
  });

  test('agents are targets, up or down with the reason; if one is down, the answer is degraded', async () => {
    stage.cluster.agents[1]!.misbehave = (_q, r) => r.writeHead(403).end('no');
    const { json } = await stage.ask('/api/v1/targets');
    const { activeTargets } = json.data as { activeTargets: { health: string; labels: object; lastError: string }[] };
    expect(activeTargets.map(({ health }) => health)).toEqual(['up', 'down', 'up']);
    expect(activeTargets[1]).toMatchObject({ lastError: 'auth: HTTP 403: no', labels: { k8s_node_name: 'node-2' } });
    expect(json.missingNodes).toEqual(['node-2']);
  });

  test('the features that are said to be there are there: functions, operators and offsets', async () => {
    const { json } = await stage.ask('/api/v1/features');
    const { api, promql, promql_functions, promql_operators } = json.data as Record<string, Record<string, boolean>>;
    expect([api!['query_stats'], api!['admin'], promql!['fill']]).toEqual([true, false, false]);
    expect(promql_functions).toMatchObject({ rate: true, double_exponential_smoothing: true });
    expect(promql_operators).toMatchObject({ '=~': true, limitk: true, unless: true });
    const query = 'limitk(1, wide offset -1m) + on () group_left () count(wide @ end() unless wide)';
    expect((await stage.ask('/api/v1/query', { query, time: at })).status).toBe(200);
    expect((await stage.ask('/api/v1/query', { query: 'wide + fill (0) wide', time: at })).status).toBe(400);
  });

  test.each(['scrape_pools/config', 'search/metric_names', 'openapi.yaml', 'nothing'])(
    'the path %s, which is not there, is answered as Prometheus answers unknown paths',
    async (path) => {
      const { status, text, headers } = await stage.ask(`/api/v1/${path}`);
      const plain = 'text/plain; charset=utf-8';
      expect([status, text, headers['content-type']]).toEqual([404, '404 page not found\n', plain]);
    },
  );

  test('the store status counts series over all agents', async () => {
    const { json } = await stage.ask('/api/v1/status/tsdb', { limit: '1' });
    expect(json.data).toMatchObject({
      headStats: { numSeries: 63 },
      seriesCountByMetricName: [{ name: 'wide', value: 60 }],
      labelValueCountByLabelName: [{ name: 'i', value: 20 }],
    });
    expect((await stage.ask('/api/v1/status/runtimeinfo')).json.data).toMatchObject({ reloadConfigSuccess: true });
    const { yaml } = (await stage.ask('/api/v1/status/config')).json.data as { yaml: string };
    expect(yaml).toContain('cluster-name: "blue"\n');
  });

  test('statistics are returned only on request', async () => {
    const { json } = await stage.ask('/api/v1/query', { query: 'svc_agent_up', time: at, stats: 'all' });
    expect((json.data as { stats: object }).stats).toMatchObject({
      timings: { execTotalTime: expect.any(Number) },
      samples: { totalQueryableSamples: expect.any(Number), peakSamples: expect.any(Number) },
    });
    const plain = await stage.ask('/api/v1/query', { query: 'svc_agent_up', time: at });
    expect(plain.json.data).not.toHaveProperty('stats');
  });
});

describe('the limits of a form', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const post = (text: string): ReturnType<QueryStage['ask']> =>
    stage.ask('/api/v1/query?query=1', {}, { method: 'POST', body: Buffer.from(text), headers: form });

  test('a form of more than 10,000 parameters is refused before it is parsed', async () => {
    expect((await post('a&'.repeat(9_999))).status).toBe(200);
    const { status, json } = await post('a&'.repeat(10_000));
    expect([status, json.error]).toEqual([400, 'form has more than 10000 parameters']);
  });

  test('the longest query is taken with all characters escaped; a form that no query needs is refused', async () => {
    const text = '日'.repeat(131_070);
    const { json } = await post(`query=${encodeURIComponent(`"${text}"`)}&time=${at}`);
    expect((json.data as { result: [number, string] }).result[1] === text).toBe(true);
    const { status, json: refused } = await post(`junk=${'x'.repeat(1_310_716)}`);
    expect([status, refused.error]).toEqual([400, 'request body is larger than 1310720 bytes']);
  });
});

describe('federation', () => {
  test('the newest samples have their times, the cluster and an empty instance', async () => {
    const { text, headers } = await stage.ask('/federate', {
      'match[]': ['svc_agent_up', '{__name__="svc_agent_up"}'],
    });
    expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toBe(
      '# TYPE svc_agent_up untyped\n' +
        [1, 2, 3].map((n) => `svc_agent_up{k8s_node_name="node-${n}",cluster="blue",instance=""} 1 ${end}\n`).join(''),
    );
  });

  test('a missing node is named, and the text may not be cached', async () => {
    stage.cluster.agents[2]!.misbehave = (_q, r) => r.destroy();
    const { text, headers } = await stage.ask('/federate', { 'match[]': 'svc_agent_up' });
    expect(text).toMatch(/node-2.*\n# node node-3 is missing\n$/);
    expect([headers['x-svc-missing-nodes'], headers['cache-control']]).toEqual(['node-3', 'no-store']);
    const strict = await stage.ask('/federate', { 'match[]': 'svc_agent_up', partial_response: 'false' });
    expect(strict.status).toBe(503);
    expect((await stage.ask('/federate')).json.error).toBe('no match[] parameter provided');
  });
});

interface ReadAnswer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly series: ChunkedSeries[];
  /** The text of a refusal. */
  readonly text: string;
}

const read = (matchers: readonly Matcher[], path?: string): Promise<ReadAnswer> => readAll([{ matchers }], path);

const readAll = (
  queries: readonly Pick<ReadQuery, 'matchers' | 'hints'>[],
  path = '/api/v1/read',
): Promise<ReadAnswer> => {
  const { headers, body } = buildStreamedRead(
    queries.map((query) => ({ startMs: end - 60_000, endMs: end, ...query })),
  );
  return new Promise((resolve, reject) => {
    const { ca } = stage.cluster;
    const options = { host: '127.0.0.1', servername: 'localhost', port: stage.server.port, ca: ca.cert };
    const req = request({ ...options, path, method: 'POST', headers }, async (res) => {
      const series: ChunkedSeries[] = [];
      let text = '';
      if (res.statusCode === 200) {
        for await (const one of readStreamedSeries(res.headers['content-type'], res)) {
          series.push({ ...one, chunks: one.chunks.map((c) => ({ ...c, bytes: Uint8Array.from(c.bytes) })) });
        }
      } else for await (const part of res) text += String(part);
      resolve({ status: res.statusCode ?? 0, headers: res.headers, series, text });
    });
    req.on('error', reject).end(body);
  });
};

/**
 * Matchers of the cluster label and the series that they find: `none` has no such label, `same` this cluster's name,
 * `other` another name.
 */
const clusterConditions: [type: Matcher['type'], value: string, found: string[]][] = [
  ['=', 'blue', ['none', 'same']],
  ['=', 'red', ['other']],
  ['=', 'green', []],
  ['=', '', []],
  ['!=', 'blue', ['other']],
  ['!=', '', ['none', 'same', 'other']],
  ['=~', 'blue|red', ['none', 'same', 'other']],
  ['=~', 're.|', ['other']],
  ['!~', 're.|', ['none', 'same']],
  ['!~', 'blue|', ['other']],
];

describe('a series’ own cluster takes precedence over the name of this cluster', () => {
  beforeAll(() => {
    stage.cluster.append('node-1', { __name__: 'owned', i: 'none' }, end, 1);
    stage.cluster.append('node-1', { __name__: 'owned', i: 'same', cluster: 'blue' }, end, 1);
    stage.cluster.append('node-2', { __name__: 'owned', i: 'other', cluster: 'red' }, end, 1);
  });

  test.each(clusterConditions)('federation: cluster%s"%s" finds %o', async (type, value, found) => {
    const { text } = await stage.ask('/federate', { 'match[]': `owned{cluster${type}"${value}"}` });
    const lines = text.split('\n').filter((line) => line.startsWith('owned{'));
    expect(lines.map((line) => /i="(\w+)"/.exec(line)![1]).sort()).toEqual(found.toSorted());
    expect(lines.every((line) => line.includes(line.includes('i="other"') ? 'cluster="red"' : 'cluster="blue"'))).toBe(
      true,
    );
  });

  test.each([
    ['=', '', 3],
    ['!=', '', 0],
  ] as const)(
    'remote read and federation: a matcher without a name (%s"%s") finds %i of 3',
    async (type, value, found) => {
      const { status, series } = await read([
        { type: '=', name: '__name__', value: 'owned' },
        { type, name: '', value },
      ]);
      expect([status, series.length]).toEqual([200, found]);
      const { text } = await stage.ask('/federate', { 'match[]': `owned{""${type}"${value}"}` });
      expect(text.split('\n').filter((line) => line.startsWith('owned{'))).toHaveLength(found);
    },
  );

  test.each(clusterConditions)('remote read: cluster%s"%s" finds %o', async (type, value, found) => {
    const { series } = await read([
      { type: '=', name: '__name__', value: 'owned' },
      { type, name: 'cluster', value },
    ]);
    const clusters = { none: 'blue', same: 'blue', other: 'red' } as Record<string, string>;
    expect(
      series
        .map(({ labels }) => Object.fromEntries(labels))
        .map(({ i, cluster }) => [i, cluster])
        .sort(),
    ).toEqual(found.map((i) => [i, clusters[i]]).sort());
  });
});

describe('remote read', () => {
  test('series of all nodes come in label order with the samples of the window', async () => {
    const { series } = await read([{ type: '=', name: '__name__', value: 'svc_agent_up' }]);
    expect(series.map(({ labels }) => Object.fromEntries(labels))).toEqual(
      [1, 2, 3].map((n) => ({ __name__: 'svc_agent_up', cluster: 'blue', k8s_node_name: `node-${n}` })),
    );
    const samples = new SampleBuffer();
    decodeXorChunk(series[0]!.chunks[0]!.bytes, samples);
    expect([...samples.times.slice(0, samples.length)]).toEqual([60, 45, 30, 15, 0].map((s) => end - s * 1000));
  });

  test('a matcher on the cluster label is evaluated by the query server: another cluster has no series', async () => {
    const name = { type: '=' as const, name: '__name__', value: 'svc_agent_up' };
    expect((await read([name, { type: '=', name: 'cluster', value: 'blue' }])).series).toHaveLength(3);
    expect((await read([name, { type: '=', name: 'cluster', value: 'green' }])).series).toHaveLength(0);
  });

  test('a missing node is named in a header, or the read is refused if the client wants that', async () => {
    stage.cluster.agents[0]!.misbehave = (_q, r) => r.destroy();
    const name = { type: '=' as const, name: '__name__', value: 'svc_agent_up' };
    const { series, headers } = await read([name]);
    expect([series.length, headers['x-svc-missing-nodes']]).toEqual([2, 'node-1']);
    expect((await read([name], '/api/v1/read?partial_response=false')).status).toBe(503);
  });

  const labelled = (count: number, value: (i: number) => string, type: Matcher['type'] = '='): Matcher[] =>
    Array.from({ length: count }, (_, i) => ({ type, name: `l${i}`, value: value(i) }));

  test.each<[string, Pick<ReadQuery, 'matchers' | 'hints'>[], string]>([
    [
      '51 queries',
      Array.from({ length: 51 }, () => ({ matchers: [] })),
      'query is too large: selectors: 51, at most 50',
    ],
    ['2,001 matchers', [{ matchers: labelled(2_001, String) }], 'query is too large: matchers: 2001, at most 2000'],
    [
      '51 regular expressions',
      [{ matchers: labelled(51, (i) => `a+${i}`, '=~') }],
      'query is too large: regular expressions: 51, at most 50',
    ],
    [
      'regular expressions that cost too much together',
      [{ matchers: labelled(3, (i) => `a{900}${i}`, '!~') }],
      'query is too large: cost of all regular expressions: 37802, at most 30000',
    ],
    [
      'one regular expression that costs too much',
      [{ matchers: labelled(1, () => 'a{1000}', '=~') }],
      'read request is too large: cost of a regular expression: 21000, at most 20000',
    ],
    [
      'an overlong label value',
      [{ matchers: labelled(1, () => 'a'.repeat(131_071)) }],
      'query is too large: characters: 131073, at most 131072',
    ],
    [
      'very many grouping labels',
      [{ matchers: [], hints: { grouping: Array.from({ length: 131_073 }, () => '') } }],
      'query is too large: characters: 131073, at most 131072',
    ],
  ])('a remote read with %s is refused before an agent is asked', async (_, queries, reason) => {
    const before = stage.cluster.agents.map(({ requests }) => requests);
    const { status, headers, text } = await readAll(queries);
    expect([status, headers['content-type'], text]).toEqual([...[400, 'text/plain; charset=utf-8'], `${reason}\n`]);
    expect(stage.cluster.agents.map(({ requests }) => requests)).toEqual(before);
  });

  test('a remote read of an invalid regular expression is refused before an agent is asked', async () => {
    const before = stage.cluster.agents.map(({ requests }) => requests);
    const { status, text } = await read([{ type: '=~', name: 'a', value: '(' }]);
    expect([status, text]).toEqual([400, expect.stringMatching(/bad regular expression: .*missing closing \)/)]);
    expect(stage.cluster.agents.map(({ requests }) => requests)).toEqual(before);
  });

  test('a remote read with as many queries and matchers as are allowed is answered', async () => {
    const name: Matcher = { type: '=', name: '__name__', value: 'svc_agent_up' };
    const rest = labelled(39, (i) => `a{9}${i}?|`, '=~');
    const { status, series } = await readAll(Array.from({ length: 50 }, () => ({ matchers: [name, ...rest] })));
    expect([status, series.length]).toEqual([200, 150]);
  });

  test('an invalid remote read gives a plain 400', async () => {
    const answer = await stage.ask('/api/v1/read', {}, { form: true });
    expect([answer.status, answer.headers['content-type']]).toEqual([400, 'text/plain; charset=utf-8']);
  });
});

test('small answers are served while a large matrix is under way', async () => {
  const params = { query: 'wide', start: String(end / 1000 - 3600), end: at, step: '0.5' };
  let done = false;
  const large = stage.ask('/api/v1/query_range', params).then((answer) => ((done = true), answer));
  let served = 0;
  while (!done) {
    const small = await stage.ask('/api/v1/query', { query: '1', time: at });
    expect(small.status).toBe(200);
    if (!done) served++;
  }
  expect((await large).text.length).toBeGreaterThan(5_000_000);
  expect(served).toBeGreaterThan(10);
});

test('several replicas give the same answers, byte for byte', async () => {
  const other = await stage.replica();
  for (const query of ['sum by (i) (rate(wide[5m]))', 'topk(3, wide)', 'avg(wide)', 'wide']) {
    const second = await askApi({ port: other.port, ca: stage.cluster.ca.cert }, '/api/v1/query', { query, time: at });
    expect([second.status, second.json.degraded]).toEqual([200, false]);
    expect(second.text).toBe((await stage.ask('/api/v1/query', { query, time: at })).text);
  }
});
