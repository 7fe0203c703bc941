import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { Exports } from '../../src/agent/export/exports.ts';
import { teeStore } from '../../src/agent/export/tee-store.ts';
import type { IngestStore } from '../../src/agent/ingest/ingest.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { CaptureConfig } from '../../src/capture/index.ts';
import { askApi, type ApiAnswer } from '../../src/testing/query/api-client.ts';
import type { LongTermState } from '../../src/testing/query/long-term-stand-in.ts';
import { startQueryStage, type QueryStage } from '../../src/testing/query/query-stage.ts';
import { labelsFromObject } from '../../src/tsdb/index.ts';
import { until } from '../../src/testing/until.ts';
import { startPeer, type Peer } from '../prometheus/server.ts';

/** A long-term store under test: a real one or the stand-in. */
export interface LongTermPeer {
  /** The part of its URLs before /api/v1. */
  readonly url: string;
  /** URLs that agents send their samples to by remote write. */
  readonly writeUrls?: readonly string[];
  /** The URL that agents of another cluster, `us`, send their samples to. */
  readonly foreignWriteUrl?: string;
  /** Adds a sample; for a store without remote write. */
  append?(labels: Readonly<Record<string, string>>, t: number, value: number): void;
  /** Brings the store from `well` into a state, or from any state back to `well`. */
  be(state: LongTermState): Promise<void>;
  close(): Promise<void>;
}

export interface LongTermCase {
  readonly start: () => Promise<LongTermPeer>;
  /** Flags of the query server other than `longTermUrl` and `longTermAfter`. */
  readonly flags: Readonly<Record<string, string>>;
  /** States that the store can be brought into, each with the warning of answers in that state. */
  readonly states: Readonly<Partial<Record<Exclude<LongTermState, 'well'>, RegExp>>>;
}

/** Samples cover ninety minutes; agents have the last forty. Times that are no whole seconds make rounding visible. */
const end = Math.floor(Date.now() / 60_000) * 60_000 - 863;
const interval = 30_000;
const samples = 181;
const keptFrom = end - 80 * interval;
const nodes = ['node-1', 'node-2'];
const counter = 'http_server_request_duration_count';
const gauge = 'queue_fill';

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly t: number;
  readonly value: number;
}

/** A counter with a reset, a gauge with fractions and an infinity, and a series that ended before the agents' time. */
function* samplesOf(node: string, n: number): Generator<Sample> {
  const base = { service_name: 'shop', k8s_node_name: node, k8s_namespace_name: `team-${n}` };
  for (let k = 0; k < samples; k++) {
    const t = end - (samples - 1 - k) * interval;
    yield { labels: { __name__: counter, ...base }, t, value: (k % 100) * 15 * (n + 1) };
    yield { labels: { __name__: gauge, ...base }, t, value: k === 40 + n ? Infinity : Math.sin(k / 7 + n) / (n + 3) };
    if (k < 60) yield { labels: { __name__: 'gone', ...base }, t, value: k };
  }
}

const queries = [
  `sum by (service_name) (rate(${counter}[5m]))`,
  `count_over_time(${counter}[3m])`,
  counter,
  `sum(${counter})`,
  gauge,
  `max_over_time(sum(${counter})[10m:1m])`,
  `increase(${counter}[1h])`,
  `delta(${gauge}[7m])`,
  `quantile_over_time(0.3, ${gauge}[4m])`,
  `topk(1, ${gauge} offset 20m)`,
  `${gauge} - ${gauge} @ start()`,
  `last_over_time(gone[10m])`,
  `count({k8s_node_name=~"node-.+", __name__!~"x.*"}) by (__name__)`,
  `absent_over_time(${counter}{k8s_node_name="node-3"}[5m])`,
];

/**
 * Declares the tests that every long-term store behind the query server must pass, the stand-in and real ones.
 * Answers are compared with those of one Prometheus that has all samples.
 */
