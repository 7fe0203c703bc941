import { readFile, writeFile, mkdir } from 'node:fs/promises';
import type { Server } from 'node:https';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Clock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { remoteReadRoute } from '../../src/agent/servers/remote-read-server.ts';
import { routed } from '../../src/agent/servers/routes.ts';
import { createSelfMetrics } from '../../src/agent/self-metrics.ts';
import { createCa, issueLeaf } from '../../src/net/ca.ts';
import { createTlsServer } from '../../src/net/https-server.ts';
import { closeServer, listen } from '../../src/net/listen.ts';
import { fixedTls } from '../../src/net/tls-material.ts';
import { MemoryFiles } from '../../src/testing/tsdb/memory-files.ts';
import { createRemoteReadHandler, openStore } from '../../src/tsdb/index.ts';
import type { Labels, Store } from '../../src/tsdb/index.ts';
import { startPeer } from '../prometheus/server.ts';
import type { Peer } from '../prometheus/server.ts';

/** Series with their samples, ascending; times in ms. */
export interface LoadedSeries {
  readonly labels: Labels;
  readonly samples: readonly { readonly time: number; readonly value: number }[];
}

/** Agents' stores behind mutual TLS, and a Prometheus that only reads them by `remote_read`. */
export interface Oracle {
  readonly stores: readonly Store[];
  readonly prometheus: Peer;
  stop(): Promise<void>;
}

const servername = 'svc-agent.svc-system.svc';

/**
 * Fills the stores and starts the servers. Every series goes to the store with the index that `agentOf` returns.
 * Samples older than a few hours end up in merged blocks.
 */
export async function startOracle(
  dir: string,
  series: readonly LoadedSeries[],
  agents: number,
  agentOf: (labels: Labels) => number,
): Promise<Oracle> {
  const now = Date.now();
  const ca = await createCa({ commonName: 'svc-ca', now });
  const agentLeaf = await issueLeaf(ca, { commonName: 'svc-agent', dnsNames: [servername] }, { now });
  const queryLeaf = await issueLeaf(ca, { commonName: 'svc-query', dnsNames: ['svc-query'] }, { now });
  await mkdir(dir, { recursive: true });
  for (const [name, text] of [
    ['ca.crt', ca.cert],
    ['tls.crt', queryLeaf.cert],
    ['tls.key', queryLeaf.key],
  ] as const) {
    await writeFile(join(dir, name), text);
  }
  const tls = fixedTls({ cert: agentLeaf.cert, key: agentLeaf.key, ca: ca.cert });
  const stores: Store[] = [];
  for (let i = 0; i < agents; i++) stores.push(await storeOf(series.filter(({ labels }) => agentOf(labels) === i)));
  const servers: Server[] = [];
  const reads: string[] = [];
  for (const [i, store] of stores.entries()) {
    const metrics = createSelfMetrics({ node: `node-${i}`, version: 'test' });
    const handler = routed([
      remoteReadRoute({ handler: createRemoteReadHandler(store), metrics, logger: silentLogger }),
    ]);
    const server = createTlsServer(tls, handler, { clientNames: ['svc-query'] });
    const port = await listen('remote-read', server, { host: '127.0.0.1', port: 0 });
    servers.push(server);
    reads.push(`  - url: https://127.0.0.1:${port}/api/v1/read
    read_recent: true
    tls_config: {ca_file: ca.crt, cert_file: tls.crt, key_file: tls.key, server_name: ${servername}}`);
  }
  const prometheus = await startPeer({
    dir,
    config: `global: {}\nremote_read:\n${reads.join('\n')}\n`,
    flags: ['--enable-feature=promql-experimental-functions'],
  });
  return {
    stores,
    prometheus,
    stop: async () => {
      await prometheus.stop();
      for (const server of servers) await closeServer(server, 1000);
      for (const store of stores) await store.close();
    },
  };
}

