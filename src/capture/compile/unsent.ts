import { compareText } from '../../base/text/texts.ts';
import type { CaptureMonitorRule } from '../capture-config.ts';
import type { MonitorPlan } from './group.ts';
import type { UnsentExport } from './types.ts';

/**
 * The rules that keep a node's destinations of monitors with unsent data, where no rule of the monitor is `covered`. An
 * agent cannot tell a pod that has left from a destination that was removed: without a rule it deletes the data. `planOf`
 * gives the plan of a monitor on the node, by `<namespace>/<name>`.
 */
export function rulesOfUnsent(
  unsent: readonly UnsentExport[],
  covered: ReadonlySet<string>,
  planOf: (key: string) => MonitorPlan | undefined,
): Omit<CaptureMonitorRule, 'pods'>[] {
  const byOwner = [...Map.groupBy(unsent, ({ owner }) => owner)].toSorted(([a], [b]) => compareText(a, b));
  return byOwner.flatMap(([owner, rows]) => {
    const key = monitorOf(owner);
    const plan = key === null || covered.has(key) ? undefined : planOf(key);
    const exports = plan?.exportRules.filter(({ name }) => rows.some((row) => row.name === name)) ?? [];
    if (!plan || exports.length === 0) return [];
    const { namespace = '', name = '', uid = '' } = plan.monitor.object.metadata;
    return [{ namespace, name, uid, exports }];
  });
}

/** `<namespace>/<name>` of the monitor that owns a destination; null for one of a policy. */
export function monitorOf(owner: string): string | null {
  return owner.startsWith(monitorPrefix) ? owner.slice(monitorPrefix.length) : null;
}

const monitorPrefix = 'TrafficMonitor/';
