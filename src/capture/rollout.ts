import type { RolloutRules } from './compile/types.ts';

/** The state of one node. `hash` is of a whole config, `yamlHash` of the instrument's file in it. */
export interface RolloutNode {
  name: string;
  desired: { hash: string; yamlHash: string };
  rules: RolloutRules;
  reachable: boolean;
  /** This leader still waits for the agent's first status: before that, a restart may be under way unnoticed. */
  unheard: boolean;
  /** The config that the agent has, as far as known; null = its seed, which it uses until a config is pushed. */
  held: { hash: string; yamlHash: string | null } | null;
  /** The instrument may restart for the file that the agent has; false while the node waits for its turn. */
  granted: boolean;
  /** Hash of the file that its instrument runs, as far as known; null while it runs none. */
  runs: string | null;
  /** The running file differs from the desired one in something that concerns the pods of this node. */
  concerned: boolean;
  /** Its instrument is not running at the moment. */
  down: boolean;
  /** Its instrument fails with any file, or its image cannot be pulled. */
  unfit: boolean;
  /** When a changed file was sent that does not run yet; null without one. Units: ms of the monotonic clock. */
  sentAt: number | null;
  /** When a change of ours last restarted the instrument. Units: ms of the monotonic clock. */
  restartedAt: number | null;
  /** From when on the namespaces that were edited may cause a restart again. Units: ms of the monotonic clock. */
  allowedAt: number;
  /** When its agent, which could not write the last config, may be sent one again; else null. Units: ms, monotonic. */
  retryAt: number | null;
  /** Hash of the file that failed here, until another one is desired. */
  failedYamlHash: string | null;
  /** The instrument was unfit before it got that file, and the failure says nothing about the file on other nodes. */
  failedAlone: boolean;
  /** Hash of the config that the agent refused. */
  refusedHash: string | null;
}

export type HoldReason =
  'MinInterval' | 'RestartBudget' | 'Canary' | 'MaxUnavailable' | 'Paused' | 'Failed' | 'Unreachable' | 'Unconcerned';

export interface RolloutPlan {
  /** Nodes that get their desired config now and may restart their instrument for it. */
  push: string[];
  /** Nodes that get their desired config now, and may restart their instrument for it only in a later plan. */
  deliver: string[];
  hold: Map<string, HoldReason>;
  /**
   * When a wait ends: for MinInterval, for RestartBudget, or for the next try on a disk that could not be written.
   * Units: ms of the monotonic clock.
   */
  until: Map<string, number>;
  /** When to plan again if no event comes. Units: ms of the monotonic clock. */
  wakeAt: number | null;
}

/**
 * Decides which nodes get the newest config now, and whose instrument may restart for it. Pure.
 *
 * Rules: a change of only the agent's rules goes out immediately, since it restarts nothing. A changed file of the
 * instrument also goes out immediately, but its restarts are paced: restarts of one node are `minIntervalMs` apart, and
 * at most `maxUnavailable` nodes of a group restart at a time. If there are canary nodes, the others get the file only
 * after the canaries are Running. With `pauseOnFailure` no further node gets a file that failed on a node of the group.
 * A file that failed on a node is not sent there again. A node whose instrument fails with any file gets each file, but
 * takes no place of `maxUnavailable`, and its failure pauses nothing. An agent that could not write a config is sent
 * nothing for a minute. Other nodes wait for such nodes only if they are canaries. A node that runs its seed
 * captures nothing yet and does not wait for others. A node without a pod that the change concerns gets the file, but
 * does not restart until such a pod comes; canaries restart in any case, because the others wait for their result. Edits
 * in a namespace that has used its restart budget are gathered until the namespace may cause the next restart. When a
 * change is reverted before the restart, nothing restarts.
 */
export function planRollout(nodes: readonly RolloutNode[], now: number): RolloutPlan {
  const plan: RolloutPlan = { push: [], deliver: [], hold: new Map(), until: new Map(), wakeAt: null };
  const groups = Map.groupBy(nodes, (n) => n.rules.group);
  for (const group of groups.values()) planGroup(group, now, plan);
  return plan;
}

