import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canonicalJson } from '../base/canonical-json.ts';
import { systemClock } from '../base/clock.ts';
import { createLogger, silentLogger } from '../base/logger.ts';
import { readSettings } from '../base/settings.ts';
import {
  type Ack,
  type AgentStatus,
  type CaptureConfig,
  captureHash,
  capturePutPath,
  builtinLimits,
  zeroConfig,
} from '../capture/index.ts';
import type { RestClient } from '../kube/index.ts';
import { createCa, issueLeaf, type KeyPairPem } from '../net/ca.ts';
import { listen } from '../net/listen.ts';
import { TlsClient } from '../net/tls-client.ts';
import { fixedTls } from '../net/tls-material.ts';
import {
  buildStreamedRead,
  decodeXorChunk,
  labelsFromObject,
  labelsToObject,
  type Matcher,
  openStore,
  readStreamedSeries,
  remoteReadPath,
  SampleBuffer,
} from '../tsdb/index.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { encodeMetricsRequest, encodeTracesRequest } from '../testing/otlp-encode.ts';
import type { RunningInstrument } from './capture/instrument-probe.ts';
import { type AgentPorts, runAgent } from './run-agent.ts';
import { instrumentFileHash } from './supervisor/state.ts';
import { type AgentSettings, agentSettingTable } from './settings.ts';
import { until } from '../testing/until.ts';

const servername = 'svc-agent.svc-system.svc';
let dir: string;
let ca: KeyPairPem;
const clients = new Map<string, TlsClient>();

beforeAll(async () => {
  ca = await createCa({ commonName: 'svc-ca', now: Date.now() });
  for (const commonName of ['svc-query', 'svc-controller', 'intruder']) {
    const leaf = await issueLeaf(ca, { commonName, dnsNames: [commonName] }, { now: Date.now() });
    clients.set(commonName, new TlsClient(fixedTls({ ...leaf, ca: ca.cert })));
  }
});
afterAll(() => clients.forEach((client) => client.close()));

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'agent-'));
  mkdirSync(join(dir, 'tls'));
  const leaf = await issueLeaf(ca, { commonName: 'svc-agent', dnsNames: [servername] }, { now: Date.now() });
  writeFileSync(join(dir, 'tls/tls.crt'), leaf.cert);
  writeFileSync(join(dir, 'tls/tls.key'), leaf.key);
  writeFileSync(join(dir, 'tls/ca.crt'), ca.cert);
});
const runs: Running[] = [];
afterEach(async () => {
  // Also stops the agents of a test that failed half-way.
  for (const { stop } of runs.splice(0)) await stop();
  rmSync(dir, { recursive: true });
});

const startedMs = Date.now() - 60_000;
/** An instrument that was started with this file. */
const started = (yaml: string): RunningInstrument => ({
  file: instrumentFileHash(yaml),
  pid: process.pid,
  startMs: startedMs,
  stoppedMs: null,
});

interface Running {
  ports: AgentPorts;
  stop: () => Promise<void>;
}

function settingsOf(flags: Record<string, string>): AgentSettings {
  const ports = ['scrapePort', 'remoteReadPort', 'spanStreamPort', 'captureConfigPort', 'otlpGrpcPort', 'otlpHttpPort'];
  return readSettings(agentSettingTable, {
    flags: {
      nodeName: 'node-1',
      dataDir: join(dir, 'data'),
      instrumentConfig: join(dir, 'config.yaml'),
      tlsDir: join(dir, 'tls'),
      bindAddress: '127.0.0.1',
      ...Object.fromEntries(ports.map((name) => [name, '0'])),
      ...flags,
    },
    env: {},
    prefix: 'SVC_',
  });
}

async function start(
  flags: Record<string, string> = {},
  instrument: () => RunningInstrument | null = () => null,
): Promise<Running> {
  const settings = settingsOf(flags);
  const abort = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const bound = await new Promise<AgentPorts>((resolve, reject) => {
    running = runAgent(settings, {
      logger: silentLogger,
      clock: systemClock,
      signal: abort.signal,
      reviews: {
        reviewToken: (token) => Promise.resolve(token === 'none' ? undefined : { username: token }),
        mayAccessPath: (user) => Promise.resolve(user.username === 'reader'),
      },
      probe: () => Promise.resolve(instrument()),
      onReady: resolve,
    });
    running.catch(reject);
  });
  const agent = { ports: bound, stop: async () => (abort.abort(), running) };
  runs.push(agent);
  return agent;
}

