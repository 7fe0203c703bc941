import { filterLabels, partialKey } from '../../labels.ts';
import type { VectorMatching } from '../../parser/ast.ts';
import type { Labels } from '../../types.ts';

/** Selects the labels that two series must share to match. */
export function matchKeep({ on, labels }: VectorMatching): (name: string) => boolean {
  const names = new Set(labels);
  return on ? (name) => names.has(name) : (name) => !names.has(name) && name !== '__name__';
}

/** A function that gives the match group of a series, as a key. */
export function signatureOf(matching: VectorMatching): (labels: Labels) => string {
  const keep = matchKeep(matching);
  return (labels) => partialKey(labels, keep);
}

/** The labels of a match group. */
export function matchLabels(labels: Labels, matching: VectorMatching): Labels {
  return filterLabels(labels, matchKeep(matching));
}
