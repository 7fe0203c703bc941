import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import { capturedFamilies } from '../src/agent/exposition/captured.ts';
import { writePage } from '../src/agent/exposition/page.ts';
import type { SampleSink } from '../src/agent/mapping/hand-out.ts';
import { SeriesMapper } from '../src/agent/mapping/mapper.ts';
import { defaultPolicy } from '../src/agent/mapping/policy.ts';
import { admitMetrics } from '../src/agent/otlp/admit.ts';
import type { MetricsRequest } from '../src/agent/otlp/model.ts';
import { AttributeCache } from '../src/agent/otlp/protobuf/attribute-cache.ts';
import { decodeMetricsRequest } from '../src/agent/otlp/protobuf/decode.ts';
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
import { bench } from './run/bench.ts';
import type { Stage } from './run/bench.ts';
import { allCores } from './run/cores.ts';
import type { Figure } from './run/figure.ts';
import { median } from './run/spread.ts';

/** The size of the workload: pods, flow counters, intervals of ten seconds. */
interface Sizes {
  readonly pods: number;
  readonly flows: number;
  readonly rounds: number;
}

type Report = (figure: Figure) => void;

/** One workload, interval by interval. */
interface Intervals {
  readonly name: string;
  /** One body or more for each interval. */
  readonly bodies: readonly (readonly Uint8Array[])[];
  /** How many samples one interval has. */
  readonly samples: number;
}

const requestsOfSpans = 100;
const spansPerRequest = 500;
const scrapesOfARun = 5;

const noSink: SampleSink = { append: () => {}, stale: () => {}, start: () => {}, stored: () => NaN };

await bench(
  {
    name: 'bench:otlp',
    measures:
      "The agent's way from OTLP bytes to durable samples, step by step in one process, without HTTP; its exposition; and\n" +
      'spans into the ring of the stream. Work: 50 pods with 22,000 series of HTTP histograms in 50 posts an interval, and\n' +
      '20,000 flow counters in one post. Rates are per second of CPU time of all threads: what an agent costs, not how\n' +
      'long it waits. The only peer is the decoder of protobufjs, which has neither limits nor error paths.',
    options: {
      pods: { kind: 'number', value: 50, quick: 5, help: 'pods, 440 series each' },
      flows: { kind: 'number', value: 20_000, quick: 2_000, help: 'flow counters' },
      rounds: {
        kind: 'number',
        value: 12,
        quick: 4,
        help: 'intervals of a run; only the decode figure includes the first',
      },
    },
  },
  async (stage) => {
    const { say, reporter } = stage;
    const { pods, flows, rounds }: Sizes = stage.flags;
    const endMs = Date.now();
    const time = timeline(endMs - rounds * intervalMs);
    say(`building ${rounds} intervals of ${pods} pods and ${flows} flows`);
    const report = reporter({
      cores: allCores('the steps, in the process of the benchmark'),
      caches: 'warm: behind one interval; the store in a new folder in each run',
    });
    const intervals = (make: (round: number) => Uint8Array[]): Uint8Array[][] =>
      Array.from({ length: rounds }, (_, i) => make(i));
    const http = { name: 'http', bodies: intervals((i) => httpBodies(pods, time, i)), samples: pods * seriesPerPod };
    const flow = { name: 'flows', bodies: intervals((i) => flowBodies(flows, time, i)), samples: flows };
    for (const work of [http, flow]) {
      say(`${work.name}: ${stage.runs} runs of each step`);
      await decodeOnly(stage, report, work);
      const mapper = await decodeAndMap(stage, report, work, { pods, endMs });
      await toStore(stage, report, work, { pods, endMs });
      if (work === http) scrape(stage, report, mapper);
    }
    await spans(stage, report, { pods, endMs });
  },
);

