import { partialKey } from '../../labels.ts';
import type { VectorMatching } from '../../parser/ast.ts';
import type { Labels } from '../../types.ts';

/** Whether a label, by its name, is one that must be equal in two series that match. */
export function matchKeep({ on, labels }: VectorMatching): (name: string) => boolean {
  const names = new Set(labels);
  return on ? (name) => names.has(name) : (name) => !names.has(name) && name !== '__name__';
}

/** A function that gives a key for the labels of a series; series with the same key match. */
export function signatureOf(matching: VectorMatching): (labels: Labels) => string {
  const keep = matchKeep(matching);
  return (labels) => partialKey(labels, keep);
}
