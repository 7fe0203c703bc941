import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { systemClock } from '../base/clock.ts';
import { silentLogger } from '../base/logger.ts';
import { readSettings } from '../base/settings.ts';
import { startAgentCluster } from '../testing/query/agent-cluster.ts';
import type { AgentCluster } from '../testing/query/agent-cluster.ts';
import { askApi } from '../testing/query/api-client.ts';
import type { ApiAnswer, ApiParams } from '../testing/query/api-client.ts';
import { until } from '../testing/until.ts';
import type { AgentDirectory } from './agents/directory.ts';
import { querySettingTable, startQueryServer } from './index.ts';
import type { ExpectedAgent, QueryServer } from './index.ts';

const nodes = ['node-1', 'node-2', 'node-3'];
/** A whole minute, so that times have a short text. */
const end = Math.floor(Date.now() / 60_000) * 60_000;
const at = String(end / 1000);

let cluster: AgentCluster;
let server: QueryServer;
let pageDir: string;
let expected: readonly ExpectedAgent[];
let synced = true;
const directory: AgentDirectory = {
  agents: () => expected,
  get synced() {
    return synced;
  },
};

beforeAll(async () => {
  cluster = await startAgentCluster(nodes, systemClock);
  for (const [n, node] of nodes.entries()) {
    for (let k = 0; k <= 60; k++) {
      const t = end - (60 - k) * 30_000;
      cluster.append(node, { __name__: 'svc_agent_up', version: '1' }, t, 1);
      for (const code of ['200', '500']) {
        const labels = { __name__: 'http_server_request_duration_count', service_name: `s${n % 2}`, code };
        cluster.append(node, labels, t, k * (n + 1) * (code === '200' ? 30 : 3));
      }
    }
  }
  pageDir = await mkdtemp(join(tmpdir(), 'svc-page-'));
  await writeFile(join(pageDir, 'index.html'), '<!doctype html><title>svc-query</title>');
  await writeFile(join(pageDir, 'app.js'), 'void 0;');
  const flags = { namespace: 'svc-system', bindAddress: '127.0.0.1', port: '0', healthPort: '0' };
  const limits = { agentReadPort: String(cluster.port), agentTimeout: '2s', queryTimeout: '10s', maxSamples: '100000' };
  server = await startQueryServer({
    settings: readSettings(querySettingTable, { flags: { ...flags, ...limits }, env: {}, prefix: 'SVC_' }),
    clock: systemClock,
    logger: silentLogger,
    directory,
    reviews: { reviewToken: async () => undefined, mayAccessPath: async () => false },
    tls: cluster.tls,
    version: '0.0.0',
    pageDir,
  });
});

afterAll(async () => {
  await server.close();
  await cluster.close();
  await rm(pageDir, { recursive: true });
});

beforeEach(() => {
  expected = cluster.expected;
  synced = true;
  for (const agent of cluster.agents) agent.misbehave = undefined;
});

const ask = (path: string, params: ApiParams = {}, options: Parameters<typeof askApi>[3] = {}): Promise<ApiAnswer> =>
  askApi({ port: server.port, ca: cluster.ca.cert }, path, params, options);
const instant = (query: string, more: ApiParams = {}): Promise<ApiAnswer> =>
  ask('/api/v1/query', { query, time: at, ...more });
/** Evaluates over raw chunks, even if the query could be pushed down. */
const instantRaw = (query: string): Promise<ApiAnswer> =>
  ask('/api/v1/query', { query, time: at }, { headers: { 'x-svc-pushdown': 'off' } });

