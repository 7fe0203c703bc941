import { ownValue } from '../../base/collections/own-value.ts';
import { OperatorError } from '../../base/errors.ts';
import { selectorTerms } from '../../base/text/selector-terms.ts';
import { anyOf } from '../../base/text/texts.ts';
import type { Matcher } from '../../promql/index.ts';

/** One term of a label selector. */
export interface Requirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'missing';
  readonly values: readonly string[];
}

const key = '[A-Za-z0-9_./-]+';
const term = new RegExp(
  `^(?:(!)\\s*(${key})|(${key})\\s+(in|notin)\\s*\\(([^()]*)\\)|(${key})\\s*(==?|!=)\\s*([A-Za-z0-9_.-]*)|(${key}))$`,
);

/**
 * Reads a label selector as the API server writes it in a URL: `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
 * Errors: ERR_INPUT_INVALID that names the term, or for more than a thousand commas.
 */
export function parseLabelSelector(text: string, field: string): Requirement[] {
  return selectorTerms(text, field).map((untrimmed) => {
    const part = untrimmed.trim();
    const match = term.exec(part);
    if (!match) throw new OperatorError('ERR_INPUT_INVALID', `${field}: cannot read ${JSON.stringify(part)}`);
    const [, , missing, setKey, set, list, equalKey, operator, value, exists] = match;
    if (missing !== undefined) return { key: missing, operator: 'missing', values: [] };
    if (setKey !== undefined) {
      const values = (list ?? '').split(',').map((v) => v.trim());
      return { key: setKey, operator: set === 'in' ? 'in' : 'notin', values };
    }
    if (equalKey !== undefined) {
      return { key: equalKey, operator: operator === '!=' ? 'notin' : 'in', values: [value ?? ''] };
    }
    return { key: exists ?? '', operator: 'exists', values: [] };
  });
}

/** Whether an object's labels satisfy every term. As in Kubernetes, `notin` and `!=` are true for a missing label. */
export function matchesLabels(
  requirements: readonly Requirement[],
  labels: Readonly<Record<string, string>> = {},
): boolean {
  return requirements.every(({ key: name, operator, values }) => {
    const value = ownValue(labels, name);
    if (operator === 'exists') return value !== undefined;
    if (operator === 'missing') return value === undefined;
    const listed = value !== undefined && values.includes(value);
    return operator === 'in' ? listed : !listed;
  });
}

/** Turns the terms into matchers on the labels of series. */
export function toMatchers(requirements: readonly Requirement[]): Matcher[] {
  return requirements.map(({ key: name, operator, values }) => {
    if (operator === 'exists') return { type: '!=', name, value: '' };
    if (operator === 'missing') return { type: '=', name, value: '' };
    if (values.length === 1) return { type: operator === 'in' ? '=' : '!=', name, value: values[0]! };
    return { type: operator === 'in' ? '=~' : '!~', name, value: anyOf(values) };
  });
}
