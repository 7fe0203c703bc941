import type { RolloutRules } from './compile/types.ts';

/** Where one node stands. Hashes are of whole configs; `yaml` ones of the instrument's file in them. */
export interface RolloutNode {
  name: string;
  desired: { hash: string; yaml: string };
  rules: RolloutRules;
  reachable: boolean;
  /** What the agent holds, as far as known; null = its own seed. */
  held: { hash: string; yaml: string | null } | null;
  /** The agent says that what it holds is Running. */
  running: boolean;
  /** A change of the file was sent and is not Running yet. Units: ms of the monotonic clock. */
  sentAt: number | null;
  /** When a change of ours last made the instrument restart. */
  restartedAt: number | null;
  /** The file that failed here, until another is desired. */
  failedYaml: string | null;
  /** The config that the agent would not take at all. */
  refusedHash: string | null;
}

export type HoldReason = 'MinInterval' | 'Canary' | 'MaxUnavailable' | 'Paused' | 'Failed' | 'Unreachable';

export interface RolloutPlan {
  /** Nodes that get their desired config now. */
  push: string[];
  hold: Map<string, HoldReason>;
  /** When to plan again although nothing has happened. Units: ms of the monotonic clock. */
  wakeAt: number | null;
}

/**
 * Who gets the newest config now. Pure.
 *
 * Rules: a change of the agent's rules alone goes out at once, since it restarts nothing. A change of the file: the
 * first at once, the next ones of a node not before `minIntervalMs` after the last; canary nodes first, the others
 * when these are Running; at most `maxUnavailable` nodes of a group on their way at a time; none where that same file
 * has failed on a node of the group, if `pauseOnFailure`. A file that failed on a node is not sent there again.
 * A node that runs its seed has nothing to lose and does not wait for others.
 */
export function planRollout(nodes: readonly RolloutNode[], now: number): RolloutPlan {
  const plan: RolloutPlan = { push: [], hold: new Map(), wakeAt: null };
  const groups = Map.groupBy(nodes, (n) => n.rules.group);
  for (const group of groups.values()) planGroup(group, now, plan);
  return plan;
}

function planGroup(group: readonly RolloutNode[], now: number, plan: RolloutPlan): void {
  const pending = group.filter((n) => n.held?.hash !== n.desired.hash);
  const changing: RolloutNode[] = [];
  for (const node of pending) {
    const hold = firstHold(node, group, now, plan);
    if (hold) plan.hold.set(node.name, hold);
    else if (node.held === null || node.held.yaml === node.desired.yaml) plan.push.push(node.name);
    else changing.push(node);
  }
  const onTheirWay = group.filter((n) => n.sentAt !== null && n.reachable).length;
  let room = allowance(group) - onTheirWay;
  for (const node of changing.toSorted(canariesFirst)) {
    if (room > 0) {
      plan.push.push(node.name);
      room--;
    } else plan.hold.set(node.name, 'MaxUnavailable');
  }
}

function firstHold(
  node: RolloutNode,
  group: readonly RolloutNode[],
  now: number,
  plan: RolloutPlan,
): HoldReason | null {
  if (!node.reachable) return 'Unreachable';
  if (node.failedYaml === node.desired.yaml || node.refusedHash === node.desired.hash) return 'Failed';
  if (node.held === null || node.held.yaml === node.desired.yaml) return null;
  if (node.rules.pauseOnFailure && group.some((n) => n.failedYaml === node.desired.yaml)) return 'Paused';
  if (node.restartedAt !== null && now < node.restartedAt + node.rules.minIntervalMs) {
    const at = node.restartedAt + node.rules.minIntervalMs;
    plan.wakeAt = Math.min(plan.wakeAt ?? at, at);
    return 'MinInterval';
  }
  const waiting = (n: RolloutNode): boolean =>
    n.rules.canary === true && n.reachable && !(n.running && n.held?.yaml === n.desired.yaml);
  return node.rules.canary === false && group.some(waiting) ? 'Canary' : null;
}

/** Nodes of the group that may be restarting at a time; a share is rounded up, and it is never none. */
function allowance(group: readonly RolloutNode[]): number {
  const limit = group[0]?.rules.maxUnavailable ?? '100%';
  const share = /^([0-9]+)%$/.exec(String(limit));
  return Math.max(1, share ? Math.ceil((Number(share[1]) / 100) * group.length) : Number(limit));
}

function canariesFirst(a: RolloutNode, b: RolloutNode): number {
  return Number(b.rules.canary === true) - Number(a.rules.canary === true) || (a.name < b.name ? -1 : 1);
}
