/**
 * One question to many agents, by each path of execution; one agent beside a Prometheus; fifty clients for five
 * minutes, and before that what they ask one by one:
 *   node bench/query.ts [--quick] [--only fanout/100-agents/topk | one-agent | mix | clients]
 * `--seconds N` shortens the last part, `--profile DIR` writes CPU profiles of the query server there.
 * One JSON line for each figure on stdout: {name, unit, ours, peer, ratio, goal, met}; progress on stderr.
 * Agents are stand-ins in one process (bench/query/agents.ts says what of them is simulated); the query server's part
 * is the real one: discovery list, mutual TLS to every agent, decoding, merging, JSON. Client, server and
 * agents are processes of their own. Then one agent's data in a real Prometheus, asked over HTTP, beside ours: an agent
 * and a query server over HTTPS; once with all 9,300 series of the baseline, once with 465 of them.
 */
import { parseArgs } from 'node:util';
import { end } from './query/data.ts';
import { eachAlone } from './query/alone.ts';
import { manyClients } from './query/clients.ts';
import { besidePeer } from './query/peer.ts';
import { report } from './query/report.ts';
import { withAgents } from './query/stage.ts';

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    seconds: { type: 'string', default: '' },
    profile: { type: 'string', default: '' },
  },
});
const sizes = flags.quick ? [3, 10] : [20, 100];
const series = flags.quick ? 2_000 : 22_000;
const runs = flags.quick ? 5 : 20;
const seconds = Number(flags.seconds || (flags.quick ? 10 : 300));
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

/** What the query server spent on each query over fewer agents. */
const pushed = new Map<string, { agents: number; cpu: number }>();

async function fanOut(agents: number): Promise<void> {
  await withAgents({ agents, series, profile: flags.profile }, async ({ fleet, server, client }) => {
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
        // Raw chunks of all agents are slow whatever the compiler has seen.
        for (let i = 0; i < (path === 'off' ? 1 : 5); i++) await asked();
        times.length = 0;
        const [theirs, mine] = [await fleet.cost(), await server.cost()];
        const repeat = path === 'off' ? Math.min(runs, 5) : runs;
        for (let i = 0; i < repeat; i++) await asked();
        const [after, own] = [await fleet.cost(), await server.cost()];
        times.sort((a, b) => a - b);
        const goal = path === 'agg' && agents === 100 ? 1_000 : null;
        report(`${label}/p50`, 'ms', times[times.length >> 1]!, null, null);
        report(`${label}/p95`, 'ms', times[Math.min(times.length - 1, Math.floor(times.length * 0.95))]!, null, goal);
        report(`${label}/bytes`, 'bytes', (after.bytes - theirs.bytes) / repeat, null, null);
        const cpu = (own.cpuMs - mine.cpuMs) / repeat;
        report(`${label}/query-cpu`, 'ms', cpu, null, null);
        report(`${label}/agents-cpu`, 'ms', (after.cpuMs - theirs.cpuMs) / repeat, null, null);
        const fewer = pushed.get(name);
        if (path !== 'agg') continue;
        pushed.set(name, { agents, cpu });
        // Times the agents, the query server's cost may grow by as much.
        if (fewer) report(`fanout/${name}/growth-of-query-cpu`, 'ratio', cpu / fewer.cpu, null, agents / fewer.agents);
      }
    }
  });
}

const wanted = (name: string): boolean =>
  flags.only === '' || name.startsWith(flags.only) || flags.only.startsWith(name);
for (const agents of sizes) if (wanted(`fanout/${agents}-agents`)) await fanOut(agents);
if (wanted('one-agent')) {
  // All of the baseline's data; then a twentieth, where what a query costs beside its samples is most of it.
  const oneRuns = flags.quick ? 3 : 9;
  await besidePeer({ nodes: flags.quick ? 4 : 20, runs: oneRuns, profile: flags.profile });
  await besidePeer({ nodes: 1, runs: oneRuns });
}
const kept = { agents: flags.quick ? 3 : 20, series, keep: true, profile: flags.profile };
if (wanted('mix')) await withAgents(kept, eachAlone);
if (wanted('clients')) {
  // Twenty nodes' work on one core would measure that core.
  await withAgents(kept, ({ fleet, server, ca }) =>
    manyClients({ clients: 50, seconds, port: server.started.port, ca, server, fleet }),
  );
}