function mtls(as: string, port: number, path: string, method = 'GET', body?: string | Uint8Array, headers = {}) {
  return clients.get(as)!.request({
    host: '127.0.0.1',
    port,
    servername,
    method,
    path,
    headers,
    ...(body === undefined ? {} : { body }),
    deadlineMs: 10_000,
    maxBytes: 10_000_000,
  });
}

const point = (value: number, startNs: number) => ({
  attributes: [],
  startNs,
  timeNs: Date.now() * 1e6,
  noValue: false,
  value,
  exemplars: [],
});

async function post(port: number, signal: 'metrics' | 'traces', body: Uint8Array): Promise<number> {
  const headers = { 'content-type': 'application/x-protobuf' };
  const url = `http://127.0.0.1:${port}/v1/${signal}`;
  const answer = await fetch(url, { method: 'POST', headers, body: Buffer.from(body) });
  await answer.arrayBuffer();
  return answer.status;
}

function sendCounter(port: number, value: number): Promise<number> {
  const data = { kind: 'sum', temporality: 'cumulative', monotonic: true, points: [point(value, 1e18)] } as const;
  const metrics = [{ name: 'http.requests', description: 'all', unit: '', data }];
  const resource = {
    attributes: [{ key: 'zone', value: 'z1' }],
    scopes: [{ scope: { name: '', version: '' }, metrics }],
  };
  return post(port, 'metrics', encodeMetricsRequest({ resources: [resource] }));
}

/** Values of all samples of a metric, by remote read as Prometheus sends it. */
async function readBack(
  port: number,
  name: string,
  type: Matcher['type'] = '=',
): Promise<{ labels: Record<string, string>; values: number[] }[]> {
  const matchers: Matcher[] = [{ type, name: '__name__', value: name }];
  const { headers, body } = buildStreamedRead([{ matchers, startMs: 0, endMs: Date.now() + 1_000 }]);
  const answer = await mtls('svc-query', port, remoteReadPath, 'POST', body, headers);
  expect(answer.status).toBe(200);
  const found = [];
  const source = (async function* () {
    yield await Promise.resolve(answer.body);
  })();
  for await (const series of readStreamedSeries(answer.headers['content-type'], source)) {
    const samples = new SampleBuffer();
    for (const chunk of series.chunks) decodeXorChunk(chunk.bytes, samples);
    found.push({ labels: labelsToObject(series.labels), values: [...samples.values.subarray(0, samples.length)] });
  }
  return found;
}

