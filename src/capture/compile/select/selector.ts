import type { LabelSelector } from '../../../api/meta.ts';
import { ownValue } from '../../../base/collections/own-value.ts';
import type { LabelTest } from '../../instrument-yaml/settings.ts';

type Labels = Readonly<Record<string, string>>;

/** Kubernetes' own semantics of a label selector, all four operators. An absent selector matches everything. */
export function matchesSelector(selector: LabelSelector | undefined, labels: Labels): boolean {
  if (!selector) return true;
  for (const [key, value] of Object.entries(selector.matchLabels ?? {}))
    if (ownValue(labels, key) !== value) return false;
  return (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
    const value = ownValue(labels, key);
    if (operator === 'Exists') return value !== undefined;
    if (operator === 'DoesNotExist') return value === undefined;
    return (value !== undefined && values.includes(value)) === (operator === 'In');
  });
}

/** True when the selector has no requirement at all. */
export function isEmptySelector(selector: LabelSelector | undefined): boolean {
  return Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;
}

/**
 * The selector as one test per label key; requirements on one key are intersected.
 * `null` when two requirements exclude each other, so that no pod can match. Only `In` and `Exists` are handled:
 * earlier checks refuse the other operators.
 */
export function labelTests(selector: LabelSelector | undefined): Record<string, LabelTest> | null {
  const tests = new Map<string, readonly string[] | null>();
  const narrow = (key: string, values: readonly string[] | null): void => {
    const before = tests.get(key);
    tests.set(key, before && values ? before.filter((v) => values.includes(v)) : (values ?? before ?? null));
  };
  for (const [key, value] of Object.entries(selector?.matchLabels ?? {})) narrow(key, [value]);
  for (const { key, operator, values } of selector?.matchExpressions ?? []) {
    narrow(key, operator === 'In' ? (values ?? []) : null);
  }
  const out: Record<string, LabelTest> = Object.create(null) as Record<string, LabelTest>;
  for (const key of [...tests.keys()].toSorted()) {
    const values = tests.get(key)!;
    if (values && values.length === 0) return null;
    out[key] = values ? { in: [...new Set(values)].toSorted() } : { exists: true };
  }
  return out;
}

/**
 * Matches `*` and `?` against a whole name. Users write these patterns, so the time must be bounded: it is at most the
 * product of both lengths.
 */
export function matchesGlob(glob: string, text: string): boolean {
  let g = 0;
  let t = 0;
  let star = -1;
  let resume = 0;
  while (t < text.length) {
    if (glob[g] === '*') {
      star = g++;
      resume = t;
    } else if (g < glob.length && (glob[g] === '?' || glob[g] === text[t])) {
      g++;
      t++;
    } else if (star >= 0) {
      g = star + 1;
      t = ++resume;
    } else return false;
  }
  while (glob[g] === '*') g++;
  return g === glob.length;
}
