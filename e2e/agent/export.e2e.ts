import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CaptureConfig } from '../../src/capture/index.ts';
import type { TlsClient } from '../../src/net/tls-client.ts';
import { until } from '../../src/testing/until.ts';
import { type Peer, startPeer } from '../prometheus/server.ts';
import { AgentProcess, makeIdentities } from './agent-process.ts';

/**
 * An agent exports to real Prometheus servers by remote write 2.0, remote write 1.0 (to a server that accepts nothing
 * newer) and OTLP at the same time, while the tests kill the agent or the servers. Every sample that the agent has
 * acknowledged has to arrive.
 */
let dir: string;
let controller: TlsClient;
let agent: AgentProcess;
const servers: Peer[] = [];
const serverFlags = [
  [],
  ['--web.remote-write-receiver.accepted-protobuf-messages=prometheus.WriteRequest'],
  ['--web.enable-otlp-receiver'],
] as const;

/** Starts each server. After the first time, it has the data and the port of its previous process. */
async function startServers(): Promise<void> {
  const started = serverFlags.map((flags, i) => {
    const port = servers[i]?.port;
    return startPeer({
      dir: join(dir, `prometheus-${i}`),
      flags,
      features: ['exemplar-storage'],
      ...(port === undefined ? {} : { port }),
    });
  });
  servers.splice(0, servers.length, ...(await Promise.all(started)));
}

const killServers = (): Promise<unknown> => Promise.all(servers.map((s) => s.stop('SIGKILL')));

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'export-e2e-'));
  await startServers();
  controller = await (await makeIdentities(dir)).client('svc-controller');
}, 600_000);
afterAll(async () => {
  await agent?.end('SIGKILL');
  await killServers();
  controller?.close();
  rmSync(dir, { recursive: true, force: true });
});

function destinations(): NonNullable<CaptureConfig['exports']> {
  const [fresh, old, otlp] = servers;
  const write = (name: string, server: Peer) => ({
    policy: 'p',
    name,
    type: 'RemoteWrite' as const,
    endpoint: `${server.url}/api/v1/write`,
    labels: { cluster: 'c1' },
  });
  return [
    write('new', fresh!),
    write('old', old!),
    {
      policy: 'p',
      name: 'otlp',
      type: 'OTLP',
      endpoint: `${otlp!.url}/api/v1/otlp`,
      labels: { cluster: 'c1' },
      spans: true,
    },
  ];
}

let sent = 0;
const spanId = 'b7ad6b7169203331';
/** The trace id of the exemplar of point `n`. */
const traceId = (n: number): string => n.toString(16).padStart(32, 'a');
const startMs = Date.now();

/** Sends one point of a counter and of a histogram; the values show the number of the point. */
async function send(): Promise<void> {
  const n = sent + 1;
  const times = { startTimeUnixNano: `${startMs}000000`, timeUnixNano: `${Date.now()}000000` };
  const attributes = [{ key: 'zone', value: { stringValue: 'z1' } }];
  await agent.otlp('metrics', {
    resourceMetrics: [
      {
        resource: { attributes },
        scopeMetrics: [
          {
            metrics: [
              {
                name: 'orders.placed',
                sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: [{ asInt: String(n), ...times }] },
              },
              {
                name: 'http.server.request.duration',
                unit: 's',
                histogram: {
                  aggregationTemporality: 2,
                  dataPoints: [
                    {
                      count: String(2 * n),
                      sum: n,
                      bucketCounts: [String(n), String(n), '0'],
                      explicitBounds: [0.5, 1],
                      exemplars: [{ timeUnixNano: times.timeUnixNano, asDouble: 0.7, traceId: traceId(n), spanId }],
                      ...times,
                    },
                  ],
                },
              },
            ],
          },
        ],
      },
    ],
  });
  sent = n;
}

async function sendFor(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await send();
}

/** The numbers of the sent points that a server does not have. */
async function missing(server: Peer, selector: string, scale = 1): Promise<number[]> {
  const found = new Set<number>();
  for (const { values } of await server.samples(`${selector}[15m]`)) {
    for (const [, value] of values) found.add(Number(value) / scale);
  }
  return Array.from({ length: sent }, (_, i) => i + 1).filter((n) => !found.has(n));
}

