import type { Stage } from '../run/bench.ts';
import { inTurns } from '../run/turns.ts';
import { warm } from './ask.ts';
import { cost } from './compare.ts';
import type { Side } from './sides.ts';

export interface GrowthOptions {
  readonly ours: Side;
  readonly peer: Side;
  /** The number of nodes in the data. */
  readonly nodes: number;
  readonly cores: string;
}

/**
 * Measures on both sides how the CPU time of a range query grows with series and steps. Each figure is relative to the
 * CPU time of the smallest query.
 */
export async function growth({ runs, say, reporter }: Stage, options: GrowthOptions): Promise<void> {
  const { ours, peer, nodes, cores } = options;
  const query = (count: number): string => {
    const names = Array.from({ length: count }, (_, i) => `node-${i}`).join('|');
    return `sum by (service_name) (rate(http_server_request_duration_bucket{k8s_node_name=~"${names}"}[5m]))`;
  };
  const sizes = [1, 4, 16].filter((times) => times <= nodes);
  const [most] = sizes.slice(-1);
  /** The query and its step in seconds at `times` times the smallest size. */
  const axes = {
    series: (times: number) => [query(times), 60],
    steps: (times: number) => [query(most!), 960 / times],
  } as const satisfies Record<string, (times: number) => readonly [string, number]>;
  say(`growth: ${sizes.join(', ')} times the series and steps`);
  for (const { url } of [ours, peer]) await warm(url, 'r_growth', query(1));
  const report = reporter({ cores, caches: 'warm; files in the page cache' });
  for (const [axis, at] of Object.entries(axes)) {
    const turn = (side: Side) => async (): Promise<number[]> => {
      const costs: number[] = [];
      for (const times of sizes) costs.push((await cost(side, 'r_growth', ...at(times))).cpu);
      return costs.map((cpu) => cpu / costs[0]!);
    };
    const turns = await inTurns(runs, { ours: turn(ours), peer: turn(peer) });
    for (const [i, times] of sizes.entries()) {
      if (i === 0) continue;
      report({
        name: `growth/${axis}/${times}-times/cpu`,
        unit: 'times',
        ours: turns.ours.map((grown) => grown[i]!),
        peer: turns.peer.map((grown) => grown[i]!),
        goal: { of: 'ratio', atMost: 1 },
      });
    }
  }
}
