/** What answers lack: the nodes missing from them, and their warnings. */
import { lostNodeOf, united } from '../../src/api/page/lost-node.ts';

export interface Lack {
  /** The names of the missing nodes. */
  readonly missing: readonly string[];
  readonly warnings: readonly string[];
}

/** What several answers lack, without repetition: `warnings` has none about the missing nodes, `reasons` has those. */
export function unitedLack(of: readonly Lack[]): Lack & { readonly reasons: readonly string[] } {
  const missing = new Set(of.flatMap((one) => one.missing));
  const told = Object.groupBy(united(of.flatMap(({ warnings }) => warnings)), (warning) =>
    missing.has(lostNodeOf(warning) ?? '') ? 'reasons' : 'warnings',
  );
  const { reasons = [], warnings = [] } = told;
  return { missing: [...missing].sort(), reasons, warnings };
}
