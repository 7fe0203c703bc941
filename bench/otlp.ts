/**
 * The agent's way from OTLP bytes to durable samples, and its exposition:
 *   node bench/otlp.ts [--quick]
 * One JSON line for each figure on stdout: {name, unit, ours, peer, ratio, goal, met}; progress on stderr.
 * Work: one node of 50 pods with 10 (method, status, route) each, that is 22,000 series of HTTP histograms in 50 posts
 * per interval; and 20,000 flow counters in one post. --quick takes 5 pods and 2,000 flows.
 * Rates are per second of CPU time of this process, all its threads: what an agent costs, not how long it waits.
 * Source of the goals: the product's performance targets; there is no peer in this file, so `peer` is null.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { capturedFamilies } from '../src/agent/exposition/captured.ts';
import { writePage } from '../src/agent/exposition/page.ts';
import type { SampleSink } from '../src/agent/mapping/hand-out.ts';
import { SeriesMapper } from '../src/agent/mapping/mapper.ts';
import { defaultPolicy } from '../src/agent/mapping/policy.ts';
import { admitMetrics } from '../src/agent/otlp/admit.ts';
import type { MetricsRequest } from '../src/agent/otlp/model.ts';
import { AttributeCache } from '../src/agent/otlp/protobuf/attribute-cache.ts';
import { decodeMetricsRequest } from '../src/agent/otlp/protobuf/metrics.ts';
import { Identity } from '../src/agent/identity/identity.ts';
import { podIdentity } from '../src/agent/identity/pod-identity.ts';
import { SpanPipeline } from '../src/agent/spans/span-pipeline.ts';
import { StreamRing } from '../src/agent/spans/stream-ring.ts';
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/logger.ts';
import { openStore } from '../src/tsdb/index.ts';
import {
  attributes,
  flowBodies,
  flowSources,
  httpBodies,
  intervalMs,
  nodePods,
  podResource,
  scope,
  seriesPerPod,
  timeline,
} from './agent/workload.ts';

const { values: flags } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const pods = flags.quick ? 5 : 50;
const flows = flags.quick ? 2_000 : 20_000;
const rounds = flags.quick ? 6 : 30;
const endMs = Date.now();
const time = timeline(endMs - rounds * intervalMs);

function report(name: string, unit: string, ours: number, goal: number | null, met: boolean | null): void {
  console.log(JSON.stringify({ name, unit, ours, peer: null, ratio: null, goal, met }));
}

/** Seconds of CPU time that `work` took in this process, all threads together. */
async function cpuSeconds(work: () => void | Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

const noSink: SampleSink = { append: () => {}, stale: () => {} };

/** An agent's knowledge of its node's pods. */
function identity(): Identity {
  const known = new Identity();
  for (const pod of nodePods(pods, flowSources)) known.pods.upsert(podIdentity(pod));
  known.pods.markSynced();
  return known;
}

async function decodeOnly(name: string, bodies: readonly Uint8Array[][], samples: number): Promise<void> {
  const cache = new AttributeCache();
  for (const body of bodies[0]!) decodeMetricsRequest(body, cache);
  const seconds = await cpuSeconds(() => {
    for (const round of bodies) for (const body of round) decodeMetricsRequest(body, cache);
  });
  report(`otlp/${name}/decode/samples-per-cpu-second`, '1/s', Math.round((samples * rounds) / seconds), null, null);
}

async function decodeAndMap(name: string, bodies: readonly Uint8Array[][], samples: number): Promise<SeriesMapper> {
  const mapper = new SeriesMapper(defaultPolicy('node-1'), identity());
  const cache = new AttributeCache();
  const take = (round: readonly Uint8Array[]): void => {
    for (const body of round) mapper.add(admitted(decodeMetricsRequest(body, cache)), moment(), noSink);
    mapper.flush(noSink);
  };
  take(bodies[0]!);
  const seconds = await cpuSeconds(() => bodies.slice(1).forEach(take));
  const rate = Math.round((samples * (rounds - 1)) / seconds);
  report(`otlp/${name}/decode-map/samples-per-cpu-second`, '1/s', rate, null, null);
  return mapper;
}

async function toStore(name: string, bodies: readonly Uint8Array[][], samples: number): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'bench-otlp-'));
  const store = await openStore({ dir, clock: systemClock, logger: silentLogger });
  let appended = 0;
  const sink: SampleSink = {
    append: (labels, tMs, value) => {
      if (store.append(labels, tMs, value) === 'appended') appended++;
    },
    stale: () => {},
  };
  const mapper = new SeriesMapper(defaultPolicy('node-1'), identity());
  const cache = new AttributeCache();
  const take = async (round: readonly Uint8Array[]): Promise<void> => {
    for (const body of round) mapper.add(admitted(decodeMetricsRequest(body, cache)), moment(), sink);
    mapper.flush(sink);
    await store.commit();
  };
  await take(bodies[0]!);
  appended = 0;
  const seconds = await cpuSeconds(async () => {
    for (const round of bodies.slice(1)) await take(round);
  });
  if (appended !== samples * (rounds - 1)) throw new Error(`${appended} samples stored of ${samples * (rounds - 1)}`);
  const rate = Math.round(appended / seconds);
  report(`otlp/${name}/bytes-to-durable/samples-per-cpu-second`, '1/s', rate, 100_000, rate >= 100_000);
  await store.close();
  rmSync(dir, { recursive: true });
}