describe('answers over all nodes', () => {
  test('every node counts once, and the answer always has the members degraded and missingNodes', async () => {
    const { status, headers, text } = await instant('sum(svc_agent_up)');
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    expect(text).toBe(
      `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[${at},"3"]}]},"degraded":false,"missingNodes":[]}`,
    );
  });

  test('a regular expression alternative that is given twice counts once', async () => {
    for (const run of [instant, instantRaw]) {
      const { json } = await run('sum({__name__=~"svc_agent_up|svc_agent_up"})');
      expect(json.data).toMatchObject({ result: [{ value: [end / 1000, '3'] }] });
    }
  });

  test('rates are summed over the nodes', async () => {
    const { json } = await instant('sum by (service_name) (rate(http_server_request_duration_count{code="200"}[5m]))');
    expect(json.data).toEqual({
      resultType: 'vector',
      result: [
        { metric: { service_name: 's0' }, value: [end / 1000, '4'] },
        { metric: { service_name: 's1' }, value: [end / 1000, '2'] },
      ],
    });
  });

  test('a POST range query gives one point per step, and an info for a metric not named like a counter', async () => {
    const params = { query: 'sum(rate(svc_agent_up[2m]))', start: String(end / 1000 - 60), end: at, step: '30s' };
    const { json } = await ask('/api/v1/query_range', params, { form: true });
    const { result } = json.data as { result: { values: [number, string][] }[] };
    expect(result[0]!.values.map(([t]) => t - end / 1000)).toEqual([-60, -30, 0]);
    expect(json.infos).toEqual([expect.stringMatching(/metric might not be a counter.*\(1:10\)$/)]);
  });

  test('an answer shows ten warnings, and says how many more there are, those that the evaluation left out included', async () => {
    const params = { query: 'histogram_quantile(time(), vector(1))', start: '2', end: '701', step: '1' };
    const { json } = await ask('/api/v1/query_range', params);
    expect(json.warnings).toHaveLength(11);
    // A quantile at each of 700 steps, and a bucket without `le`.
    expect(json.warnings!.at(-1)).toBe('691 more warning annotations omitted');
    expect(json.infos).toBeUndefined();
  });

  test('scalars, strings and ranges of raw samples have their own shapes', async () => {
    expect((await instant('1e-7')).text).toContain(`"data":{"resultType":"scalar","result":[${at},"0.0000001"]}`);
    expect((await instant('vector(1e-7)')).text).toContain(`"value":[${at},"1e-07"]`);
    expect((await instant('"a"')).text).toContain(`"data":{"resultType":"string","result":[${at},"a"]}`);
    const { json } = await instant('svc_agent_up{k8s_node_name="node-2"}[1m]');
    expect(json.data).toMatchObject({
      resultType: 'matrix',
      result: [
        {
          values: [
            [end / 1000 - 30, '1'],
            [end / 1000, '1'],
          ],
        },
      ],
    });
  });

  test('a matcher on the node label asks only the nodes that can match', async () => {
    const before = cluster.agents.map((a) => a.requests);
    const { json } = await instant('count(svc_agent_up{k8s_node_name=~"node-[12]"})');
    expect(json.data).toMatchObject({ result: [{ value: [end / 1000, '2'] }] });
    expect(cluster.agents.map((a, i) => a.requests - before[i]!)).toEqual([1, 1, 0]);
  });

  test('all selectors of a query go to an agent in one request', async () => {
    const before = cluster.agents[0]!.requests;
    await instantRaw('sum(svc_agent_up) + sum(svc_agent_up offset 1m) - count(http_server_request_duration_count)');
    expect(cluster.agents[0]!.requests - before).toBe(1);
  });

  test('series, labels and label values are merged over the nodes', async () => {
    const series = await ask('/api/v1/series', { 'match[]': ['svc_agent_up', 'svc_agent_up{version="1"}'] });
    expect(series.json.data).toEqual(
      nodes.map((k8s_node_name) => ({ __name__: 'svc_agent_up', k8s_node_name, version: '1' })),
    );
    const labels = await ask('/api/v1/labels', {}, { form: true });
    expect(labels.json.data).toEqual(['__name__', 'code', 'k8s_node_name', 'service_name', 'version']);
    const values = await ask('/api/v1/label/k8s_node_name/values', { limit: '2' });
    expect([values.json.data, values.json.warnings]).toEqual([
      ['node-1', 'node-2'],
      ['results truncated due to limit'],
    ]);
  });

  test('a large answer is compressed if the client accepts gzip', async () => {
    const params = {
      query: 'http_server_request_duration_count',
      start: String(end / 1000 - 1500),
      end: at,
      step: '1',
    };
    const plain = await ask('/api/v1/query_range', params);
    const options = { host: '127.0.0.1', port: server.port };
    const packed = await new Promise<Buffer>((resolve, reject) => {
      void import('node:https').then(({ get }) =>
        get(
          {
            ...options,
            servername: 'localhost',
            ca: cluster.ca.cert,
            path: `/api/v1/query_range?${new URLSearchParams(params)}`,
            headers: { 'accept-encoding': 'gzip' },
          },
          (res) => {
            const parts: Buffer[] = [];
            res.on('data', (p: Buffer) => parts.push(p)).on('end', () => resolve(Buffer.concat(parts)));
          },
        ).on('error', reject),
      );
    });
    expect(packed.length).toBeLessThan(plain.text.length / 3);
    expect(gunzipSync(packed).toString()).toBe(plain.text);
  });
});

