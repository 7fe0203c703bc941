import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { readSettings } from '../../src/base/settings.ts';
import { querySettingTable, startQueryServer } from '../../src/query/index.ts';
import { startAgentCluster } from '../../src/testing/query/agent-cluster.ts';
import { askApi } from '../../src/testing/query/api-client.ts';
import { aHistogram } from '../../src/testing/tsdb/histograms.ts';
import { labelsFromObject } from '../../src/tsdb/index.ts';
import { startPeer } from '../prometheus/server.ts';
import { writeStores } from '../prometheus/write-stores.ts';
import { ask, difference } from './oracle.ts';
import type { Answer } from './oracle.ts';

const stepMs = 30_000;
const scrapes = 120;

/** `counted` holds integer and float counts, `gauges` holds gauge histograms, and `custom` has custom bounds. */
const queries = ['counted', 'gauges', 'custom'].flatMap((name) => [
  `${name}`,
  `histogram_count(${name})`,
  `histogram_sum(${name})`,
  `histogram_avg(${name})`,
  `histogram_quantile(0.9, ${name})`,
  `histogram_fraction(0, 1, ${name})`,
  `histogram_quantile(0.5, sum by (shape) (rate(${name}[5m])))`,
  `rate(${name}[5m])`,
  `histogram_count(increase(${name}[10m]))`,
  `sum by (k8s_node_name) (${name})`,
  `resets(${name}[30m])`,
  `count_over_time(${name}[10m])`,
]);

test('answers from native histograms in agents match those of a Prometheus with the same samples', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'svc-histograms-'));
  const end = Math.floor(Date.now() / 60_000) * 60_000;
  const start = end - scrapes * stepMs;
  const cluster = await startAgentCluster(['node-1', 'node-2'], systemClock);
  const flags = { namespace: 'svc-system', bindAddress: '127.0.0.1', port: '0', healthPort: '0' };
  const server = await startQueryServer({
    settings: readSettings(querySettingTable, {
      flags: { ...flags, agentReadPort: String(cluster.port) },
      env: {},
      prefix: 'SVC_',
    }),
    clock: systemClock,
    logger: silentLogger,
    directory: { agents: () => cluster.expected, synced: true },
    reviews: { reviewToken: async () => undefined, mayAccessPath: async () => false },
    tls: cluster.tls,
    version: '0.0.0',
    pageDir: undefined,
  });
  const peer = await startPeer({ dir });
  try {
    expect(cluster.agents).toHaveLength(2);
    for (const { node, store } of cluster.agents) {
      for (const shape of [0, 1, 2, 3, 6, 7]) {
        const name = shape >= 6 ? 'custom' : shape >= 2 ? 'gauges' : 'counted';
        const labels = labelsFromObject({ __name__: name, shape: String(shape), k8s_node_name: node });
        for (let n = 0; n <= scrapes; n++) {
          const t = start + n * stepMs;
          const histogram = aHistogram(shape, n);
          // A reset that only the hint marks is not in a chunk's samples, so it would not reach the peer.
          const counterReset = histogram.counterReset === 'reset' ? 'unknown' : histogram.counterReset;
          if (n % 61 === 60) store.appendStale(labels, t);
          else expect(store.appendHistogram(labels, t, { ...histogram, counterReset })).toBe('appended');
        }
      }
    }
    await writeStores(
      cluster.agents.map(({ store }) => store),
      peer.url,
      start,
      end,
    );
    const problems: string[] = [];
    let asked = 0;
    for (const query of queries) {
      const instant = { query, time: String(end / 1000) };
      const range = { query, start: String(start / 1000 + 600), end: String(end / 1000), step: '60' };
      for (const [path, params] of [
        ['query', instant],
        ['query_range', range],
      ] as const) {
        const want = await ask(peer.url, path, params);
        expect([query, want.code]).toEqual([query, 200]);
        asked++;
        const answer = await askApi({ port: server.port, ca: cluster.ca.cert }, `/api/v1/${path}`, params);
        const problem = difference({ ...(answer.json as Answer), code: answer.status }, want);
        if (problem) problems.push(`${path} ${query}: ${problem}`);
      }
    }
    expect(problems).toEqual([]);
    expect(asked).toBe(72);
  } finally {
    await peer.stop();
    await server.close();
    await cluster.close();
    await rm(dir, { recursive: true, force: true });
  }
}, 120_000);