test('data received by OTLP is scraped, read back by remote read, and still there after a restart', async () => {
  let agent = await start();
  expect(await sendCounter(agent.ports.otlpHttp, 7)).toBe(200);
  const scrape = (): Promise<string> =>
    fetch(`http://127.0.0.1:${agent.ports.scrape}/metrics`).then((answer) => answer.text());
  const text = await until('the counter on the page', scrape, { good: (t) => t.includes('http_requests{') });
  expect(text).toContain('# HELP http_requests all\n# TYPE http_requests counter\n');
  expect(text).toContain('http_requests{k8s_node_name="node-1",zone="z1"} 7\n');
  expect(text).toMatch(/svc_agent_up\{version="[^"]+",k8s_node_name="node-1"\} 1\n/);
  const labels = { __name__: 'http_requests', k8s_node_name: 'node-1', zone: 'z1' };
  expect(await readBack(agent.ports.remoteRead, 'http_requests')).toEqual([{ labels, values: [7] }]);
  expect(await readBack(agent.ports.remoteRead, 'svc_agent_up')).toMatchObject([
    { labels: { k8s_node_name: 'node-1' }, values: [1] },
  ]);
  // The agent's own metrics are in the store, too, with the values that they had when they were stored.
  const instrument = { labels: { k8s_node_name: 'node-1', version: 'v0.10.0' } };
  expect(await readBack(agent.ports.remoteRead, 'svc_instrument_info')).toMatchObject([instrument]);
  const [limit] = await readBack(agent.ports.remoteRead, 'svc_series_limit');
  expect(limit!.values).toEqual([builtinLimits.maxSeriesPerNode]);
  await sendCounter(agent.ports.otlpHttp, 9);
  await agent.stop();
  agent = await start();
  expect(await readBack(agent.ports.remoteRead, 'http_requests')).toEqual([{ labels, values: [7, 9] }]);
  await agent.stop();
});

test('only the controller takes a snapshot of the store and deletes series from it', async () => {
  const agent = await start();
  const port = agent.ports.remoteRead;
  const admin = (as: string, call: string) => mtls(as, port, `/api/v1/admin/tsdb/${call}`, 'POST');
  await sendCounter(agent.ports.otlpHttp, 7);
  const match = `match[]=${encodeURIComponent('http_requests{zone="z1"}')}`;
  for (const call of ['snapshot', `delete_series?${match}`]) {
    expect((await admin('svc-query', call)).status).toBe(403);
    expect((await admin('intruder', call)).status).toBe(403);
  }
  expect(await readBack(port, 'http_requests')).toMatchObject([{ values: [7] }]);
  const snapshot = await admin('svc-controller', 'snapshot');
  expect(snapshot.status).toBe(200);
  const answer = JSON.parse(snapshot.body.toString()) as { status: string; data: { name: string } };
  expect(answer.status).toBe('success');
  expect(readdirSync(join(dir, 'data/store/snapshots', answer.data.name)).sort()).toEqual(['blocks', 'format', 'wal']);
  expect((await admin('svc-controller', 'delete_series')).status).toBe(400);
  expect((await admin('svc-controller', `delete_series?${match}`)).status).toBe(204);
  expect(await readBack(port, 'http_requests')).toEqual([]);
  expect(await readBack(port, 'svc_agent_up')).toMatchObject([{ values: [1] }]);
  await agent.stop();
  const again = await start();
  expect(await readBack(again.ports.remoteRead, 'http_requests')).toEqual([]);
  await again.stop();
});

test('a wrong OTLP body gets 400, is counted, and leaves the store alone', async () => {
  const agent = await start();
  expect(await post(agent.ports.otlpHttp, 'metrics', Uint8Array.of(255, 255))).toBe(400);
  const text = await (await fetch(`http://127.0.0.1:${agent.ports.scrape}/metrics`)).text();
  expect(text).toContain('svc_otlp_rejected_total{reason="malformed",k8s_node_name="node-1"} 1\n');
  expect(text).not.toContain('http_');
  // The agent's own metrics are there.
  expect((await readBack(agent.ports.remoteRead, 'svc_.*', '=~')).length).toBeGreaterThan(0);
  expect(await readBack(agent.ports.remoteRead, 'svc_.*', '!~')).toEqual([]);
  await agent.stop();
});

test('probes need no token; metrics do when the loopback exemption is withdrawn', async () => {
  const agent = await start({ loopbackExempt: 'false' });
  const get = async (path: string, token?: string): Promise<[number, string]> => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const answer = await fetch(`http://127.0.0.1:${agent.ports.scrape}${path}`, { headers });
    return [answer.status, await answer.text()];
  };
  expect((await get('/livez'))[0]).toBe(200);
  expect((await get('/readyz'))[0]).toBe(200);
  expect(await get('/metrics')).toEqual([401, expect.stringContaining('a bearer token is required')]);
  expect((await get('/metrics', 'none'))[0]).toBe(401);
  expect(await get('/metrics', 'somebody')).toEqual([
    403,
    expect.stringContaining(
      'somebody may not get /metrics: the right "get" on the nonResourceURL "/metrics" is missing',
    ),
  ]);
  expect((await get('/metrics', 'reader'))[0]).toBe(200);
  expect((await get('/nothing'))[0]).toBe(404);
  await agent.stop();
});

