/**
 * One question to many agents, by each path of execution:
 *   node bench/query.ts [--quick] [--only TEXT]
 * One JSON line for each figure on stdout: {name, unit, ours, peer, ratio, goal, met}; progress on stderr.
 * Agents are stand-ins in one process (bench/query/agents.ts says what of them is simulated); the query server's part
 * is the real one: discovery list, mutual TLS to every agent, decoding, merging, JSON. Then one agent's data in a real
 * Prometheus, asked over HTTP, beside ours: an agent and a query server over HTTPS.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/logger.ts';
import { readSettings } from '../src/base/settings.ts';
import { createCa, issueLeaf } from '../src/net/ca.ts';
import { fixedTls } from '../src/net/tls-material.ts';
import { fixedDirectory, querySettingTable, startQueryServer } from '../src/query/index.ts';
import type { AgentsCost } from './query/agents.ts';
import { ApiClient } from './query/ask.ts';
import { end } from './query/data.ts';
import { besidePeer } from './query/peer.ts';
import { report } from './query/report.ts';

const { values: flags } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
});
const sizes = flags.quick ? [3, 10] : [20, 100];
const series = flags.quick ? 2_000 : 22_000;
const runs = flags.quick ? 5 : 20;
/** Every chunk of every agent comes to the server: above this that is neither done nor a way anybody would choose. */
const mostRawAgents = 20;

const count = 'http_server_request_duration_count';
const queries: Readonly<Record<string, string>> = {
  'sum-rate': `sum by (k8s_namespace_name, service_name) (rate(${count}[5m]))`,
  'histogram-quantile':
    'histogram_quantile(0.99, sum by (le, service_name) (rate(http_server_request_duration_bucket[5m])))',
  topk: 'topk(10, sum by (k8s_src_owner_name, k8s_dst_owner_name) (rate(ebpf_network_flow_bytes[5m])))',
  raw: `${count}{service_name="app-1"}`,
};

async function fanOut(agents: number): Promise<void> {
  const now = Date.now();
  const ca = await createCa({ commonName: 'svc-ca', now });
  const identity = async (commonName: string): Promise<{ cert: string; key: string; ca: string }> => {
    const dnsNames = [commonName, `${commonName}.svc-system.svc`, 'localhost'];
    const leaf = await issueLeaf(ca, { commonName, dnsNames, ipAddresses: ['127.0.0.1'] }, { now });
    return { cert: leaf.cert, key: leaf.key, ca: ca.cert };
  };
  const child = fork(new URL('./query/agents.ts', import.meta.url).pathname);
  child.send({ agents, series, tls: await identity('svc-agent') });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  const cost = async (): Promise<AgentsCost> => {
    child.send('cost');
    return ((await once(child, 'message')) as [AgentsCost])[0];
  };
  const expected = Array.from({ length: agents }, (_, i) => ({
    node: `node-${i}`,
    address: `127.0.${i >> 7}.${(i & 127) + 1}`,
    absence: undefined,
    nodeReady: true,
  }));
  const settings = { namespace: 'svc-system', bindAddress: '127.0.0.1', port: '0', healthPort: '0' };
  const server = await startQueryServer({
    settings: readSettings(querySettingTable, {
      flags: { ...settings, agentReadPort: String(port), agentTimeout: '60s' },
      env: {},
      prefix: 'SVC_',
    }),
    clock: systemClock,
    logger: silentLogger,
    directory: fixedDirectory(expected),
    reviews: { reviewToken: async () => undefined, mayAccessPath: async () => false },
    tls: fixedTls(await identity('svc-query')),
    version: '0',
  });
  const client = new ApiClient(server.port, ca.cert);
  try {
    for (const [name, query] of Object.entries(queries)) {
      for (const path of ['agg', 'series', 'off'] as const) {
        const label = `fanout/${agents}-agents/${name}/${path === 'agg' ? 'pushdown' : path}`;
        if (!label.includes(flags.only) || (path !== 'agg' && agents > mostRawAgents && name !== 'raw')) continue;
        const times: number[] = [];
        const asked = async (): Promise<void> => {
          const before = performance.now();
          const params = { query, time: String(end / 1000) };
          const text = await client.ask('/api/v1/query', params, { 'x-svc-pushdown': path });
          times.push(performance.now() - before);
          if (!text.includes('"degraded":false')) throw new Error(`${label}: ${text.slice(0, 300)}`);
        };
        await asked();
        times.length = 0;
        const [theirs, mine] = [await cost(), process.cpuUsage()];
        const repeat = path === 'off' ? Math.min(runs, 5) : runs;
        for (let i = 0; i < repeat; i++) await asked();
        const [after, own] = [await cost(), process.cpuUsage(mine)];
        times.sort((a, b) => a - b);
        const goal = path === 'agg' && agents === 100 ? 1_000 : null;
        report(`${label}/p50`, 'ms', times[times.length >> 1]!, null, null);
        report(`${label}/p95`, 'ms', times[Math.min(times.length - 1, Math.floor(times.length * 0.95))]!, null, goal);
        report(`${label}/bytes`, 'bytes', (after.bytes - theirs.bytes) / repeat, null, null);
        report(`${label}/query-cpu`, 'ms', (own.user + own.system) / 1000 / repeat, null, null);
        report(`${label}/agents-cpu`, 'ms', (after.cpuMs - theirs.cpuMs) / repeat, null, null);
      }
    }
  } finally {
    client.close();
    await server.close();
    child.kill();
  }
}

for (const agents of sizes) await fanOut(agents);
if (flags.only === '' || 'one-agent'.includes(flags.only)) await besidePeer(flags.quick ? 3 : 9);
