import { cutToUnits } from '../../base/text/texts.ts';
import type { Condition, ConditionStatus } from '../../api/meta.ts';

/** A condition as a controller states it; generation and time are added when it is merged. */
export interface ConditionInput {
  type: string;
  status: ConditionStatus;
  reason: string;
  message: string;
}

/** Longest message of a condition that the API server accepts (metav1.Condition). Units: characters. */
const maxMessage = 32_768;

/**
 * Merges wanted conditions into those an object has: `lastTransitionTime` moves only where `status` changed, the order
 * of existing ones stays, types that are not wanted are dropped. Pure; the input is not changed.
 * Units: `now` in ms since the epoch; times in the result are RFC 3339 with whole seconds, as metav1.Time.
 */
export function mergeConditions(
  existing: readonly Condition[] | undefined,
  wanted: readonly ConditionInput[],
  meta: { generation: number; now: number },
): Condition[] {
  const before = new Map((existing ?? []).map((c) => [c.type, c]));
  const byType = new Map(wanted.map((c) => [c.type, c]));
  const order = [
    ...[...before.keys()].filter((t) => byType.has(t)),
    ...[...byType.keys()].filter((t) => !before.has(t)),
  ];
  return order.map((type) => {
    const next = byType.get(type)!;
    const old = before.get(type);
    return {
      type,
      status: next.status,
      reason: next.reason,
      message: cutToUnits(next.message, maxMessage),
      observedGeneration: meta.generation,
      lastTransitionTime: old?.status === next.status ? old.lastTransitionTime : rfc3339(meta.now),
    };
  });
}

/** The condition of a type, or undefined. */
export function findCondition<T extends { type: string }>(
  conditions: readonly T[] | undefined,
  type: string,
): T | undefined {
  return conditions?.find((c) => c.type === type);
}

/** True when the condition exists and is True. */
export function isTrue(
  conditions: readonly { type: string; status: ConditionStatus }[] | undefined,
  type: string,
): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/**
 * The `Ready` condition of an object: the first of `order` that is False gives its reason and message; else the first
 * that is Unknown makes it Unknown; else True. An absent type counts as True.
 */
export function summarizeReady(
  conditions: readonly ConditionInput[],
  order: readonly string[],
  ready: { reason: string; message: string },
): ConditionInput {
  for (const status of ['False', 'Unknown'] as const) {
    for (const type of order) {
      const condition = findCondition(conditions, type);
      if (condition?.status === status) {
        return { type: 'Ready', status, reason: condition.reason, message: condition.message };
      }
    }
  }
  return { type: 'Ready', status: 'True', ...ready };
}

/**
 * The conditions of kstatus that are True only when something is not normal: `Reconciling` while work is in progress,
 * `Stalled` when only a change of the object can help.
 * Returns at most one of them, `Stalled` if both apply. `mergeConditions` removes from the object what is not returned.
 */
export function progressConditions(state: {
  reconciling?: { reason: string; message: string } | undefined;
  stalled?: { reason: string; message: string } | undefined;
}): ConditionInput[] {
  if (state.stalled) return [{ type: 'Stalled', status: 'True', ...state.stalled }];
  if (state.reconciling) return [{ type: 'Reconciling', status: 'True', ...state.reconciling }];
  return [];
}

/** A condition that appeared, or whose status or reason changed; the source of Events. */
export interface ConditionTransition {
  before: Condition | undefined;
  after: Condition;
}

/** The changes between two sets of conditions, in the order of the later set. A new message alone is no change. */
export function conditionTransitions(
  before: readonly Condition[] | undefined,
  after: readonly Condition[],
): ConditionTransition[] {
  return after
    .map((condition) => ({ before: findCondition(before, condition.type), after: condition }))
    .filter((t) => t.before?.status !== t.after.status || t.before.reason !== t.after.reason);
}

/** Time as metav1.Time writes it: `2026-01-02T03:04:05Z`. */
export function rfc3339(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
