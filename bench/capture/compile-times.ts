import { compile } from '../../src/capture/compile/compile.ts';
import { Memo } from '../../src/capture/compile/memo.ts';
import type { CompileInput } from '../../src/capture/compile/types.ts';
import { aMonitor, aNamespace, aPod } from '../../src/testing/capture/world.ts';

type Emit = (name: string, unit: string, ours: number, goal: number | null) => void;

/**
 * One edited monitor, one that came or went, and one pod, each compiled after the other with what the one before left,
 * beside a compile from scratch. Twenty monitors and fifteen pods per node and namespace, as a busy cluster has them.
 */
export function compileTimes({ monitors, nodes }: { monitors: number; nodes: number }, emit: Emit): void {
  const namespaces = Array.from({ length: monitors / 10 }, (_, i) => aNamespace(`team-${i}`));
  const monitor = (i: number, port: number, generation: number) =>
    aMonitor(
      `team-${Math.floor(i / 10)}/m${i}`,
      { selector: { matchLabels: { app: `app-${i % 10}` } }, ports: [{ port }], http: { routes: [`/r${i}/{id}`] } },
      { generation },
    );
  const pods = Array.from({ length: nodes * 15 }, (_, i) =>
    aPod(`team-${i % namespaces.length}/app-${i % 10}-${i}`, `node-${i % nodes}`, { labels: { app: `app-${i % 10}` } }),
  );
  const base: CompileInput = {
    environment: { instrumentVersion: 'v0.10.0', ports: '80,443' },
    policies: [],
    monitors: Array.from({ length: monitors }, (_, i) => monitor(i, 8_080, 1)),
    namespaces,
    nodes: Array.from({ length: nodes }, (_, i) => ({ name: `node-${i}`, labels: {} })),
    pods,
  };
  const edited = (i: number): CompileInput => ({
    ...base,
    monitors: base.monitors.with(i, monitor(i, 9_000 + i, 2)),
  });
  const memo = new Memo();
  compile(base, memo);
  const work = `capture/compile/${monitors}-monitors-${nodes}-nodes`;
  emit(
    `${work}/one-edit`,
    'ms',
    median(15, (i) => compile(edited(i * 7), memo)),
    null,
  );
  const moved = (i: number): CompileInput => ({ ...base, pods: pods.with(i, { ...pods[i]!, nodeName: 'node-0' }) });
  emit(
    `${work}/one-pod`,
    'ms',
    median(15, (i) => compile(moved(i * 11 + 1), memo)),
    null,
  );
  emit(
    `${work}/nothing`,
    'ms',
    median(15, () => compile(base, memo)),
    null,
  );
  emit(
    `${work}/from-scratch`,
    'ms',
    median(5, (i) => compile(edited(i))),
    null,
  );
}

function median(times: number, run: (i: number) => unknown): number {
  const taken = Array.from({ length: times }, (_, i) => {
    const started = performance.now();
    run(i);
    return performance.now() - started;
  });
  return taken.toSorted((a, b) => a - b)[Math.floor(times / 2)]!;
}