test('before the WAL is replayed the scrape listener answers: alive, not ready, and scrapes get the reason', async () => {
  const abort = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const answers = async (port: number): Promise<[number, string][]> =>
    Promise.all(
      ['/livez', '/readyz', '/metrics'].map(async (path) => {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`);
        return [answer.status, await answer.text()] as [number, string];
      }),
    );
  let storeThere = true;
  const heard = new Promise<[number, string][]>((resolve, reject) => {
    const logger = createLogger({
      write: (line) => {
        const { msg, listener, port } = JSON.parse(line) as { msg: string; listener?: string; port?: number };
        if (msg !== 'listening' || listener !== 'scrape') return;
        storeThere = existsSync(join(dir, 'data', 'store'));
        answers(port!).then(resolve, reject);
      },
    });
    // The API server never answers, so the agent is still not ready when the answers come.
    const silent = () => new Promise<never>(() => {});
    const kube = { list: silent, watch: silent, bearerToken: silent } as unknown as RestClient;
    running = runAgent(settingsOf({}), { logger, clock: systemClock, signal: abort.signal, kube });
    running.catch(reject);
  });
  const [live, ready, metrics] = await heard;
  expect(storeThere).toBe(false);
  expect(live).toEqual([200, 'ok\n']);
  expect(ready).toEqual([503, expect.stringMatching(/^(replaying|putting|waiting)/)]);
  expect(metrics).toEqual([503, expect.stringMatching(/^(replaying|putting|waiting)/)]);
  abort.abort();
  await running;
}, 20_000);

test('the controller pushes a config and reads its phase; other clients are refused', async () => {
  let instrument: RunningInstrument | null = null;
  const agent = await start({}, () => instrument);
  const port = agent.ports.captureConfig;
  const seed = zeroConfig({ node: 'node-1', ports: '8080', instrumentVersion: 'v0.10.0' });
  const config = { ...seed, generations: { 'TrafficMonitor/shop/m': 3 } };
  const path = capturePutPath(captureHash(config));
  expect((await mtls('svc-controller', port, '/v1/capture')).status).toBe(404);
  for (const outsider of ['svc-query', 'intruder']) {
    expect((await mtls(outsider, port, path, 'PUT', canonicalJson(config))).status).toBe(403);
  }
  const wrong = await mtls('svc-controller', port, capturePutPath(captureHash(seed)), 'PUT', canonicalJson(config));
  expect([wrong.status, JSON.parse(wrong.body.toString())]).toMatchObject([400, { code: 'bad_request' }]);
  const broken = await mtls('svc-controller', port, path, 'PUT', '{"version":1}');
  expect(broken.status).toBe(400);
  expect((await mtls('svc-controller', port, '/v1/capture')).status).toBe(404);
  const put = await mtls('svc-controller', port, path, 'PUT', canonicalJson(config));
  expect(put.status).toBe(200);
  expect(JSON.parse(put.body.toString())).toMatchObject({ node: 'node-1', hash: captureHash(config) });
  expect(readFileSync(join(dir, 'config.yaml'), 'utf8')).toBe(config.instrument.yaml);
  instrument = started(config.instrument.yaml);
  expect((await mtls('svc-controller', port, '/v1/capture')).body.toString()).toBe(canonicalJson(config));
  const status = async (): Promise<AgentStatus> => {
    const answer = await mtls('svc-controller', port, '/v1/status?after=0&wait=1');
    return JSON.parse(answer.body.toString()) as AgentStatus;
  };
  const running = await until('an instrument that runs', status, { good: (s) => (s.ack as Ack).phase === 'Running' });
  expect(running.instrument).toEqual({
    up: true,
    start: new Date(startedMs).toISOString(),
    restarts: 0,
    runs: captureHash(config),
  });
  // A file on hold: the instrument goes on with the previous one, and both configs can be read.
  const yaml = `${config.instrument.yaml}# newer\n`;
  const newer = { ...config, instrument: { ...config.instrument, yaml } };
  const newerPath = capturePutPath(captureHash(newer), 'hold');
  const held = await mtls('svc-controller', port, newerPath, 'PUT', canonicalJson(newer));
  expect(JSON.parse(held.body.toString())).toMatchObject({ hash: captureHash(newer), phase: 'Written' });
  const answered = async (path: string): Promise<string> => (await mtls('svc-controller', port, path)).body.toString();
  expect(await answered('/v1/capture')).toBe(canonicalJson(newer));
  expect(await answered('/v1/capture/running')).toBe(canonicalJson(config));
  await mtls('svc-controller', port, path, 'PUT', canonicalJson(config));
  instrument = null;
  expect((await mtls('svc-controller', port, '/v1/status?after=x')).status).toBe(400);
  await agent.stop();
  const again = await start();
  expect((await mtls('svc-controller', again.ports.captureConfig, '/v1/capture')).body.toString()).toBe(
    canonicalJson(config),
  );
  await again.stop();
});

test('a scrape has every metric that an agent exposes about itself, with its labels', async () => {
  const config = zeroConfig({ node: 'node-1', ports: '8080', instrumentVersion: 'v0.10.0' });
  const agent = await start({}, () => started(config.instrument.yaml));
  const path = capturePutPath(captureHash(config));
  await mtls('svc-controller', agent.ports.captureConfig, path, 'PUT', canonicalJson(config));
  await sendCounter(agent.ports.otlpHttp, 1);
  await post(agent.ports.otlpHttp, 'metrics', Buffer.from('no protobuf'));
  await readBack(agent.ports.remoteRead, 'up');
  const page = await (await fetch(`http://127.0.0.1:${agent.ports.scrape}/metrics`)).text();
  const wanted: Record<string, string> = {
    svc_agent_up: 'version=',
    'svc_capture_events_total{kind="metric",module="l4_tcp"': '',
    'svc_capture_events_total{kind="metric",module="http1"': '',
    'svc_capture_events_total{kind="span",module="http1"': '',
    svc_otlp_rejected_total: 'reason=',
    svc_otlp_lag_seconds: '',
    svc_tsdb_series: '',
    svc_tsdb_samples_appended_total: '',
    svc_tsdb_bytes: '',
    svc_tsdb_wal_bytes: '',
    svc_tsdb_oldest_timestamp: '',
    svc_series_limit_hits_total: 'scope=',
    svc_identity_contradicted_total: '',
    svc_metadata_missing_total: '',
    svc_instrument_restarts_total: '',
    svc_instrument_start_time_seconds: '',
    svc_instrument_config_hash_info: `hash="${captureHash(config)}"`,
    svc_instrument_avoided_services: '',
    'svc_config_generation{state="desired"': '',
    'svc_config_generation{state="running"': '',
    svc_cert_expiry_timestamp_seconds: '',
    svc_stream_clients: '',
    svc_stream_lost_total: '',
    svc_remote_read_requests_total: 'code=',
    svc_remote_read_inflight: '',
    svc_remote_read_bytes_total: '',
  };
  const missing = Object.entries(wanted).filter(
    ([name, label]) =>
      !page.split('\n').some((l) => l.startsWith(name) && !/^[a-z]/.test(l.slice(name.length)) && l.includes(label)),
  );
  expect(missing).toEqual([]);
  // A sample of this metric exists only if the agent sees the instrument's process; the TYPE line always exists.
  expect(page).toContain('# TYPE svc_instrument_memory_bytes gauge');
  await agent.stop();
});

test('a shorter retention of a policy reaches the store: old blocks are deleted, newer ones stay', async () => {
  const hour = 3_600_000;
  const now = Date.now();
  const clock = new FakeClock(now - 12 * hour);
  // Blocks grow to a quarter of the retention at most, so here they stay at two hours.
  const options = { dir: join(dir, 'data/store'), clock, logger: silentLogger, retentionMs: 13 * hour };
  const filled = await openStore(options);
  const labels = labelsFromObject({ __name__: 'old', k8s_node_name: 'node-1' });
  for (let at = now - 12 * hour; at <= now; at += 600_000) {
    clock.jumpWall(at - clock.now());
    filled.append(labels, at, 1);
  }
  await filled.commit();
  await filled.maintain();
  await filled.close();

  const agent = await start();
  const push = async (metrics: Partial<CaptureConfig['retention']['metrics']>): Promise<void> => {
    const seed = zeroConfig({ node: 'node-1', ports: '8080', instrumentVersion: 'v0.10.0' });
    const retention = { ...seed.retention, metrics: { ...seed.retention.metrics, ...metrics } };
    const config = { ...seed, retention, generations: { 'ClusterTrafficPolicy/p': 1 } };
    const path = capturePutPath(captureHash(config));
    const put = await mtls('svc-controller', agent.ports.captureConfig, path, 'PUT', canonicalJson(config));
    expect(put.status).toBe(200);
  };
  const page = async (): Promise<string> => (await fetch(`http://127.0.0.1:${agent.ports.scrape}/metrics`)).text();
  const oldest = async (): Promise<number> =>
    now - 1_000 * Number(/^svc_tsdb_oldest_timestamp(?:{[^}]*})? (\S+)$/m.exec(await page())![1]);
  try {
    expect(await oldest()).toBeGreaterThan(11.9 * hour);
    await push({ timeMs: 5 * hour });
    // A block that reaches into the retention stays whole.
    expect(await until('the retention of the config', oldest, { good: (age) => age <= 7 * hour })).toBeGreaterThan(
      4.9 * hour,
    );
    expect((await readBack(agent.ports.remoteRead, 'old'))[0]!.values.length).toBeGreaterThan(5 * 6);
    await push({ sizeBytes: 1 });
    await until('the next retention', oldest, { good: (age) => age < 5 * hour });
  } finally {
    await agent.stop();
  }
});

test('spans are streamed as filtered lines, to query and controller only', async () => {
  const agent = await start();
  const span = (name: string, status: number) => ({
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    parentSpanId: '',
    name,
    kind: 'server' as const,
    startNs: BigInt(Date.now()) * 1_000_000n,
    endNs: BigInt(Date.now()) * 1_000_000n,
    attributes: [{ key: 'http.response.status_code', value: status }],
    status: 'unset' as const,
    statusMessage: '',
  });
  const scopes = [{ scope: { name: '', version: '' }, spans: [span('good', 200), span('bad', 500)] }];
  await post(agent.ports.otlpHttp, 'traces', encodeTracesRequest({ resources: [{ attributes: [], scopes }] }));
  const answer = await mtls('svc-query', agent.ports.spanStream, '/v1/spans?status=5%2B');
  expect(answer.headers['content-type']).toBe('application/x-ndjson');
  const lines = answer.body.toString().trim().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ node: 'node-1', span: { name: 'bad' } }]);
  const same = await mtls('svc-controller', agent.ports.spanStream, '/v1/spans?status=5%2B');
  expect(same.body).toEqual(answer.body);
  expect((await mtls('svc-query', agent.ports.spanStream, '/v1/spans?x=1')).status).toBe(400);
  expect((await mtls('intruder', agent.ports.spanStream, '/v1/spans')).status).toBe(403);
  await agent.stop();
});