describe('degraded answers', () => {
  const cases: [title: string, breakIt: (agent: AgentCluster['agents'][number]) => void, reason: RegExp][] = [
    [
      'refuses with 403',
      (a) => (a.misbehave = (_q, r) => r.writeHead(403).end('no')),
      /^node node-3 is missing from this answer: auth after \d+ ms: HTTP 403: no$/,
    ],
    ['is over its limit', (a) => (a.misbehave = (_q, r) => r.writeHead(429).end()), /: over limit after/],
    [
      'answers with something else',
      (a) => (a.misbehave = (_q, r) => r.writeHead(200, { 'content-type': 'text/html' }).end('<p>')),
      /: protocol after .*content type/,
    ],
    [
      'cuts the stream',
      (a) =>
        (a.misbehave = (_q, r) =>
          void (r.writeHead(200, stream), r.write(Buffer.from([9, 1])), setImmediate(() => r.destroy()))),
      /: protocol after/,
    ],
    [
      'ends inside a frame',
      (a) => (a.misbehave = (_q, r) => r.writeHead(200, stream).end(Buffer.from([9, 1]))),
      /: protocol after .*ended inside a frame/,
    ],
    ['closes before answering', (a) => (a.misbehave = (_q, r) => r.destroy()), /: unreachable after/],
    ['is slower than its deadline', (a) => (a.misbehave = () => {}), /: timeout after/],
  ];
  const stream = { 'content-type': 'application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse' };

  test.each(cases)('an agent that %s is missing, and the rest of the answer is right', async (_, breakIt, reason) => {
    breakIt(cluster.agents[2]!);
    const { status, headers, json } = await instantRaw('count by (k8s_node_name) (svc_agent_up)');
    expect([status, json.status, json.degraded, json.missingNodes]).toEqual([200, 'success', true, ['node-3']]);
    expect(json.warnings).toEqual([expect.stringMatching(reason)]);
    expect(headers['cache-control']).toBe('no-store');
    const { result } = json.data as { result: { metric: Record<string, string> }[] };
    expect(result.map((r) => r.metric['k8s_node_name']).sort()).toEqual(['node-1', 'node-2']);
  });

  test('a node without an agent pod is missing, too, unless the query cannot match it', async () => {
    const absent = { node: 'node-9', address: undefined, absence: 'no agent pod', nodeReady: true };
    expected = [...cluster.expected, absent];
    const { json } = await instant('sum(svc_agent_up)');
    expect([json.missingNodes, json.warnings]).toEqual([
      ['node-9'],
      [expect.stringMatching(/unreachable after 0 ms: no agent pod$/)],
    ]);
    expect((await instant('svc_agent_up{k8s_node_name="node-1"}')).json.missingNodes).toEqual([]);
  });

  test('with all agents gone the answer is an empty, degraded success', async () => {
    for (const agent of cluster.agents) agent.misbehave = (_q, r) => r.destroy();
    const { status, json } = await instant('svc_agent_up');
    expect([status, json.data, json.missingNodes]).toEqual([200, { resultType: 'vector', result: [] }, nodes]);
    expect((await ask('/api/v1/labels')).json).toMatchObject({ data: [], degraded: true, missingNodes: nodes });
  });

  test('partial_response=false makes a missing node an error', async () => {
    cluster.agents[0]!.misbehave = (_q, r) => r.destroy();
    const { status, json } = await instant('svc_agent_up', { partial_response: 'false' });
    expect([status, json]).toEqual([
      503,
      { status: 'error', errorType: 'unavailable', error: 'no answer from node-1 and partial_response is false' },
    ]);
  });
});

