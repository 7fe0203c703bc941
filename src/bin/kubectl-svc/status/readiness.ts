import type { Condition, KubeObject } from '../../../api/meta.ts';
import type { GoodStatus } from '../../../api/v1alpha1/index.ts';
import type { CheckState } from './check.ts';

/** An object with conditions, as kstatus knows them. */
export type Conditioned = KubeObject & {
  status?: { observedGeneration?: number; conditions?: Condition[] };
};

/** The good status of each condition; the tables of the API have this shape. */
export type ConditionTable = Readonly<Record<string, { good: GoodStatus }>>;

export interface Readiness {
  readonly state: CheckState;
  /** A short text, with the generation that it refers to. */
  readonly text: string;
  /** The decisive reason, for a remedy; undefined when all is well. */
  readonly reason?: string;
}

/**
 * Whether an object is ready, and for which generation, by the rules of kstatus. An object is in progress if its status
 * has not seen the newest generation, or if it is Reconciling. It is not well if it is Stalled, or its Ready is False.
 * Pure.
 */
export function readinessOf({ metadata, status }: Conditioned): Readiness {
  const generation = metadata.generation ?? 0;
  const conditions = status?.conditions ?? [];
  const find = (type: string): Condition | undefined => conditions.find((c) => c.type === type);
  if (metadata.deletionTimestamp !== undefined) {
    return { state: 'progressing', text: 'is being deleted', reason: 'Progressing' };
  }
  const observed = status?.observedGeneration ?? 0;
  const ready = find('Ready');
  if (observed < generation || !ready) {
    const last = observed > 0 ? ` (the last one judged is ${observed})` : '';
    return { state: 'progressing', text: `generation ${generation} is not judged yet${last}`, reason: 'Pending' };
  }
  const stalled = find('Stalled');
  if (stalled?.status === 'True') return said('bad', 'stalled', stalled);
  const reconciling = find('Reconciling');
  if (ready.status === 'True' && reconciling?.status !== 'True') {
    const paused = ready.reason === 'Ready' ? '' : ` (${ready.reason})`;
    return { state: 'ok', text: `ready, generation ${generation}${paused}` };
  }
  // A Ready that is False repeats the decisive condition, which is more informative than Reconciling.
  if (reconciling?.status === 'True') {
    return said('progressing', `generation ${generation}`, ready.status === 'True' ? reconciling : ready);
  }
  return said('bad', 'not ready', ready);
}

function said(state: CheckState, words: string, { reason, message }: Condition): Readiness {
  return { state, text: `${words}: ${reason}${message === '' ? '' : `, ${message}`}`, reason };
}

/** Conditions, with the reason of those that are not well: `Accepted Programmed Capturing=False(NoTraffic)`. */
export function conditionLine(conditions: readonly Condition[] | undefined, table: ConditionTable): string {
  const order = Object.keys(table);
  return (conditions ?? [])
    .filter((c) => c.type !== 'Ready' && !isQuietlyWell(c, table))
    .toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type))
    .map((c) => (isGood(c, table) ? c.type : `${c.type}=${c.status}(${c.reason})`))
    .join(' ');
}

/** The conditions that are not well, in the order of the table. */
export function badConditions(conditions: readonly Condition[] | undefined, table: ConditionTable): Condition[] {
  const order = Object.keys(table);
  return (conditions ?? [])
    .filter((c) => c.type in table && !isGood(c, table))
    .toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type));
}

export function isGood({ type, status }: Condition, table: ConditionTable): boolean {
  return (table[type]?.good ?? 'True') === status;
}

/** A condition that reports a fault is hidden while there is no fault. */
function isQuietlyWell(condition: Condition, table: ConditionTable): boolean {
  return table[condition.type]?.good === 'False' && isGood(condition, table);
}
