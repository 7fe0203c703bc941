import { mergeDuplicates, type Column } from './columns.ts';
import type { EvalContext } from './context.ts';
import type { Frame } from './frame.ts';

/**
 * Joins series with equal labels, as Prometheus does at each step. The answer of an instant query with delayed name
 * removal may keep them apart.
 */
export async function settle(context: EvalContext, columns: Column[], frame: Frame): Promise<Column[]> {
  return context.settings.delayedNameRemoval && frame.count === 1 ? columns : mergeDuplicates(context.budget, columns);
}
