import { cutToUnits } from '../../base/text/texts.ts';
import type { ClusterTrafficPolicy, TrafficMonitor } from '../../api/v1alpha1/index.ts';
import { generationKey, generationOf } from '../../capture/index.ts';
import { progressConditions, type ConditionInput } from '../../runtime/index.ts';
import type { Refusal } from '../refusal.ts';
import type { NodeState } from './node-state.ts';

/** A row of `status.failedNodes`. */
export interface FailedNode {
  name: string;
  reason: string;
  message: string;
}

export interface Programmed {
  desired: number;
  updated: number;
  failed: number;
  condition: ConditionInput;
  /** At most 16 rows: failed nodes before unreachable ones, then by name. `failed` counts all failed nodes. */
  failedNodes: FailedNode[];
  /** Number of failed and unreachable nodes that have no row. */
  unnamed: number;
}

/** Reasons of `Programmed` that pass by themselves. */
const moving: ReadonlySet<string> = new Set(['RollingOut', 'NodesUnreachable', 'RestartsLimited', 'RestartBackOff']);

/** Maximum number of rows that a status shows. */
const maxRows = 16;

/**
 * How far the rollout of an object's generation is on the nodes that should run it. Pure.
 * Nodes that are not Ready do not count: their config is unknown, and they get no pushes.
 */
export function programmed(object: TrafficMonitor | ClusterTrafficPolicy, nodes: readonly NodeState[]): Programmed {
  const [key, generation] = [generationKey(object), object.metadata.generation ?? 0];
  const desired = nodes.filter((n) => n.ready);
  const runs = (n: NodeState): boolean => (generationOf(n.runningGenerations ?? {}, key) ?? -1) >= generation;
  const behind = desired.filter((n) => !runs(n));
  const failed = behind.filter((n) => n.trouble !== null).toSorted(byName);
  // A node that has not been contacted yet does not count as unreachable.
  const silent = behind.filter((n) => n.trouble === null && !n.reachable && n.error !== null).toSorted(byName);
  const rows = [
    ...failed.map((n) => ({ name: n.name, reason: n.trouble!.reason, message: n.trouble!.message })),
    ...silent.map((n) => ({
      name: n.name,
      reason: 'Unreachable',
      message: n.error ?? 'the agent has not answered yet',
    })),
  ];
  const updated = desired.length - behind.length;
  return {
    desired: desired.length,
    updated,
    failed: failed.length,
    failedNodes: rows.slice(0, maxRows).map((r) => ({ ...r, message: cutToUnits(r.message, 1024) })),
    unnamed: Math.max(0, rows.length - maxRows),
    condition: {
      type: 'Programmed',
      ...verdict(generation, desired.length, updated, { known: nodes, ready: desired, failed, silent, behind }, rows),
    },
  };
}

function verdict(
  generation: number,
  desired: number,
  updated: number,
  nodes: {
    known: readonly NodeState[];
    ready: readonly NodeState[];
    failed: NodeState[];
    silent: NodeState[];
    behind: NodeState[];
  },
  rows: readonly FailedNode[],
): Omit<ConditionInput, 'type'> {
  const counted = desired > 0 ? gapText(nodes.ready) : noneText(nodes.known.length);
  const progress = `${updated}/${desired} nodes run generation ${generation}${counted}`;
  const rest = rows.slice(0, 3).map((r) => cutToUnits(`${r.name}: ${r.reason} ${r.message}`, 200));
  const more = rows.length - rest.length;
  const message = [progress, ...rest, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
  if (nodes.behind.length === 0) return { status: 'True', reason: 'Programmed', message: progress };
  const paused = nodes.behind.filter((n) => n.hold === 'Paused');
  if (paused.length > 0) {
    return { status: 'False', reason: 'RolloutPaused', message: `${message}; ${paused.length} nodes wait behind it` };
  }
  if (nodes.failed.length > 0) return { status: 'False', reason: 'NodesFailed', message };
  if (nodes.silent.length > 0) return { status: 'False', reason: 'NodesUnreachable', message };
  for (const { name, wait } of nodes.behind) {
    if (wait) return { status: 'False', reason: wait.reason, message: `${message}; ${name}: ${wait.message}` };
  }
  const limited = nodes.behind.filter((n) => n.hold === 'RestartBudget');
  if (limited.length > 0) {
    const names = [...new Set(limited.flatMap((n) => [...n.restartCauses]))].toSorted().slice(0, 5).join(', ');
    const words = `edits of namespace ${names} are gathered: it has restarted the instrument often`;
    return { status: 'False', reason: 'RestartsLimited', message: `${message}; ${words}${untilText(limited)}` };
  }
  const spaced = nodes.behind.filter((n) => n.hold === 'MinInterval');
  const gathered = spaced.length > 0 ? `; rollout.minInterval gathers edits${untilText(spaced)}` : '';
  return { status: 'False', reason: 'RollingOut', message: `${message}${gathered}` };
}

const byName = (a: NodeState, b: NodeState): number => (a.name < b.name ? -1 : 1);

/** Why no node counts, where so many are in scope. */
function noneText(inScope: number): string {
  return inScope === 0 ? '; no node is in scope' : `; none of the ${inScope} nodes in scope is Ready`;
}

/** When the instruments of these nodes may restart, as text. */
function untilText(nodes: readonly NodeState[]): string {
  const times = nodes.flatMap(({ waitsUntil }) => waitsUntil ?? []).toSorted((a, b) => a - b);
  const [next, last] = [times[0], times.at(-1)].map((ms) => ms && new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z'));
  if (!next) return '';
  return `, the next restart is at ${next}${last === next ? '' : `, the last at ${last}`}`;
}

/** How long the newest restarts interrupted capture; empty when no restart was seen. */
function gapText(nodes: readonly NodeState[]): string {
  const gaps = nodes.flatMap((n) => n.status?.instrument.gapMs || []);
  if (gaps.length === 0) return '';
  const longest = `${(Math.max(...gaps) / 1_000).toFixed(1)} s`;
  return gaps.length === 1
    ? `; the newest restart paused capture for ${longest}`
    : `; the newest restarts of ${gaps.length} nodes paused capture for ${longest} at the most`;
}

/** The compiler's verdict on a monitor or a policy. */
interface Judged {
  accepted: { ok: boolean; reason: string; message: string };
  inForce: object | null;
}

/** `Accepted` and `Programmed` of an object: a spec that is refused is programmed nowhere. */
export function acceptance({ accepted, inForce }: Judged, { condition }: Programmed): ConditionInput[] {
  const { ok, reason, message } = accepted;
  const fallback = !ok && inForce ? '; the last accepted spec stays in force' : '';
  return [
    { type: 'Accepted', status: ok ? 'True' : 'False', reason, message: message + fallback },
    ok
      ? condition
      : { type: 'Programmed', status: 'False', reason: 'RollingOut', message: 'this generation is not accepted' },
  ];
}

/** kstatus' conditions of an object; `trouble` tells why objects of agents or query server cannot be applied. */
export function progressOf({ accepted }: Judged, { condition }: Programmed, trouble?: Refusal): ConditionInput[] {
  const isMoving = condition.status === 'False' && moving.has(condition.reason);
  const retrying = trouble && !trouble.stalled ? { reason: 'Retrying', message: trouble.message } : undefined;
  const stalled = trouble?.stalled ? { reason: trouble.reason, message: trouble.message } : undefined;
  return progressConditions({
    stalled: accepted.ok ? stalled : { reason: 'Invalid', message: accepted.message },
    reconciling: retrying ?? (isMoving ? { reason: 'Progressing', message: condition.message } : undefined),
  });
}
