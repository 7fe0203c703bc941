import { request } from 'node:https';
import { encodePartialRequest } from '../promql/index.ts';
import type { StageProcess } from '../testing/query/adversarial/stage.ts';
import { longestCpuMs, startWatchedStage, type WatchedStage } from '../testing/query/adversarial/watched-stage.ts';
import { until } from '../testing/until.ts';

let stage: WatchedStage;
beforeAll(async () => {
  stage = await startWatchedStage();
}, 180_000);
afterAll(() => stage.close(), 30_000);

/** An expression over billions of samples: it takes minutes unless it is ended. */
const endless = 'quantile_over_time(0.9, load{pod=~"pod-[12].*"}[1h:1s])';

/**
 * Asks for the sum of `endless`. Resolves when the process `computing` evaluates it; the result is a function that
 * closes the request.
 * Errors: the answer, if it comes before that.
 */
async function startEndless(headers: Record<string, string>, computing: StageProcess): Promise<() => void> {
  await computing.report();
  const query = encodeURIComponent(`sum(${endless})`);
  const now = Math.floor(Date.now() / 1000);
  const answered = new AbortController();
  const asked = request(
    {
      ...{ host: '127.0.0.1', servername: 'localhost', port: stage.query.ports['api'], ca: stage.ca, headers },
      path: `/api/v1/query_range?query=${query}&start=${now - 3_000}&end=${now}&step=1&timeout=60s`,
    },
    (res) => {
      let text = '';
      res.setEncoding('utf8');
      res.on('data', (part: string) => (text += part));
      res.on('end', () => answered.abort(new Error(`answered before its work began: ${res.statusCode} ${text}`)));
      res.on('error', () => {});
    },
  );
  asked.on('error', (error) => answered.abort(error));
  asked.end();
  let computedMs = 0;
  const computes = async (): Promise<boolean> => {
    for (const [ms, count] of (await computing.report()).slices.entries()) computedMs += ms * count;
    return computedMs > 200;
  };
  await until('200 ms of computing', computes, { signal: answered.signal });
  return () => void asked.destroy();
}

test.each([
  ['the query server', { 'x-svc-pushdown': 'off' }, () => stage.query],
  ['an agent', { 'x-svc-pushdown': 'agg' }, () => stage.agents[0]!],
] as const)(
  'a client that disconnects ends its query, which %s computes',
  async (_, headers, computing) => {
    const leave = await startEndless(headers, computing());
    leave();
    expect(await computing().afterClose()).toBeLessThan(longestCpuMs);
    await until('no query that runs', async () => (await stage.metric('svc_query_running')) === 0);
    expect(await stage.metric('svc_query_memory_bytes')).toBe(0);
  },
  60_000,
);

/** The timeout of a query: long enough for even a busy machine to compute a good part of it. */
const allowedSeconds = 1.5;

/** A lower bound of the time that a process has computed since its last report. Units: ms of processor time. */
async function computedMs(process: StageProcess): Promise<number> {
  return (await process.report()).slices.reduce((sum, count, ms) => sum + ms * count, 0);
}

test('the timeout ends a query that the query server computes', async () => {
  await stage.query.report();
  const used = stage.query.afterTime(allowedSeconds * 1_000);
  // Agents cannot compute a sum over a join with a constant vector, so the query server computes it.
  const query = `sum(${endless} * on () group_left () vector(1))`;
  const { status, json } = await stage.ask(
    { name: 'an endless one', path: 'query_range', query, range: { seconds: 3_000, step: 1 } },
    allowedSeconds,
  );
  expect(await used).toBeLessThan(longestCpuMs);
  expect({ status, errorType: json.errorType }).toEqual({ status: 503, errorType: 'timeout' });
  expect(await computedMs(stage.query)).toBeGreaterThan(longestCpuMs / 2);
}, 60_000);

