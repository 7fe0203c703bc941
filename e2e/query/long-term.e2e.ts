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
import { labelsFromObject } from '../../src/tsdb/index.ts';
import { startQueryStage } from '../../src/testing/query/query-stage.ts';
import type { QueryStage } from '../../src/testing/query/query-stage.ts';
import { askApi } from '../../src/testing/query/api-client.ts';
import { eventually } from '../cluster/eventually.ts';
import { startPeer } from '../prometheus/server.ts';
import type { Peer } from '../prometheus/server.ts';

/** A real Prometheus that the agents wrote everything to; agents that have kept the last 40 of 90 minutes. */
const end = Math.floor(Date.now() / 60_000) * 60_000;
const interval = 30_000;
const samples = 181;
/** The first sample that the agents still have. */
const kept = 100;
const nodes = ['node-1', 'node-2'];
const name = 'http_server_request_duration_count';
let dir: string;
let peer: Peer;
let stage: QueryStage;
let byQueryApi: number;

/** Takes samples in as an agent does: into its store, where it still has them, and into the export's queue. */
async function takeIn(node: string, n: number): Promise<void> {
  const { store } = stage.cluster.agents[n]!;
  const exports = new Exports({
    dir: join(dir, node),
    maxBytes: 64 * 1024 * 1024,
    node,
    version: '0',
    clock: systemClock,
    logger: silentLogger,
    registry: new Registry(),
    metaOf: (family) => ({ family, type: 'counter', help: '', unit: '' }),
  });
  const destination = { policy: 'p', name: 'long', type: 'RemoteWrite', endpoint: `${peer.url}/api/v1/write` };
  exports.setConfig({ exports: [destination], monitors: [] } as unknown as CaptureConfig);
  const forgotten = end - (samples - 1 - kept) * interval;
  const own: IngestStore = {
    append: (series, t, value) => (t < forgotten ? 'appended' : store.append(series, t, value)),
    appendStale: (series, t) => store.appendStale(series, t),
    commit: () => store.commit(),
  };
  const tee = teeStore(own, exports);
  const labels = labelsFromObject({ __name__: name, service_name: 'shop', k8s_node_name: node });
  const series = { labels, slot: -1 };
  for (let k = 0; k < samples; k++) {
    tee.append(series, end - (samples - 1 - k) * interval, (k % 100) * 15 * (n + 1));
    if (k % 20 === 0) await tee.commit();
  }
  await tee.commit();
  await eventually(`the samples of ${node} have arrived`, async () => {
    const found = await peer.samples(`${name}{k8s_node_name="${node}"}[2h]`);
    return found[0]?.values.length === samples;
  });
  await exports.close();
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'svc-long-term-'));
  // Agents that send the past at once overtake each other; live ones do not.
  const config = 'global: {scrape_interval: 1h}\nstorage: {tsdb: {out_of_order_time_window: 3h}}\n';
  peer = await startPeer({ config });
  stage = await startQueryStage({ nodes, flags: { longTermUrl: peer.url, longTermAfter: '30m' } });
  byQueryApi = (await stage.replica({ flags: { longTermUrl: peer.url, longTermAfter: '30m', longTermApi: 'query' } }))
    .port;
  await Promise.all(nodes.map(takeIn));
});
afterAll(async () => {
  await stage.close();
  await peer.stop();
  rmSync(dir, { recursive: true, force: true });
});

test.each(['read', 'query'] as const)(
  'by the %s API, a range across the boundary is what the store alone gives',
  async (api) => {
    const port = api === 'read' ? stage.server.port : byQueryApi;
    for (const query of [
      `sum by (service_name) (rate(${name}[5m]))`,
      `count_over_time(${name}[3m])`,
      name,
      `max_over_time(sum(${name})[10m:1m])`,
    ]) {
      const params = { query, start: String(end / 1000 - 4800), end: String(end / 1000), step: '15' };
      const theirs = (await (await fetch(`${peer.url}/api/v1/query_range?${new URLSearchParams(params)}`)).json()) as {
        data: unknown;
      };
      const ours = await askApi({ port, ca: stage.cluster.ca.cert }, '/api/v1/query_range', params);
      expect([query, ours.json.degraded, ours.json.data]).toEqual([query, false, theirs.data]);
    }
  },
);
