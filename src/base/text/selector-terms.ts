import { OperatorError } from '../errors.ts';

/** The most commas of a label selector: those between its terms, and those between the values of `in` and `notin`. */
export const maxSelectorCommas = 1_000;

/**
 * The terms of a label selector: its parts between the commas outside of parentheses. An empty selector has none. Takes
 * time in proportion to the text.
 * Errors: ERR_INPUT_INVALID that names `field`, beyond `maxSelectorCommas`.
 */
export function selectorTerms(text: string, field: string): string[] {
  if (text.trim() === '') return [];
  const terms: string[] = [];
  let depth = 0;
  let start = 0;
  let commas = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '(') depth++;
    else if (c === ')') depth = Math.max(0, depth - 1);
    else if (c === ',') {
      if (++commas > maxSelectorCommas) {
        throw new OperatorError('ERR_INPUT_INVALID', `${field}: more than ${maxSelectorCommas} commas`);
      }
      if (depth > 0) continue;
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  return [...terms, text.slice(start)];
}