describe('what is refused', () => {
  const range = { query: 'up', start: '0', end: '100', step: '1' };
  test.each<[title: string, path: string, params: ApiParams, status: number, errorType: string, error: string]>([
    [
      'a query that does not parse',
      'query',
      { query: 'foo(' },
      400,
      'bad_data',
      'invalid parameter "query": 1:5: parse error: unclosed left parenthesis',
    ],
    [
      'an empty query',
      'query',
      {},
      400,
      'bad_data',
      'invalid parameter "query": unknown position: parse error: no expression found in input',
    ],
    [
      'an invalid time',
      'query',
      { query: 'up', time: 'abc' },
      400,
      'bad_data',
      `invalid parameter "time": invalid time value for 'time': cannot parse "abc" to a valid timestamp`,
    ],
    [
      'a negative limit',
      'query',
      { query: 'up', limit: '-1' },
      400,
      'bad_data',
      'invalid parameter "limit": limit must be non-negative',
    ],
    [
      'an end before the start',
      'query_range',
      { ...range, end: '-1' },
      400,
      'bad_data',
      'invalid parameter "end": end timestamp must not be before start time',
    ],
    [
      'a step of zero',
      'query_range',
      { ...range, step: '0' },
      400,
      'bad_data',
      'invalid parameter "step": zero or negative query resolution step widths are not accepted. Try a positive integer',
    ],
    [
      'more than 11,001 points',
      'query_range',
      { ...range, end: '11001' },
      400,
      'bad_data',
      'exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)',
    ],
    [
      'a range vector in a range query',
      'query_range',
      { ...range, query: 'up[5m]' },
      400,
      'bad_data',
      'invalid parameter "query": invalid expression type "range vector" for range query, must be Scalar or instant Vector',
    ],
    ['series without a selector', 'series', {}, 400, 'bad_data', 'no match[] parameter provided'],
    [
      'more samples than allowed',
      'query',
      { query: 'count_over_time({__name__=~".+"}[1h])', timeout: '5s' },
      422,
      'execution',
      'query processing would load too many samples into memory in query execution',
    ],
    [
      'a timeout that has run out',
      'query',
      { query: 'up', timeout: '0' },
      503,
      'timeout',
      'query timed out in expression evaluation',
    ],
  ])('%s', async (title, path, params, status, errorType, error) => {
    if (title === 'more samples than allowed') {
      for (let i = 0; i < 60; i++) {
        for (let k = 0; k < 2000; k++)
          cluster.append('node-1', { __name__: 'many', i: String(i) }, end - 2_000_000 + k * 1000, k);
      }
    }
    const answer = await ask(`/api/v1/${path}`, params);
    expect([answer.status, answer.json]).toEqual([status, { status: 'error', errorType, error }]);
  });

  test('11,001 points still pass', async () => {
    expect((await ask('/api/v1/query_range', { ...range, query: '1', end: '11000' })).status).toBe(200);
  });

  test('an unknown path is plain 404 and a wrong method plain 405', async () => {
    expect(await ask('/api/v1/nothing')).toMatchObject({ status: 404, text: '404 page not found\n' });
    expect(await ask('/api/v1/query', {}, { method: 'DELETE' })).toMatchObject({
      status: 405,
      headers: { allow: 'GET, POST' },
    });
    expect(await ask('/api/v1/label/a/values', {}, { form: true })).toMatchObject({ status: 405 });
  });

  test('before the agents are listed, queries are unavailable', async () => {
    synced = false;
    expect((await instant('up')).json.errorType).toBe('unavailable');
    expect((await ask('/-/ready')).status).toBe(503);
  });
});