function admitted(request: MetricsRequest): MetricsRequest {
  const { request: taken, rejected, reason } = admitMetrics(request, endMs);
  if (rejected > 0) throw new Error(reason);
  return taken;
}

function moment(): { wall: number; mono: number } {
  return { wall: endMs, mono: performance.now() };
}

function scrape(mapper: SeriesMapper): void {
  const times: number[] = [];
  let bytes = 0;
  for (let i = 0; i < 10; i++) {
    const from = performance.now();
    bytes = Buffer.concat([...writePage(capturedFamilies(mapper.table.families.values(), 'text'), 'text')]).length;
    times.push(performance.now() - from);
  }
  const median = times.toSorted((a, b) => a - b)[5]!;
  console.error(`exposition of ${mapper.table.size} series: ${bytes} bytes`);
  const ms = Math.round(median * 10) / 10;
  report(`scrape/${mapper.table.size}-series/text/median`, 'ms', ms, 250, ms <= 250);
}

async function spans(): Promise<void> {
  const perRequest = 500;
  const span = {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    parentSpanId: '',
    name: 'GET /api/items/{id}',
    kind: 'server' as const,
    startNs: BigInt(endMs) * 1_000_000n,
    endNs: BigInt(endMs) * 1_000_000n + 5_000_000n,
    attributes: attributes({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'http.route': '/api/items/{id}',
      'server.address': 'shop',
      'url.path': '/api/items/7',
      'url.scheme': 'http',
    }),
    status: 'unset' as const,
    statusMessage: '',
  };
  const batch = Array.from({ length: perRequest }, () => span);
  const request = { resources: [{ attributes: podResource(1), scopes: [{ scope, spans: batch }] }] };
  const ring = new StreamRing({ maxBytes: 16 * 1024 * 1024, maxAgeMs: 60_000 });
  const pipeline = new SpanPipeline({ ring, clock: systemClock, identity: identity() });
  const requests = flags.quick ? 20 : 200;
  const seconds = await cpuSeconds(() => {
    for (let i = 0; i < requests; i++) pipeline.take(request);
  });
  const rate = Math.round((perRequest * requests) / seconds);
  report('spans/into-ring/per-cpu-second', '1/s', rate, 20_000, rate >= 20_000);
}

console.error(`building ${rounds} intervals of ${pods} pods and ${flows} flows`);
const http = Array.from({ length: rounds }, (_, round) => httpBodies(pods, time, round));
const httpSeries = pods * seriesPerPod;
await decodeOnly('http', http, httpSeries);
const mapper = await decodeAndMap('http', http, httpSeries);
await toStore('http', http, httpSeries);
scrape(mapper);
const flow = Array.from({ length: rounds }, (_, round) => flowBodies(flows, time, round));
await decodeOnly('flows', flow, flows);
await decodeAndMap('flows', flow, flows);
await toStore('flows', flow, flows);
await spans();
