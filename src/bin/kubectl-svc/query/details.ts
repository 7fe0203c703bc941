import type { ApiAnswer } from '../connect/prometheus.ts';

interface Explained {
  path: string;
  fallbacks: { from: string; to: string; node: string | null; reason: string }[];
  plan: string[];
  fragments: { nodes: { node?: string; elapsedMs?: number }[] }[];
}

interface Stats {
  timings?: Record<string, number>;
  samples?: Record<string, number>;
}

/** What `--explain` and `--stats` add to an answer, for reading. Pure. */
export function detailLines({ explain, data }: ApiAnswer): string[] {
  const { stats } = data as { stats?: Stats };
  return [...(explain === undefined ? [] : explainLines(explain as Explained)), ...(stats ? statsLines(stats) : [])];
}

function explainLines({ path, fallbacks, plan, fragments }: Explained): string[] {
  const nodes = new Map<string, number>();
  for (const { node = '?', elapsedMs = 0 } of fragments.flatMap((fragment) => fragment.nodes))
    nodes.set(node, Math.max(nodes.get(node) ?? 0, elapsedMs));
  return [
    `executed: ${path}`,
    ...fallbacks.map(
      ({ from, to, node, reason }) => `not ${from} but ${to}: ${node === null ? '' : `${node}: `}${reason}`,
    ),
    ...plan.map((line) => `  ${line}`),
    ...[...nodes].map(([node, ms]) => `  ${node}: ${ms} ms`),
  ];
}

function statsLines({ timings = {}, samples = {} }: Stats): string[] {
  const seconds = Object.entries(timings).map(([name, value]) => `${name} ${(value * 1000).toFixed(1)} ms`);
  const counts = Object.entries(samples).flatMap(([name, value]) =>
    typeof value === 'number' ? [`${name} ${value}`] : [],
  );
  return [...seconds, ...counts].map((line) => `stats: ${line}`);
}
