/**
 * The warning of an answer that says why a node is missing from it. Without imports, so that the page takes it as it
 * is.
 */

const before = 'node ';
const after = ' is missing from this answer: ';

/** The warning about `node`; `why` says the reason. */
export const lostNodeWarning = (node: string, why: string): string => `${before}${node}${after}${why}`;

/** The missing node that a warning is about; undefined for any other warning. */
export function lostNodeOf(warning: string): string | undefined {
  const end = warning.indexOf(after);
  if (end < 0 || !warning.startsWith(before)) return undefined;
  const node = warning.slice(before.length, end);
  return node.includes(' ') ? undefined : node;
}

/**
 * The warnings of several answers, each once. Of those about one node only the first is kept: each answer tells another
 * duration.
 */
export function united(warnings: readonly string[]): string[] {
  const first = new Map<string, string>();
  for (const warning of warnings) {
    const node = lostNodeOf(warning);
    const key = node === undefined ? warning : lostNodeWarning(node, '');
    if (!first.has(key)) first.set(key, warning);
  }
  return [...first.values()];
}
