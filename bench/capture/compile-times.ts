import { compile, Compiler } from '../../src/capture/compile/compile.ts';
import type { CompileInput } from '../../src/capture/compile/types.ts';
import type { Stage } from '../run/bench.ts';
import { allCores } from '../run/cores.ts';
import { aMonitor, aNamespace, aPod } from '../../src/testing/capture/world.ts';

/**
 * Times compiles that reuse results of the previous compile: after one edited monitor, after one moved pod, and without
 * a change. Then times compiles from scratch. There are ten monitors a namespace and fifteen pods a node, as in a busy
 * cluster.
 */
export function compileTimes(
  { runs, say, reporter }: Stage,
  { monitors, nodes }: { monitors: number; nodes: number },
): void {
  say(`compiling ${monitors} monitors for ${nodes} nodes`);
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
  const compiler = new Compiler();
  compiler.compile(base);
  const moved = (i: number): CompileInput => ({ ...base, pods: pods.with(i, { ...pods[i]!, nodeName: 'node-0' }) });
  const cores = allCores('the compile, in the process of the benchmark');
  const emit = (figure: string, caches: string, ours: readonly number[]): void =>
    reporter({ cores, caches })({
      name: `capture/compile/${monitors}-monitors-${nodes}-nodes/${figure}`,
      unit: 'ms',
      ours,
    });
  const kept = 'warm: what the compile before left';
  const some = (run: (i: number) => unknown): number[] => times(runs, run);
  emit(
    'one-edit',
    kept,
    some((i) => compiler.compile(edited((i * 7) % monitors))),
  );
  emit(
    'one-pod',
    kept,
    some((i) => compiler.compile(moved((i * 11 + 1) % pods.length))),
  );
  emit(
    'nothing',
    kept,
    some(() => compiler.compile(base)),
  );
  emit(
    'from-scratch',
    'cold: nothing kept; code compiled',
    times(runs, (i) => compile(edited(i))),
  );
}

/** The duration of each run. Units: ms. */
function times(count: number, run: (i: number) => unknown): number[] {
  return Array.from({ length: count }, (_, i) => {
    const started = performance.now();
    run(i);
    return performance.now() - started;
  });
}