describe('who may ask', () => {
  let guarded: QueryServer;
  const reviewed: string[] = [];

  beforeAll(async () => {
    const flags = {
      namespace: 'svc-system',
      bindAddress: '127.0.0.1',
      port: '0',
      healthPort: '0',
      loopbackExempt: 'false',
    };
    guarded = await startQueryServer({
      settings: readSettings(querySettingTable, {
        flags: { ...flags, agentReadPort: String(cluster.port) },
        env: {},
        prefix: 'SVC_',
      }),
      clock: systemClock,
      logger: silentLogger,
      directory,
      reviews: {
        reviewToken: async (token) => (token === 'bad' ? undefined : { username: token }),
        mayAccessPath: async (user, verb, path) => (
          reviewed.push(`${user.username} ${verb} ${path}`),
          user.username === 'reader'
        ),
      },
      tls: cluster.tls,
      version: '0.0.0',
      pageDir,
    });
  });
  afterAll(() => guarded.close());

  const askAs = (token: string | undefined, path = '/api/v1/query'): Promise<ApiAnswer> =>
    askApi(
      { port: guarded.port, ca: cluster.ca.cert },
      path,
      { query: '1' },
      token ? { headers: { authorization: `Bearer ${token}` } } : {},
    );

  test.each([
    [undefined, 401, 'unauthorized'],
    ['bad', 401, 'unauthorized'],
    ['other', 403, 'forbidden'],
  ])('a request with the token %p is answered %d, with an error body of the API', async (token, status, errorType) => {
    const answer = await askAs(token);
    expect([answer.status, answer.json.status, answer.json.errorType]).toEqual([status, 'error', errorType]);
    expect(answer.headers['www-authenticate']).toBe(status === 401 ? 'Bearer' : undefined);
  });

  test('the permission of a token is reviewed by path, and every path of the API requires a token', async () => {
    expect((await askAs('reader')).status).toBe(200);
    expect(reviewed).toContain('reader get /promql');
    const source = await readFile(join(import.meta.dirname, 'api/app.ts'), 'utf8');
    const routes = [...source.matchAll(/^ {2}\['(\/[^']+)', '((?:GET|POST)[^']*)'/gm)];
    expect(routes.length).toBeGreaterThan(25);
    const paths = routes.map(([, path, methods]) => [path!.replace(':name', 'a'), methods === 'POST'] as const);
    for (const [path, form] of [...paths, ['/v1/stream', false], ['/v1/spans', false], ['/v1/flows', false]] as const) {
      const { status } = await askApi({ port: guarded.port, ca: cluster.ca.cert }, path, {}, { form });
      expect([path, status]).toEqual([path, 401]);
    }
  });

  test('health and the page need no token: they hold no data', async () => {
    expect([(await askAs(undefined, '/-/healthy')).status, (await askAs(undefined, '/')).status]).toEqual([200, 200]);
  });

  test.each([
    [undefined, 401],
    ['bad', 401],
    ['other', 403],
    ['reader', 200],
  ])('a request for the server’s own metrics with the token %p is answered %d', async (token, status) => {
    const headers = { connection: 'close', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
    const get = async (path: string) =>
      (await fetch(`http://127.0.0.1:${guarded.healthPort}${path}`, { headers })).status;
    expect([await get('/metrics'), await get('/livez'), await get('/readyz')]).toEqual([status, 200, 200]);
  });

  test('a port in use is reported as such, and no listener stays open', async () => {
    const flags = { namespace: 'svc-system', bindAddress: '127.0.0.1', port: String(guarded.port), healthPort: '0' };
    const settings = readSettings(querySettingTable, { flags, env: {}, prefix: 'SVC_' });
    const reviews = { reviewToken: async () => undefined, mayAccessPath: async () => false };
    const listeners = (): number => process.getActiveResourcesInfo().filter((name) => /TCPServer/.test(name)).length;
    const before = listeners();
    await expect(
      startQueryServer({
        settings,
        clock: systemClock,
        logger: silentLogger,
        directory,
        reviews,
        tls: cluster.tls,
        version: '0',
      }),
    ).rejects.toMatchObject({
      code: 'ERR_LISTEN',
      message: `query listen 127.0.0.1:${guarded.port}: address already in use`,
    });
    expect(before).toBeGreaterThan(0);
    await until('the end of every listener of it', () => listeners() === before);
  });
});

describe('other endpoints', () => {
  test('health, build information, flags, metadata, formatting and exemplars are answered', async () => {
    expect((await ask('/-/healthy')).status).toBe(200);
    expect((await ask('/-/ready')).status).toBe(200);
    expect((await ask('/api/v1/status/buildinfo')).json.data).toMatchObject({
      version: '3.15.0',
      application: 'svc-query',
    });
    const flags = (await ask('/api/v1/status/flags')).json.data as object;
    expect(flags).toMatchObject({ 'query.lookback-delta': '5m' });
    // Prometheus' default does not hold here.
    expect(flags).not.toHaveProperty(['storage.remote.read-sample-limit']);
    expect((await ask('/api/v1/metadata', { metric: 'svc_agent_up' })).json.data).toMatchObject({
      svc_agent_up: [{ type: 'gauge' }],
    });
    expect((await ask('/api/v1/format_query', { query: 'sum(up)by(a)' })).json.data).toBe('sum by (a) (up)');
    expect((await ask('/api/v1/query_exemplars', { query: 'up' })).json.data).toEqual([]);
  });

  test('the health port answers the kubelet and gives metrics', async () => {
    const get = async (path: string): Promise<[number, string]> => {
      const response = await fetch(`http://127.0.0.1:${server.healthPort}${path}`);
      return [response.status, await response.text()];
    };
    expect(await get('/livez')).toEqual([200, 'ok\n']);
    expect((await get('/readyz'))[0]).toBe(200);
    expect((await get('/metrics'))[1]).toMatch(/svc_query_duration_seconds_count\{path="\/query",code="200"\} \d+/);
  });

  test('the page is served with a strict content security policy, also at its deep links', async () => {
    for (const path of ['/', '/graph']) {
      const { status, headers } = await ask(path, { 'g0.expr': 'up' });
      expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(headers['content-security-policy']).toMatch(/^default-src 'none'/);
    }
    expect((await ask('/app.js')).headers['content-type']).toMatch(/^text\/javascript/);
    expect((await ask('/../../etc/passwd')).status).toBe(404);
  });
});
