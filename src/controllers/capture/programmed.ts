import type { ConditionInput } from '../../runtime/index.ts';
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
  /** At most 16, by name; `failed` is exact. */
  failedNodes: FailedNode[];
}

/** Rows that a status shows. */
const maxRows = 16;

/**
 * How far one generation of an object has come on the nodes that should run it. Pure.
 * `ref` is the object's name in the generations of a config. Nodes that are not Ready do not count: nobody can say
 * what they run, and they are not served either.
 */
export function programmed(ref: string, generation: number, nodes: readonly NodeState[]): Programmed {
  const desired = nodes.filter((n) => n.ready);
  const runs = (n: NodeState): boolean => (n.runningGenerations?.[ref] ?? -1) >= generation;
  const behind = desired.filter((n) => !runs(n));
  const failed = desired.filter((n) => n.failure !== null && !runs(n));
  // A node that has not been asked yet is no silent one.
  const silent = behind.filter((n) => n.failure === null && !n.reachable && n.error !== null);
  const rows = [
    ...failed.map((n) => ({ name: n.name, reason: n.failure!.reason, message: n.failure!.message })),
    ...silent.map((n) => ({
      name: n.name,
      reason: 'Unreachable',
      message: n.error ?? 'the agent has not answered yet',
    })),
  ].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const updated = desired.length - behind.length;
  return {
    desired: desired.length,
    updated,
    failed: failed.length,
    failedNodes: rows.slice(0, maxRows).map((r) => ({ ...r, message: r.message.slice(0, 1024) })),
    condition: {
      type: 'Programmed',
      ...verdict(generation, desired.length, updated, { failed, silent, behind }, rows),
    },
  };
}

function verdict(
  generation: number,
  desired: number,
  updated: number,
  nodes: { failed: NodeState[]; silent: NodeState[]; behind: NodeState[] },
  rows: readonly FailedNode[],
): Omit<ConditionInput, 'type'> {
  const progress = `${updated}/${desired} nodes run generation ${generation}`;
  const rest = rows.slice(0, 3).map((r) => `${r.name}: ${r.reason} ${r.message}`.slice(0, 200));
  const message = [progress, ...rest].join('; ');
  if (nodes.behind.length === 0) return { status: 'True', reason: 'Programmed', message: progress };
  const paused = nodes.behind.filter((n) => n.hold === 'Paused');
  if (paused.length > 0) {
    return { status: 'False', reason: 'RolloutPaused', message: `${message}; ${paused.length} nodes wait behind it` };
  }
  if (nodes.failed.length > 0) return { status: 'False', reason: 'NodesFailed', message };
  if (nodes.silent.length > 0) return { status: 'False', reason: 'NodesUnreachable', message };
  return { status: 'False', reason: 'RollingOut', message };
}
