import type { StoredWrite } from './storage-history.ts';

/** A list in the life of a source after its first: what happened between the two versions no watch could show. */
export interface Gap {
  /** The last version that the watch had told of. */
  from: number;
  /** The version of the list. */
  to: number;
}

export interface Account {
  /** Writes that a watch should have shown. */
  due: number;
  /** Of those, the ones that it did not show: silent losses. */
  lost: StoredWrite[];
  /** Writes that fell into gaps. */
  inGaps: number;
  /**
   * Objects that differ before and after a gap, which a list can show and the metric must count. An object that was
   * made and deleted within one gap does not differ: it was not there before or after.
   */
  changedByGaps: number;
}

/**
 * Compares what a source showed with what was stored. Pure.
 *
 * `writes`: in the order of their revisions. `since`: the version of the first list; what is older came with it.
 * `shown`: `name@revision` of everything that a watch told the source's listeners.
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

/** The revision of each object that there was. */
function stateAt(writes: readonly StoredWrite[], revision: number): Map<string, number> {
  const state = new Map<string, number>();
  for (const write of writes) {
    if (write.revision > revision) break;
    if (write.deleted) state.delete(write.name);
    else state.set(write.name, write.revision);
  }
  return state;
}