test.each([
  ['scrape', 'scrapePort'],
  ['remote-read', 'remoteReadPort'],
  ['span-stream', 'spanStreamPort'],
  ['capture-config', 'captureConfigPort'],
  ['otlp-http', 'otlpHttpPort'],
  ['otlp-grpc', 'otlpGrpcPort'],
])('an agent whose %s port is in use ends with the documented error, and every listener closes', async (name, flag) => {
  const taken: Server = createServer();
  const port = await listen('other', taken, { host: '127.0.0.1', port: 0 });
  await expect(start({ [flag]: String(port) })).rejects.toMatchObject({
    code: 'ERR_LISTEN',
    message: `${name} listen 127.0.0.1:${port}: address already in use`,
  });
  await new Promise((resolve) => taken.close(resolve));
  const agent = await start({ [flag]: String(port) });
  await agent.stop();
});

test.each([
  [{ nodeName: 'Not A Node' }, '--node-name'],
  [{ otlpHttpPort: '99999' }, '--otlp-http-port'],
  [{ obiInstrumentPorts: '80;81' }, '--obi-instrument-ports'],
  [{ retentionTime: '1d' }, '--retention-time'],
  [{ retentionTime: '0s' }, '--retention-time: "0s" is shorter than 10m'],
])('the refusal of the setting %p names its flag', async (flags, name) => {
  await expect(start(flags)).rejects.toThrow(name);
});
