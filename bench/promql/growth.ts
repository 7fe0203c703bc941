import { ask, warm } from './ask.ts';
import type { Side } from './compare.ts';
import { cpuOf } from './process-cost.ts';
import { median, report } from './report.ts';

/** Milliseconds of one answer: as the answerer tells it, and of its processor. */
interface Cost {
  readonly evaluation: number;
  readonly cpu: number;
}

/** Cost at 4 and 16 times the series, and the steps, relative to the smallest; the peer's growth beside ours. */
export async function growth(ours: Side, peer: Side, nodes: number, runs: number): Promise<void> {
  const query = (count: number): string => {
    const names = Array.from({ length: count }, (_, i) => `node-${i}`).join('|');
    return `sum by (service_name) (rate(http_server_request_duration_bucket{k8s_node_name=~"${names}"}[5m]))`;
  };
  const cost = async ({ url, pid }: Side, text: string, step: number): Promise<Cost> => {
    const times: number[] = [];
    const before = cpuOf(pid);
    for (let i = 0; i < runs; i++) times.push((await ask(url, 'r_growth', text, step)).evaluation);
    return { evaluation: median(times), cpu: (cpuOf(pid) - before) / runs };
  };
  const biggest = Math.min(16, nodes);
  for (const { url } of [ours, peer]) await warm(url, 'r_growth', query(1));
  for (const [axis, at] of [
    ['series', (times: number) => [query(times), 60]],
    ['steps', (times: number) => [query(biggest), 960 / times]],
  ] as const) {
    const [text, step] = at(1) as [string, number];
    const base = [await cost(ours, text, step), await cost(peer, text, step)] as const;
    for (const times of [4, 16].filter((one) => axis === 'steps' || one <= nodes)) {
      const [more, finer] = at(times) as [string, number];
      const grown = [await cost(ours, more, finer), await cost(peer, more, finer)] as const;
      for (const part of ['evaluation', 'cpu'] as const) {
        const [a, b] = [grown[0][part] / base[0][part], grown[1][part] / base[1][part]];
        report(`growth/${axis}/${times}x/${part}`, 'times', a, b, 1);
      }
    }
  }
}