async function allArrived(): Promise<void> {
  const [fresh, old, otlp] = servers;
  for (const [server, selector, scale] of [
    [fresh!, 'orders_placed{cluster="c1",k8s_node_name="node-1",zone="z1"}', 1],
    [fresh!, 'http_server_request_duration_bucket{le=~"1|1.0",cluster="c1"}', 2],
    [old!, 'orders_placed{cluster="c1",zone="z1"}', 1],
    [old!, 'http_server_request_duration_count', 2],
    [otlp!, 'orders_placed_total{cluster="c1",zone="z1"}', 1],
    [otlp!, 'http_server_request_duration_seconds_bucket{le=~"0.5"}', 1],
    [otlp!, 'http_server_request_duration_seconds_count', 2],
  ] as const) {
    let left: number[] = [];
    await until(
      `all of ${selector} is there`,
      async () => {
        left = await missing(server, selector, scale);
        return left.length === 0;
      },
      { timeoutMs: 45_000 },
    ).catch((cause: unknown) => {
      throw new Error(`${selector}: ${left.length} of ${sent} missing: ${left.slice(0, 20).join()}`, { cause });
    });
  }
}

/** The trace ids of the exemplars that a server has for requests between half a second and a second. */
async function tracesAt({ url }: Peer, metric: string): Promise<string[]> {
  const query = new URLSearchParams({
    query: `${metric}{cluster="c1",le=~"1|1.0"}`,
    start: String(startMs / 1_000 - 60),
    end: String(Date.now() / 1_000 + 60),
  });
  const { data } = (await (await fetch(`${url}/api/v1/query_exemplars?${query}`)).json()) as {
    data: { exemplars: { labels: Record<string, string>; value: string }[] }[];
  };
  const found = data.flatMap((series) => series.exemplars);
  for (const { labels, value } of found) expect([labels['span_id'], value]).toEqual([spanId, '0.7']);
  return found.map(({ labels }) => labels['trace_id'] ?? '');
}

test('samples reach Prometheus by remote write 2.0, by 1.0 and by OTLP', async () => {
  agent = await AgentProcess.start(dir);
  await agent.push(controller, { exports: destinations() });
  await sendFor(20);
  await allArrived();
  const { exports } = await agent.status(controller);
  expect(exports).toMatchObject(['new', 'old', 'otlp'].map((name) => ({ name, state: 'Sending', refused: 0 })));
});

test('exemplars reach Prometheus by remote write 2.0, by 1.0 and by OTLP', async () => {
  const newest = traceId(sent);
  for (const [i, metric] of ['', '', '_seconds'].entries()) {
    await until(`the newest exemplar is at ${['new', 'old', 'otlp'][i]}`, async () => {
      const found = await tracesAt(servers[i]!, `http_server_request_duration${metric}_bucket`);
      expect(new Set(found).size).toBe(found.length);
      return found.includes(newest);
    });
  }
});

test('nothing is lost while the receivers are down after a kill', async () => {
  await killServers();
  await sendFor(20);
  await until('the agent reports that it cannot send', async () =>
    (await agent.status(controller)).exports!.every((e) => e.state === 'Failing' && e.pendingBytes > 0),
  );
  await startServers();
  await sendFor(5);
  await allArrived();
});

test('nothing is lost when the agent is killed: it continues from its own disk without a controller', async () => {
  await sendFor(10);
  await agent.end('SIGKILL');
  agent = await AgentProcess.start(dir);
  await sendFor(10);
  await agent.end('SIGTERM');
  agent = await AgentProcess.start(dir);
  await sendFor(3);
  await allArrived();
});

test('nothing is lost when receivers and agent are killed one after the other', async () => {
  await killServers();
  await sendFor(10);
  await agent.end('SIGKILL');
  agent = await AgentProcess.start(dir);
  await startServers();
  await sendFor(3);
  await allArrived();
});
