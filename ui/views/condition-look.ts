/** How a condition is shown. Pure. */
import type { ObjectCondition } from '../../src/api/page/types.ts';

export interface ConditionLook {
  readonly sign: string;
  readonly kind: 'good' | 'unknown' | 'bad';
}

/** The look of a condition. An unknown one is not a fault. */
export function lookOf({ good, status }: Pick<ObjectCondition, 'good' | 'status'>): ConditionLook {
  if (good) return { sign: '✓', kind: 'good' };
  return status === 'Unknown' ? { sign: '?', kind: 'unknown' } : { sign: '✕', kind: 'bad' };
}
