import { regexShape } from './regex-shape.ts';

/**
 * The allowed cost of a caller's regular expression. RE2 needs time linear in the text, but a large pattern is slow to
 * compile and slow for each character, and neither can be interrupted. So the cost of a pattern is estimated from its
 * text, before it is compiled. One unit is about one microsecond of compiling on a slow core, or at most 80 ns of
 * matching for each character of the text that the pattern is matched against.
 */

/** Largest cost of a pattern that is compiled. */
export const maxPatternCost = 20_000;
/**
 * Largest cost of a match: cost of the pattern × characters of the text. About 10 ms for most patterns, up to 0.12 s for
 * one whose states are too many to be kept, such as `(a|b)*a(a|b){12}`.
 */
export const maxMatchCost = 1_500_000;

const classCost = 5;
const unicodeClassCost = 80;
/** A Unicode class within brackets costs more, because it is merged with its neighbours range by range. */
const unicodeMemberCost = 300;
const repeatCost = 20;
const alternativeCost = 5;

/** The cost of a pattern; counted repetitions multiply. Any text has a cost, even an invalid pattern. */
export function patternCost(pattern: string): number {
  // Literals, alternatives of literals and prefixes never reach the regex engine.
  if (regexShape(pattern).kind !== 'other') return 0;
  /** Costs of the groups around the current position; the innermost last. */
  const groups = [0];
  let atom = 0;
  const lastNameEnd = pattern.lastIndexOf(':]');
  const add = (cost: number): void => {
    groups[groups.length - 1]! += atom;
    atom = cost;
  };
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern[i]!;
    if (c === '\\' && pattern[i + 1] === 'Q') {
      // Everything up to \E, or to the end, is literal.
      const close = pattern.indexOf('\\E', i + 2);
      const end = close === -1 ? pattern.length : close;
      for (let quoted = i + 2; quoted < end; quoted++) add(1);
      i = end + 1;
    } else if (c === '\\') {
      const isUnicode = pattern[i + 1] === 'p' || pattern[i + 1] === 'P';
      add(isUnicode ? unicodeClassCost : 1);
      i++;
    } else if (c === '[') {
      const { end, cost } = classAt(pattern, i, lastNameEnd);
      add(cost);
      i = end;
    } else if (c === '(') {
      add(0);
      groups.push(1);
      // The `?` begins flags, names and the like: it is not a repetition.
      if (pattern[i + 1] === '?') i++;
    } else if (c === ')' && groups.length > 1) {
      add(0);
      atom = groups.pop()!;
    } else if (c === '|') {
      add(alternativeCost);
    } else if (c === '*' || c === '+' || c === '?') {
      atom += repeatCost;
    } else if (c === '{') {
      const counted = /^\{(\d+)(?:,(\d*))?\}/.exec(pattern.slice(i, i + 24));
      if (counted === null) add(1);
      else {
        atom = (atom + repeatCost) * Math.max(1, Number(counted[1]), Number(counted[2] ?? 0));
        i += counted[0].length - 1;
      }
    } else add(1);
  }
  add(0);
  return groups.reduce((sum, cost) => sum + cost, 0);
}

/**
 * A class in brackets: its end and its cost. Beyond `lastNameEnd` no end of a name such as `[:alpha:]` is looked for:
 * each look would read the rest of the pattern.
 */
function classAt(pattern: string, start: number, lastNameEnd: number): { end: number; cost: number } {
  let cost = classCost;
  let i = start + 1;
  if (pattern[i] === '^') i++;
  if (pattern[i] === ']') i++;
  for (; i < pattern.length && pattern[i] !== ']'; i++) {
    if (pattern[i] === '\\') {
      i++;
      cost += pattern[i] === 'p' || pattern[i] === 'P' ? unicodeMemberCost : 1;
    } else if (pattern[i] === '[' && pattern[i + 1] === ':') {
      if (i + 2 <= lastNameEnd) i = pattern.indexOf(':]', i + 2) + 1;
      cost += classCost;
    } else cost++;
  }
  return { end: i, cost };
}

/** Why a pattern costs too much; null when it does not. */
export function refuseDearPattern(pattern: string): string | null {
  const cost = patternCost(pattern);
  if (cost <= maxPatternCost) return null;
  return `regular expression is too large: ${pattern.length} characters cost ${cost}, at most ${maxPatternCost}`;
}
