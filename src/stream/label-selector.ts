import { OperatorError } from '../base/errors.ts';

type Labels = Readonly<Record<string, string>>;

/**
 * A label selector as kubectl writes it: `a=b,c==d,e!=f,g in (x,y),h notin (z),i,!j`, requirements AND-ed.
 * Errors: ERR_INPUT_INVALID that names `field`.
 */
export function parseLabelSelector(text: string, field: string): (labels: Labels) => boolean {
  const tests = split(text).map((part) => requirement(part.trim(), field));
  if (tests.length === 0) throw new OperatorError('ERR_INPUT_INVALID', `${field}: is empty`);
  return (labels) => tests.every((test) => test(labels));
}

function requirement(part: string, field: string): (labels: Labels) => boolean {
  const key = '[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?';
  const set = new RegExp(`^(${key})\\s+(in|notin)\\s+\\(([^()]*)\\)$`).exec(part);
  if (set) {
    const values = new Set(set[4]!.split(',').map((v) => v.trim()));
    const name = set[1]!;
    return set[3] === 'in'
      ? (labels) => labels[name] !== undefined && values.has(labels[name])
      : (labels) => labels[name] === undefined || !values.has(labels[name]);
  }
  const equality = new RegExp(`^(${key})\\s*(==|=|!=)\\s*([-A-Za-z0-9_.]*)$`).exec(part);
  if (equality) {
    const [, name = '', , operator, value = ''] = equality;
    return operator === '!=' ? (labels) => labels[name] !== value : (labels) => labels[name] === value;
  }
  const exists = new RegExp(`^(!?)\\s*(${key})$`).exec(part);
  if (!exists)
    throw new OperatorError('ERR_INPUT_INVALID', `${field}: ${JSON.stringify(part.slice(0, 80))} is no requirement`);
  const name = exists[2]!;
  return exists[1] ? (labels) => labels[name] === undefined : (labels) => labels[name] !== undefined;
}

/** Splits at commas outside of parentheses. */
function split(text: string): string[] {
  const parts = text.split(/,(?![^(]*\))/);
  return parts.length === 1 && parts[0]!.trim() === '' ? [] : parts;
}
