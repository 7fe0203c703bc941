import type { Clock } from '../../base/clock.ts';
import type { CaptureMonitorRule } from '../../capture/index.ts';
import type { Identity } from '../identity/identity.ts';
import type { SeriesMapper } from '../mapping/mapper.ts';
import type { CaptureState } from './capture-state.ts';
import { kernelFault } from './kernel-check.ts';
import { listeningPorts } from './listening-ports.ts';
import type { CaptureFacts } from './obstacles.ts';

export interface FactSources {
  readonly settings: { readonly kernelCheck: boolean };
  readonly clock: Clock;
  readonly mapper: SeriesMapper;
  readonly identity: Identity;
  readonly capture: CaptureState;
}

/** What explains why these monitors have no data, gathered from the instrument's own metrics and the node. */
export async function captureFacts(
  idle: readonly CaptureMonitorRule[],
  { settings, clock, mapper, identity, capture }: FactSources,
): Promise<CaptureFacts> {
  const view = capture.instrument;
  const uidOf = (namespace: string, pod: string): string | undefined => identity.pod(namespace, pod)?.uid;
  const uids = idle
    .filter((rule) => rule.ports !== undefined)
    .flatMap((rule) => rule.pods.flatMap((pod) => uidOf(rule.namespace, pod) ?? []));
  const ports = uids.length > 0 ? await listeningPorts(new Set(uids)) : new Map<string, ReadonlySet<number>>();
  return {
    // A file on hold may wait for days: what runs in the meantime is what the controller wants here.
    runningMs: view.up && view.process && !capture.awaitsRestart ? Math.max(0, clock.now() - view.process.startMs) : 0,
    kernel: settings.kernelCheck ? await kernelFault() : null,
    attached: attachedProcesses(mapper),
    unplaced: mapper.unplaced,
    ports: (namespace, pod) => ports.get(uidOf(namespace, pod) ?? '') ?? null,
  };
}

/** Processes that the instrument watches: while it watches none it does not say so, but speaks of itself all the same. */
export function attachedProcesses(mapper: SeriesMapper): number | null {
  const said = instrumentSum(mapper, '_instrumented_processes');
  return said ?? (instrumentSum(mapper, '_internal_build_info') === null ? null : 0);
}

/** A metric of the instrument about itself, summed over its series; the build puts a prefix before. Null for none. */
export function instrumentSum(mapper: SeriesMapper, suffix: string): number | null {
  let sum: number | null = null;
  for (const { name, groups } of mapper.table.families.values()) {
    if (!name.endsWith(suffix)) continue;
    for (const { series } of groups.values()) for (const { total } of series) sum = (sum ?? 0) + total;
  }
  return sum;
}