export function longTermSuite({ start, flags, states }: LongTermCase): void {
  let dir: string;
  let oracle: Peer;
  let peer: LongTermPeer;
  let stage: QueryStage;
  const longTerm = (): Record<string, string> => ({ longTermUrl: peer.url, longTermAfter: '30m', ...flags });

  const exportsOf = (folder: string, node: string, endpoints: readonly string[]): Exports => {
    const exports = new Exports({
      dir: join(dir, folder),
      maxBytes: 64 * 1024 * 1024,
      node,
      version: '0',
      clock: systemClock,
      logger: silentLogger,
      registry: new Registry(),
      metaOf: (family) => ({ family, type: 'counter', help: '', unit: '' }),
    });
    const destinations = endpoints.map((endpoint, i) => ({
      policy: 'p',
      name: `d${i}`,
      type: 'RemoteWrite',
      endpoint,
    }));
    exports.setConfig({ exports: destinations, monitors: [] } as unknown as CaptureConfig);
    return exports;
  };

  /**
   * Takes in samples as an agent does: puts those that it still keeps into its store, and all into its export queues.
   */
  const takeIn = async (node: string, n: number): Promise<void> => {
    const { store } = stage.cluster.agents[n]!;
    const exports = exportsOf(node, node, [`${oracle.url}/api/v1/write`, ...(peer.writeUrls ?? [])]);
    const own: IngestStore = {
      append: (series, t, value) => (t < keptFrom ? 'appended' : store.append(series, t, value)),
      appendStale: (series, t) => store.appendStale(series, t),
      appendStart: (series, t) => store.appendStart(series, t),
      newestValue: (series, t) => store.newestValue(series, t),
      commit: () => store.commit(),
    };
    const tee = teeStore(own, exports);
    const known = new Map<string, { labels: ReturnType<typeof labelsFromObject>; slot: number }>();
    let taken = 0;
    for (const { labels, t, value } of samplesOf(node, n)) {
      const name = labels['__name__']!;
      if (!known.has(name)) known.set(name, { labels: labelsFromObject(labels), slot: -1 });
      tee.append(known.get(name)!, t, value);
      peer.append?.(labels, t, value);
      if (++taken % 50 === 0) await tee.commit();
    }
    await tee.commit();
    const query = [counter, gauge, 'gone']
      .map((name) => `sum(count_over_time(${name}{k8s_node_name="${node}"}[2h]))`)
      .join(' + ');
    for (const url of [oracle.url, ...(peer.append ? [] : [peer.url])]) {
      await until(
        `the samples of ${node} are at ${url}`,
        async () => {
          const answer = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query })}`);
          const body = (await answer.json()) as { data?: { result: { value: [number, string] }[] } };
          const arrived = Number(body.data?.result[0]?.value[1] ?? 0);
          if (arrived < taken) throw new Error(`${arrived} of ${taken}: ${JSON.stringify(body).slice(0, 300)}`);
          return true;
        },
        { timeoutMs: 60_000 },
      );
    }
    await exports.close();
  };

  /** Sends samples of a node in another cluster, with the name and series of our first node, but other values. */
  const takeInForeign = async (url: string): Promise<void> => {
    const exports = exportsOf('foreign', nodes[0]!, [url]);
    const nowhere: IngestStore = {
      append: () => 'appended',
      appendStale: () => 'appended',
      appendStart: () => false,
      newestValue: () => NaN,
      commit: async () => {},
    };
    const tee = teeStore(nowhere, exports);
    for (const { labels, t } of samplesOf(nodes[0]!, 0)) {
      tee.append({ labels: labelsFromObject(labels), slot: -1 }, t + 7_000, 1e6);
    }
    await tee.commit();
    const params = new URLSearchParams({ query: 'count(last_over_time({cluster="us",__name__=~".+"}[2h]))' });
    await until('the samples of the other cluster have arrived', async () =>
      (await (await fetch(`${peer.url}/api/v1/query?${params}`)).text()).includes('"3"'),
    );
    await exports.close();
  };

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'svc-long-term-'));
    // These agents send their whole past in one go and overtake each other, as live agents do not. Without the window,
    // Prometheus refuses samples that are much older than its newest.
    oracle = await startPeer({ config: 'storage: {tsdb: {out_of_order_time_window: 3h}}\n' });
    peer = await start();
    stage = await startQueryStage({ nodes, flags: longTerm() });
    await Promise.all(nodes.map(takeIn));
    if (peer.foreignWriteUrl !== undefined) await takeInForeign(peer.foreignWriteUrl);
  }, 180_000);
  afterAll(async () => {
    await stage?.close();
    await peer?.close();
    await oracle?.stop();
    rmSync(dir, { recursive: true, force: true });
  }, 60_000);

  const theirs = async (path: string, params: Record<string, string>): Promise<unknown> => {
    const answer = await fetch(`${oracle.url}${path}?${new URLSearchParams(params)}`);
    return ((await answer.json()) as { data: unknown }).data;
  };
  const range = (query: string, minutes = 80): Record<string, string> => ({
    query,
    start: String((end - minutes * 60_000) / 1000),
    end: String(end / 1000),
    step: '15',
  });
  const expectWhole = (query: string, { json }: ApiAnswer, data: unknown): void =>
    expect([query, json.degraded, json.warnings ?? [], json.data]).toEqual([query, false, [], data]);

  test('a range across the boundary (longTermAfter) equals that of one store, for each boundary', async () => {
    for (const longTermAfter of ['30m', '17m', '39m20s']) {
      const { port } = await stage.replica({ flags: { ...longTerm(), longTermAfter } });
      for (const query of queries) {
        const ours = await askApi({ port, ca: stage.cluster.ca.cert }, '/api/v1/query_range', range(query));
        expectWhole(query, ours, await theirs('/api/v1/query_range', range(query)));
      }
    }
  });

  test('each sample on both sides of the boundary is returned once', async () => {
    for (const name of [counter, gauge]) {
      const params = { query: `${name}[80m]`, time: String(end / 1000) };
      expectWhole(params.query, await stage.ask('/api/v1/query', params), await theirs('/api/v1/query', params));
    }
  });

  test('series, label names and values of older times equal those of one store with all samples', async () => {
    const times = { start: String((end - 80 * 60_000) / 1000), end: String(end / 1000) };
    for (const [path, params] of [
      ['/api/v1/series', { 'match[]': '{service_name="shop"}' }],
      ['/api/v1/labels', { 'match[]': 'gone' }],
      ['/api/v1/label/__name__/values', { 'match[]': '{service_name="shop"}' }],
    ] as const) {
      const asked = { ...params, ...times };
      const ours = await stage.ask(path, asked);
      const sorted = (data: unknown): string[] => (data as unknown[]).map((one) => JSON.stringify(one)).sort();
      expect([path, ours.json.degraded, ours.json.warnings ?? []]).toEqual([path, false, []]);
      expect(sorted(ours.json.data)).toEqual(sorted(await theirs(path, asked)));
    }
  });

  test.each(Object.entries(states) as [LongTermState, RegExp][])(
    'a store that is %s is reported, agents answer their part, and partial_response=false gets an error',
    async (state, reason) => {
      await peer.be(state);
      try {
        const params = { ...range(`sum(${counter})`), timeout: '8s' };
        const { status, json } = await stage.ask('/api/v1/query_range', params);
        expect([status, json.degraded, json.missingNodes]).toEqual([200, true, ['long-term-store']]);
        expect(json.warnings).toEqual([expect.stringMatching(reason)]);
        const { result } = json.data as { result: { values: [number, string][] }[] };
        const whole = (await theirs('/api/v1/query_range', params)) as typeof json.data as typeof json.data & {
          result: { values: [number, string][] }[];
        };
        const { values } = result[0]!;
        expect(values.length).toBeGreaterThan(100);
        // The first value may sum samples of only one node, if the boundary is between the samples of the two nodes.
        expect(values.slice(1)).toEqual(whole.result[0]!.values.slice(1 - values.length));
        const strict = await stage.ask('/api/v1/query_range', { ...params, partial_response: 'false' });
        expect(strict.status).toBe(503);
      } finally {
        await peer.be('well');
      }
      const params = range(`sum(${counter})`);
      await until(
        'it answers again',
        async () => (await stage.ask('/api/v1/query_range', params)).json.degraded === false,
      );
      expectWhole(
        params.query!,
        await stage.ask('/api/v1/query_range', params),
        await theirs('/api/v1/query_range', params),
      );
    },
  );
}