async function storeOf(series: readonly LoadedSeries[]): Promise<Store> {
  const end = Math.max(0, ...series.map(({ samples }) => samples.at(-1)!.time));
  const clock: Clock = { now: () => end, monotonic: () => 0, setTimeout: () => () => {} };
  const files = new MemoryFiles();
  const store = await openStore({ dir: '/agent', files, clock, logger: silentLogger });
  for (const { labels, samples } of series) {
    for (const { time, value } of samples) store.append(labels, time, value);
  }
  await store.commit();
  await store.maintain();
  return store;
}

/** One answer of the HTTP API. */
export interface Answer {
  readonly code: number;
  readonly errorType?: string;
  readonly data?: { readonly resultType: string; readonly result: unknown };
}

export async function ask(url: string, path: string, params: Readonly<Record<string, string>>): Promise<Answer> {
  const response = await fetch(`${url}/api/v1/${path}`, { method: 'POST', body: new URLSearchParams(params) });
  const body = (await response.json()) as Omit<Answer, 'code'>;
  return { ...body, code: response.status };
}

type Point = [time: number, value: string];
interface HistogramJson {
  readonly count: string;
  readonly sum: string;
  readonly buckets?: readonly (readonly [boundaries: number, lower: string, upper: string, count: string])[];
}
interface ResultSeries {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: Point;
  readonly values?: readonly Point[];
  readonly histogram?: readonly [number, HistogramJson];
  readonly histograms?: readonly (readonly [number, HistogramJson])[];
}

const epsilon = 1e-9;

/** Why two answers differ in their numbers, or undefined. The order of series does not count. */
export function difference(got: Answer, want: Answer): string | undefined {
  if (got.code !== want.code || got.errorType !== want.errorType) {
    return `status ${got.code} ${got.errorType ?? ''}, want ${want.code} ${want.errorType ?? ''}`;
  }
  if (!want.data) return undefined;
  if (got.data?.resultType !== want.data.resultType) return `type ${got.data?.resultType}`;
  if (want.data.resultType === 'scalar' || want.data.resultType === 'string') {
    return samePoint(got.data.result as Point, want.data.result as Point) ? undefined : 'another value';
  }
  const mine = bySeries(got.data.result as ResultSeries[]);
  const theirs = bySeries(want.data.result as ResultSeries[]);
  if (mine.size !== theirs.size) return `${mine.size} series, want ${theirs.size}`;
  for (const [key, points] of theirs) {
    const own = mine.get(key);
    if (!own) return `no series ${key}`;
    if (own.length !== points.length) return `${key}: ${own.length} points, want ${points.length}`;
    const at = points.findIndex((point, i) => !samePoint(own[i]!, point));
    if (at >= 0) return `${key} at ${points[at]![0]}: ${own[at]![1]}, want ${points[at]![1]}`;
  }
  return undefined;
}

function bySeries(result: readonly ResultSeries[]): Map<string, readonly Point[]> {
  return new Map(
    result.map(({ metric, value, values = value ? [value] : [], histogram, histograms }) => [
      JSON.stringify(Object.entries(metric).sort(([a], [b]) => (a < b ? -1 : 1))),
      [...values, ...(histograms ?? (histogram ? [histogram] : [])).flatMap(histogramPoints)],
    ]),
  );
}

/** A histogram's numbers one by one, so that each is compared as a value is. */
function histogramPoints([time, { count, sum, buckets = [] }]: readonly [number, HistogramJson]): Point[] {
  return [count, sum, ...buckets.flat()].map((value) => [time, String(value)]);
}

function samePoint([time, value]: Point, [wantTime, want]: Point): boolean {
  if (time !== wantTime) return false;
  if (value === want) return true;
  const [a, b] = [Number(value), Number(want)];
  return Math.abs(a - b) <= epsilon * Math.max(Math.abs(a), Math.abs(b));
}

export async function readGzip(path: string): Promise<string> {
  return gunzipSync(await readFile(path)).toString();
}
