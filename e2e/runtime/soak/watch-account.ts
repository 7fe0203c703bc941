import type { StoredWrite } from './storage-history.ts';

/**
 * The resource versions between the end of a watch and the list that followed: no watch could show the writes with
 * these versions.
 */
export interface Gap {
  /** The last version that the watch had shown. */
  from: number;
  /** The version of the list. */
  to: number;
}

export interface Account {
  /** Writes that a watch should have shown. */
  due: number;
  /** Due writes that no watch showed: silent losses. */
  lost: StoredWrite[];
  /** Writes that fell into gaps. */
  inGaps: number;
  /**
   * Number of objects that differ before and after a gap. The list after the gap shows that they differ, and the metric
   * of missed changes must count them. An object that was created and deleted within one gap does not differ.
   */
  changedByGaps: number;
}

/**
 * Compares the events that listeners of a watched kind got with the writes that were stored. Pure.
 *
 * `writes`: in the order of their revisions. `since`: the version of the first list, which contained all older writes.
 * `shown`: `name@revision` of every event that a watch sent to the listeners.
 */
export function account(
  writes: readonly StoredWrite[],
  since: number,
  gaps: readonly Gap[],
  shown: ReadonlySet<string>,
): Account {
  const within = (revision: number, gap: Gap): boolean => revision > gap.from && revision <= gap.to;
  const due = writes.filter(({ revision }) => revision > since && !gaps.some((gap) => within(revision, gap)));
  return {
    due: due.length,
    lost: due.filter(({ name, revision }) => !shown.has(`${name}@${revision}`)),
    inGaps: writes.filter(({ revision }) => gaps.some((gap) => within(revision, gap))).length,
    changedByGaps: gaps.reduce((sum, gap) => sum + changes(writes, gap), 0),
  };
}

/** Objects that differ between the two ends of a gap. */
function changes(writes: readonly StoredWrite[], gap: Gap): number {
  const before = stateAt(writes, gap.from);
  const after = stateAt(writes, gap.to);
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name) !== after.get(name)).length;
}

/** The revision of each object that existed at `revision`. */
function stateAt(writes: readonly StoredWrite[], revision: number): Map<string, number> {
  const state = new Map<string, number>();
  for (const write of writes) {
    if (write.revision > revision) break;
    if (write.deleted) state.delete(write.name);
    else state.set(write.name, write.revision);
  }
  return state;
}
