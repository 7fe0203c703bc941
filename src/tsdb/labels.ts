import { OperatorError } from '../base/errors.ts';
import { compareUtf8, labelValue, type Labels } from '../base/text/labels.ts';

export { compareLabels, compareUtf8, labelValue, type Labels } from '../base/text/labels.ts';

/** Labels from a plain object or from pairs in any order; empty values are left out, the last of equal names wins. */
export function labelsFromObject(source: Readonly<Record<string, string>>): Labels {
  return labelsFromPairs(Object.entries(source));
}

/** Like `labelsFromObject`, for names that an object cannot hold in order (such as `"1"`). */
export function labelsFromPairs(pairs: Iterable<readonly [string, string]>): Labels {
  const byName = new Map<string, string>();
  for (const [name, value] of pairs) byName.set(name, value);
  const kept = [...byName].filter(([, value]) => value !== '');
  return kept.sort((a, b) => compareUtf8(a[0], b[0]));
}

/** The labels as a plain object, members in label order. */
export function labelsToObject(labels: Labels): Record<string, string> {
  return Object.fromEntries(labels);
}

const keys = new WeakMap<Labels, string>();

/** A string that is equal only for equal labels. Cached for each array, so pass the same array again. */
export function labelsKey(labels: Labels): string {
  const cached = keys.get(labels);
  if (cached !== undefined) return cached;
  let key = '';
  for (const [name, value] of labels) key += `${name.length}:${name}${value.length}:${value}`;
  keys.set(labels, key);
  return key;
}

/**
 * Adds the external labels that are absent; a label of the series takes precedence.
 * The result is the same array when nothing was added.
 */
export function withExternalLabels(labels: Labels, external: Labels): Labels {
  const missing = external.filter(([name]) => labelValue(labels, name) === '');
  return missing.length === 0 ? labels : labelsFromPairs([...missing, ...labels]);
}

/**
 * Validates that labels from outside have the shape of `Labels`, and that names and values are well-formed text.
 * `checked` holds valid labels: a pair object that `checked` has at about the same index is not validated again, and
 * two pair objects that are neighbours in `checked` are not compared.
 * Errors: ERR_INPUT_INVALID that names the label.
 */
export function assertLabels(labels: Labels, checked: Labels = []): void {
  let previous: string | undefined;
  let next = 0;
  let isShared = false;
  for (const pair of labels) {
    const [name, value] = pair;
    const follows = isShared && checked[next] === pair;
    isShared = true;
    if (checked[next] === pair) next++;
    else if (checked[next + 1] === pair) next += 2;
    else {
      assertPair(name, value);
      isShared = false;
    }
    if (!follows && previous !== undefined && compareUtf8(previous, name) >= 0) {
      throw new OperatorError('ERR_INPUT_INVALID', `label ${JSON.stringify(name)}: names are not sorted and unique`);
    }
    previous = name;
  }
}

function assertPair(name: string, value: string): void {
  if (name === '') throw new OperatorError('ERR_INPUT_INVALID', 'label name is empty');
  if (value === '') throw new OperatorError('ERR_INPUT_INVALID', `label ${JSON.stringify(name)}: value is empty`);
  if (!name.isWellFormed() || !value.isWellFormed()) {
    throw new OperatorError('ERR_INPUT_INVALID', `label ${JSON.stringify(name)}: not well-formed Unicode`);
  }
}