/** Seconds of CPU time that `work` took in this process, all threads together. */
async function cpuSeconds(work: () => void | Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** An agent's knowledge of its node's pods. */
function identity(pods: number): Identity {
  const known = new Identity();
  for (const pod of nodePods(pods, flowSources)) known.pods.upsert(podIdentity(pod), 0);
  known.pods.markSynced();
  return known;
}

/** The node of the workload: its number of pods, and the end of its intervals. */
interface Node {
  readonly pods: number;
  readonly endMs: number;
}

async function perRun<T>({ runs }: Stage, measure: () => Promise<T>): Promise<T[]> {
  const all: T[] = [];
  for (let run = 0; run < runs; run++) all.push(await measure());
  return all;
}

async function decodeOnly(stage: Stage, report: Report, { name, bodies, samples }: Intervals): Promise<void> {
  const cache = new AttributeCache();
  for (const body of bodies[0]!) decodeMetricsRequest(body, cache);
  const seconds = await perRun(stage, () =>
    cpuSeconds(() => {
      for (const round of bodies) for (const body of round) decodeMetricsRequest(body, cache);
    }),
  );
  const schema = readFileSync(join(import.meta.dirname, '../src/agent/otlp/protobuf/otlp.proto'), 'utf8');
  const library = protobuf.parse(schema).root.lookupType('ExportMetricsServiceRequest');
  const peerSeconds = await perRun(stage, () =>
    cpuSeconds(() => {
      for (const round of bodies) for (const body of round) library.decode(body);
    }),
  );
  const perSecond = (all: number[]): number[] => all.map((s) => (samples * bodies.length) / s);
  const [ours, peer] = [perSecond(seconds), perSecond(peerSeconds)];
  report({ name: `otlp/${name}/decode/samples-per-cpu-second`, unit: '1/s', ours, peer });
}

async function decodeAndMap(stage: Stage, report: Report, work: Intervals, node: Node): Promise<SeriesMapper> {
  const { name, bodies, samples } = work;
  let mapper = new SeriesMapper(defaultPolicy('node-1'), identity(node.pods));
  const seconds = await perRun(stage, async () => {
    mapper = new SeriesMapper(defaultPolicy('node-1'), identity(node.pods));
    const cache = new AttributeCache();
    const take = (round: readonly Uint8Array[]): void => {
      for (const body of round) mapper.add(admitted(decodeMetricsRequest(body, cache), node), moment(node), noSink);
      mapper.flush(noSink);
    };
    take(bodies[0]!);
    return cpuSeconds(() => bodies.slice(1).forEach(take));
  });
  const ours = seconds.map((s) => (samples * (bodies.length - 1)) / s);
  report({ name: `otlp/${name}/decode-map/samples-per-cpu-second`, unit: '1/s', ours });
  return mapper;
}

async function toStore(stage: Stage, report: Report, work: Intervals, node: Node): Promise<void> {
  const { name, bodies, samples } = work;
  const root = stage.folder();
  let run = 0;
  const seconds = await perRun(stage, async () => {
    const store = await openStore({ dir: join(root, String(run++)), clock: systemClock, logger: silentLogger });
    let appended = 0;
    const sink: SampleSink = {
      append: (labels, tMs, value) => {
        if (store.append(labels, tMs, value) === 'appended') appended++;
      },
      stale: () => {},
      start: () => {},
      stored: () => NaN,
    };
    const mapper = new SeriesMapper(defaultPolicy('node-1'), identity(node.pods));
    const cache = new AttributeCache();
    const take = async (round: readonly Uint8Array[]): Promise<void> => {
      for (const body of round) mapper.add(admitted(decodeMetricsRequest(body, cache), node), moment(node), sink);
      mapper.flush(sink);
      await store.commit();
    };
    await take(bodies[0]!);
    appended = 0;
    const taken = await cpuSeconds(async () => {
      for (const round of bodies.slice(1)) await take(round);
    });
    const expected = samples * (bodies.length - 1);
    if (appended !== expected) throw new Error(`${appended} samples stored of ${expected}`);
    await store.close();
    return taken;
  });
  const ours = seconds.map((s) => (samples * (bodies.length - 1)) / s);
  const goal = { of: 'ours', atLeast: 100_000 } as const;
  report({ name: `otlp/${name}/bytes-to-durable/samples-per-cpu-second`, unit: '1/s', ours, goal });
}

function admitted(request: MetricsRequest, { endMs }: Node): MetricsRequest {
  const { request: taken, rejected, reason } = admitMetrics(request, endMs);
  if (rejected > 0) throw new Error(reason);
  return taken;
}

function moment({ endMs }: Node): { wall: number; mono: number } {
  return { wall: endMs, mono: performance.now() };
}

function scrape({ runs, say }: Stage, report: Report, mapper: SeriesMapper): void {
  let bytes = 0;
  const page = (): number => {
    const from = performance.now();
    bytes = 0;
    for (const chunk of writePage(capturedFamilies(mapper.table.families.values(), 'text'), 'text')) {
      bytes += chunk.length;
    }
    return performance.now() - from;
  };
  page();
  const ours = Array.from({ length: runs }, () => median(Array.from({ length: scrapesOfARun }, page)));
  say(`exposition of ${mapper.table.size} series: ${bytes} bytes`);
  const name = `scrape/${mapper.table.size}-series/text/in-process`;
  report({ name, unit: 'ms', ours, goal: { of: 'ours', atMost: 250 } });
}

async function spans(stage: Stage, report: Report, { pods, endMs }: Node): Promise<void> {
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
  const batch = Array.from({ length: spansPerRequest }, () => span);
  const request = { resources: [{ attributes: podResource(1), scopes: [{ scope, spans: batch }] }] };
  const ring = new StreamRing({ maxBytes: 16 * 1024 * 1024, maxAgeMs: 60_000 });
  const pipeline = new SpanPipeline({ ring, clock: systemClock, identity: identity(pods) });
  pipeline.take(request);
  const seconds = await perRun(stage, () =>
    cpuSeconds(() => {
      for (let i = 0; i < requestsOfSpans; i++) pipeline.take(request);
    }),
  );
  const ours = seconds.map((s) => (spansPerRequest * requestsOfSpans) / s);
  report({ name: 'spans/into-ring/per-cpu-second', unit: '1/s', ours, goal: { of: 'ours', atLeast: 20_000 } });
}