function planGroup(group: readonly RolloutNode[], now: number, plan: RolloutPlan): void {
  const pending = group.filter((n) => n.held?.hash !== n.desired.hash || !n.granted);
  const changing: RolloutNode[] = [];
  const seen: Seen = {
    failed: new Set(group.flatMap((n) => (n.failedAlone ? [] : (n.failedYamlHash ?? [])))),
    waiting: group.some((n) => n.rules.canary === true && (n.reachable || n.unheard) && n.runs !== n.desired.yamlHash),
  };
  const wait = (node: RolloutNode, hold: HoldReason): void => {
    plan.hold.set(node.name, hold);
    const paced = pacing.has(hold);
    if (paced && node.held?.hash !== node.desired.hash) plan.deliver.push(node.name);
  };
  for (const node of pending) {
    const hold = firstHold(node, seen, now, plan);
    if (hold) wait(node, hold);
    else if (restartsNothing(node)) plan.push.push(node.name);
    else changing.push(node);
  }
  // Unavailable nodes: down, restarting (also for an earlier leader), or without a first status, so perhaps restarting.
  // An unfit one does not count: no restart of ours made it unavailable, and its outage may have no end.
  const onTheirWay = group.filter(
    (n) => n.unheard || ((n.sentAt !== null || n.down) && n.reachable && !n.unfit),
  ).length;
  let room = allowance(group) - onTheirWay;
  for (const node of changing.toSorted(canariesFirst)) {
    if (room > 0) {
      plan.push.push(node.name);
      room--;
    } else wait(node, 'MaxUnavailable');
  }
}

/** The node runs its seed, or holds the desired file already and may restart for it. */
function changesNothing(node: RolloutNode): boolean {
  return node.held === null || (node.held.yamlHash === node.desired.yamlHash && node.granted);
}

/** Sending the file adds no restart: an instrument that is down, or restarts for an earlier file, starts only once. */
function restartsNothing(node: RolloutNode): boolean {
  return changesNothing(node) || node.sentAt !== null || node.down;
}

/** What has to be known of a group to decide for each of its nodes. */
interface Seen {
  failed: ReadonlySet<string>;
  /** A canary does not run its new file yet. */
  waiting: boolean;
}

function firstHold(node: RolloutNode, seen: Seen, now: number, plan: RolloutPlan): HoldReason | null {
  if (!node.reachable) return 'Unreachable';
  if (node.retryAt !== null && now < node.retryAt) return heldUntil(node, node.retryAt, 'Failed', plan);
  if (node.failedYamlHash === node.desired.yamlHash || node.refusedHash === node.desired.hash) return 'Failed';
  if (changesNothing(node)) return null;
  if (node.rules.pauseOnFailure && seen.failed.has(node.desired.yamlHash)) return 'Paused';
  // Checked before the pacing: a file that waits only for its restart is delivered; one that canaries are still trying
  // is not.
  if (node.rules.canary === false && seen.waiting) return 'Canary';
  if (node.sentAt !== null && now < node.allowedAt) return heldUntil(node, node.allowedAt, 'RestartBudget', plan);
  if (restartsNothing(node)) return null;
  if (node.runs === node.desired.yamlHash) return 'Unconcerned';
  if (!node.concerned && node.rules.canary !== true) return 'Unconcerned';
  const spacedAt = (node.restartedAt ?? -Infinity) + node.rules.minIntervalMs;
  const at = Math.max(spacedAt, node.allowedAt);
  return now >= at ? null : heldUntil(node, at, spacedAt < node.allowedAt ? 'RestartBudget' : 'MinInterval', plan);
}

function heldUntil(node: RolloutNode, at: number, hold: HoldReason, plan: RolloutPlan): HoldReason {
  plan.until.set(node.name, at);
  plan.wakeAt = Math.min(plan.wakeAt ?? at, at);
  return hold;
}

/** A node that waits for one of these reasons gets the file immediately; only the restart waits. */
const pacing: ReadonlySet<HoldReason> = new Set(['MinInterval', 'RestartBudget', 'MaxUnavailable', 'Unconcerned']);

/** Number of nodes of the group that may restart at a time; a percentage is rounded up and is at least one. */
function allowance(group: readonly RolloutNode[]): number {
  const limit = group[0]?.rules.maxUnavailable ?? '100%';
  const share = /^([0-9]+)%$/.exec(String(limit));
  return Math.max(1, share ? Math.ceil((Number(share[1]) * group.length) / 100) : Number(limit));
}

function canariesFirst(a: RolloutNode, b: RolloutNode): number {
  return Number(b.rules.canary === true) - Number(a.rules.canary === true) || (a.name < b.name ? -1 : 1);
}