test('the timeout ends the share of a query that an agent computes', async () => {
  const agent = stage.agents[0]!;
  const end = Math.floor(Date.now() / 1_000) * 1_000;
  const fragment = { kind: 'agg', expr: endless, op: 'sum', grouping: [], without: false, param: null } as const;
  const body = encodePartialRequest({
    fragment,
    steps: { start: end - 3_000_000, step: 1_000, count: 3_000 },
    settings: {
      lookbackDeltaMs: 300_000,
      delayedNameRemoval: false,
      startTimestamps: false,
      typeAndUnitLabels: false,
    },
    ...{ maxSeries: 1_000, maxBytes: 1e6, maxSamples: 1e7, deadlineMs: allowedSeconds * 1_000 },
  });
  await agent.report();
  const used = agent.afterTime(allowedSeconds * 1_000);
  const at = { host: agent.address, servername: 'svc-agent', port: agent.ports['remoteRead'], ...stage.tls };
  const status = await new Promise((resolve, reject) => {
    request({ ...at, path: '/api/v1/partial', method: 'POST' }, (res) =>
      res.resume().on('end', () => resolve(res.statusCode)),
    )
      .on('error', reject)
      .end(body);
  });
  expect(await used).toBeLessThan(longestCpuMs);
  expect(status).toBe(504);
  expect(await computedMs(agent)).toBeGreaterThan(longestCpuMs / 2);
}, 60_000);

/** An OTLP request in JSON, as the instrument sends it, with one histogram series for each of `routes` routes. */
function otlpMetrics(routes: number): string {
  const time = String(Date.now() * 1e6);
  const dataPoints = Array.from({ length: routes }, (_, i) => ({
    attributes: [{ key: 'http.route', value: { stringValue: `/route-${i}` } }],
    ...{
      startTimeUnixNano: time,
      timeUnixNano: time,
      count: '1',
      sum: 0.1,
      explicitBounds: [1],
      bucketCounts: ['1', '0'],
    },
  }));
  const metrics = [{ name: 'http.server.request.duration', histogram: { aggregationTemporality: 2, dataPoints } }];
  return JSON.stringify({ resourceMetrics: [{ resource: { attributes: [] }, scopeMetrics: [{ metrics }] }] });
}

test('an agent answers scrapes, status, probes and OTLP in time while it computes its share of a query', async () => {
  const agent = stage.agents[0]!;
  const { address, ports } = agent;
  const body = otlpMetrics(300);
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
  const acknowledged = (): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const { cert, key, ca } = stage.controllerTls;
      const at = { host: address, servername: 'svc-agent', port: ports['captureConfig'], path: '/v1/status' };
      request({ ...at, cert, key, ca }, (res) => res.resume().on('end', () => resolve(res.statusCode)))
        .on('error', reject)
        .end();
    });
  const fetched = async (port: string, path: string, init?: RequestInit): Promise<number> => {
    const response = await fetch(`http://${address}:${ports[port]}${path}`, init);
    await response.arrayBuffer();
    return response.status;
  };
  const others = async (): Promise<unknown[]> => [
    await fetched('otlpHttp', '/v1/metrics', post),
    await fetched('scrape', '/metrics'),
    await fetched('scrape', '/livez'),
    await acknowledged(),
  ];
  for (let round = 0; round < 3; round++) expect(await others()).toEqual([200, 200, 200, 200]);
  const idle = (await agent.report()).answersMs;
  const leave = await startEndless({ 'x-svc-pushdown': 'agg' }, agent);
  for (let round = 0; round < 5; round++) expect(await others()).toEqual([200, 200, 200, 200]);
  const busy = await agent.report();
  expect(busy.longestCpuMs).toBeLessThan(longestCpuMs);
  for (const path of ['/v1/metrics', '/metrics', '/livez', '/v1/status']) {
    expect({ path, ms: busy.answersMs[path] }).toEqual({ path, ms: expect.any(Number) });
    expect(busy.answersMs[path]! - idle[path]!).toBeLessThan(longestCpuMs);
  }
  leave();
}, 60_000);
