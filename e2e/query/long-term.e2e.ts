import { labelsFromObject } from '../../src/tsdb/index.ts';
import { startQueryStage } from '../../src/testing/query/query-stage.ts';
import type { QueryStage } from '../../src/testing/query/query-stage.ts';
import { askApi } from '../../src/testing/query/api-client.ts';
import { remoteWrite } from '../prometheus/remote-write.ts';
import { startPeer } from '../prometheus/server.ts';
import type { Peer } from '../prometheus/server.ts';

/** A real Prometheus that was sent everything by remote write; agents that have kept the last 40 of 90 minutes. */
const end = Math.floor(Date.now() / 60_000) * 60_000;
const nodes = ['node-1', 'node-2'];
let peer: Peer;
let stage: QueryStage;
let byQueryApi: number;

beforeAll(async () => {
  peer = await startPeer();
  stage = await startQueryStage({ nodes, flags: { longTermUrl: peer.url, longTermAfter: '30m' } });
  byQueryApi = (await stage.replica({ flags: { longTermUrl: peer.url, longTermAfter: '30m', longTermApi: 'query' } }))
    .port;
  const written = nodes.map((k8s_node_name, n) => {
    const labels = { __name__: 'http_server_request_duration_count', service_name: 'shop', k8s_node_name };
    const samples = Array.from({ length: 181 }, (_, k) => ({
      time: end - (180 - k) * 30_000,
      value: (k % 100) * 15 * (n + 1),
    }));
    return { labels: labelsFromObject(labels), samples };
  });
  await remoteWrite(peer.url, written);
  for (const [n, { labels, samples }] of written.entries()) {
    const own = Object.fromEntries(labels);
    for (const { time, value } of samples.slice(100)) stage.cluster.append(nodes[n]!, own, time, value);
  }
});
afterAll(async () => {
  await stage.close();
  await peer.stop();
});

test.each(['read', 'query'] as const)(
  'by the %s API, a range across the boundary is what the store alone gives',
  async (api) => {
    const port = api === 'read' ? stage.server.port : byQueryApi;
    for (const query of [
      'sum by (service_name) (rate(http_server_request_duration_count[5m]))',
      'count_over_time(http_server_request_duration_count[3m])',
      'http_server_request_duration_count',
      'max_over_time(sum(http_server_request_duration_count)[10m:1m])',
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
