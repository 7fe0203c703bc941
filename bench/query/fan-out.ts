import type { Stage } from '../run/bench.ts';
import { median } from '../run/spread.ts';
import { agentCaches, type QueryStage } from './stage.ts';

const count = 'http_server_request_duration_count';
export const queries: Readonly<Record<string, string>> = {
  'sum-rate': `sum by (k8s_namespace_name, service_name) (rate(${count}[5m]))`,
  'histogram-quantile':
    'histogram_quantile(0.99, sum by (le, service_name) (rate(http_server_request_duration_bucket[5m])))',
  topk: 'topk(10, sum by (k8s_src_owner_name, k8s_dst_owner_name) (rate(ebpf_network_flow_bytes[5m])))',
  raw: `${count}{service_name="app-1"}`,
};

/** The ways to execute a query, by the value of the header `x-svc-pushdown` that forces each. */
const ways = { agg: 'pushdown', series: 'series', off: 'chunks' } as const;
/**
 * With more agents than this, `series` and `chunks` are measured for the query `raw` only: the query server answers the
 * other queries by pushdown.
 */
const mostRawAgents = 20;
const warmAnswers = 5;
/** The product's goal for a hundred agents: one second. */
const goal = { of: 'ours', atMost: 1_000 } as const;

interface Answered {
  readonly ms: number;
  readonly bytes: number;
  readonly queryCpuMs: number;
  readonly agentsCpuMs: number;
}

/**
 * Measures queries over many agents by each way of execution. A run gives the median time of some answers, and their
 * mean cost.
 */
export async function fanOut(stage: Stage, on: QueryStage, options: { agents: number; only: string }): Promise<void> {
  const { agents, only } = options;
  const answers = stage.quick ? 2 : 8;
  const report = stage.reporter({ cores: on.cores, caches: agentCaches });
  for (const [name, query] of Object.entries(queries)) {
    for (const [header, way] of Object.entries(ways)) {
      const label = `fanout/${agents}-agents/${name}/${way}`;
      if (!label.includes(only) || (way !== 'pushdown' && agents > mostRawAgents && name !== 'raw')) continue;
      stage.say(label);
      const ask = async (): Promise<number> => {
        const before = performance.now();
        const params = { query, time: String(on.end / 1000) };
        const text = await on.client.ask('/api/v1/query', params, { 'x-svc-pushdown': header });
        if (!text.includes('"degraded":false')) throw new Error(`${label}: ${text.slice(0, 300)}`);
        return performance.now() - before;
      };
      for (let i = 0; i < warmAnswers; i++) await ask();
      const runs: Answered[] = [];
      for (let run = 0; run < stage.runs; run++) runs.push(await measure(on, ask, answers));
      const emit = (figure: string, unit: string, of: keyof Answered): void =>
        report({
          name: `${label}/${figure}`,
          unit,
          ours: runs.map((one) => one[of]),
          ...(figure === 'time' && way === 'pushdown' && agents === 100 ? { goal } : {}),
        });
      emit('time', 'ms', 'ms');
      emit('bytes-from-agents', 'B', 'bytes');
      emit('query-cpu', 'ms', 'queryCpuMs');
      emit('agents-cpu', 'ms', 'agentsCpuMs');
    }
  }
}

async function measure({ fleet, server }: QueryStage, ask: () => Promise<number>, answers: number): Promise<Answered> {
  const before = { agents: await fleet.cost(), query: await server.cost() };
  const times: number[] = [];
  for (let i = 0; i < answers; i++) times.push(await ask());
  const after = { agents: await fleet.cost(), query: await server.cost() };
  return {
    ms: median(times),
    bytes: (after.agents.bytes - before.agents.bytes) / answers,
    queryCpuMs: (after.query.cpuMs - before.query.cpuMs) / answers,
    agentsCpuMs: (after.agents.cpuMs - before.agents.cpuMs) / answers,
  };
}
