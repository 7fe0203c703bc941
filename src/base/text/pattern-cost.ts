import { regexShape } from './regex-shape.ts';

/**
 * The allowed cost of a caller's regular expression. RE2 needs time linear in the text, but a large pattern is slow to
 * compile and slow for each character, and neither can be interrupted. So the cost of a pattern is estimated from its
 * text, before it is compiled. One unit is about one microsecond of compiling on a slow core, or at most 80 ns of
 * matching for each character of the text that the pattern is matched against.
 */

/** Largest cost of compiling a pattern. */
export const maxPatternCost = 20_000;
/**
 * Largest cost of a match: that of the pattern × characters of the text. About 10 ms for most patterns, up to 0.12 s for
 * one whose states are too many to be kept, such as `(a|b)*a(a|b){12}`.
 */
export const maxMatchCost = 1_500_000;

/** The most characters of a text that is matched against patterns of this cost together. */
export function longestText(cost: number): number {
  return Math.floor(maxMatchCost / Math.max(1, cost));
}

const classCost = 5;
const unicodeClassCost = 80;
/** A Unicode class within brackets costs more, because it is merged with its neighbours range by range. */
const unicodeMemberCost = 300;
const repeatCost = 20;
const alternativeCost = 5;
/** The first and the last code point that has a case. RE2 reads a range between them one by one to ignore case. */
const firstCased = 0x41;
const lastCased = 0x1e943;
const foldedPerCost = 16;

/** Flags with `i`, or text that only looks like them: then the cost is too high. */
const ignoresCase = /\(\?[msU]*i/;
/** Flags for the rest of a group. They are no atom: in `a(?i)*`, the repetition is that of `a`. */
const groupFlags = /\(\?[imsU-]*\)/y;
const count = /\{(\d{1,8})(?:,(\d{0,8}))?\}/y;
const unicodeClass = /\\[pP](?:\{[^}]*\}?|.)?/suy;
const perlClass = /\\[dDsSwW]/y;
/** An escaped character: hexadecimal, octal, for itself or one of the first 32. */
const escapedChar = /\\(?:x\{([\da-f]+)\}|x([\da-f]{2})|([1-7][0-7]{1,2}|0[0-7]{0,2})|([^\da-z])|[afnrtv])/iy;

export interface PatternCost {
  /** What is paid once. At least `match`: it has the reading of classes too. */
  readonly compile: number;
  /** What each character of the text costs. */
  readonly match: number;
}

/** The cost of a pattern; counted repetitions multiply. Any text has a cost, even an invalid pattern. */
export function patternCost(pattern: string): PatternCost {
  // Literals, alternatives of literals and prefixes never reach the regex engine.
  if (regexShape(pattern).kind !== 'other') return { compile: 0, match: 0 };
  const folds = ignoresCase.test(pattern);
  /** Costs of the groups around the current position; the innermost last. */
  const groups = [0];
  let atom = 0;
  /** The cost of reading classes: neither a repetition nor a match reads them again. */
  let reading = 0;
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
      if (matchAt(perlClass, pattern, i)) reading += classCost;
      i += (matchAt(escapedChar, pattern, i)?.[0].length ?? 2) - 1;
    } else if (c === '[') {
      const { end, cost, width } = classAt(pattern, i, lastNameEnd);
      add(cost);
      if (folds) reading += Math.ceil(width / foldedPerCost);
      i = end;
    } else if (c === '(') {
      const flags = matchAt(groupFlags, pattern, i);
      if (flags) {
        groups[groups.length - 1]! += flags[0].length;
        i += flags[0].length - 1;
      } else {
        add(0);
        groups.push(1);
        // The `?` begins flags, names and the like: it is not a repetition.
        if (pattern[i + 1] === '?') i++;
      }
    } else if (c === ')' && groups.length > 1) {
      add(0);
      atom = groups.pop()!;
    } else if (c === '|') {
      add(alternativeCost);
    } else if (c === '*' || c === '+' || c === '?') {
      atom += repeatCost;
    } else if (c === '{') {
      const counted = matchAt(count, pattern, i);
      if (!counted) add(1);
      else {
        atom = (atom + repeatCost) * Math.max(1, Number(counted[1]), Number(counted[2] ?? 0));
        i += counted[0].length - 1;
      }
    } else add(1);
  }
  add(0);
  const match = groups.reduce((sum, cost) => sum + cost, 0);
  return { compile: match + reading, match };
}

interface ClassText {
  /** Where its last bracket is. */
  readonly end: number;
  readonly cost: number;
  /** How many code points of its ranges RE2 reads one by one to ignore case. */
  readonly width: number;
}

/**
 * A class in brackets. Beyond `lastNameEnd` no end of a name such as `[:alpha:]` is looked for: each look would read the
 * rest of the pattern.
 */
function classAt(pattern: string, start: number, lastNameEnd: number): ClassText {
  let cost = classCost;
  let width = 0;
  const first = pattern[start + 1] === '^' ? start + 2 : start + 1;
  let i = first;
  // A closing bracket that comes first is a member.
  while (i < pattern.length && (pattern[i] !== ']' || i === first)) {
    const escape = pattern[i] === '\\';
    const unicode = escape && matchAt(unicodeClass, pattern, i);
    if (unicode) {
      cost += unicodeMemberCost;
      i += unicode[0].length;
    } else if (escape && matchAt(perlClass, pattern, i)) {
      cost += classCost;
      i += 2;
    } else if (pattern[i] === '[' && pattern[i + 1] === ':' && i + 2 <= lastNameEnd) {
      cost += classCost;
      i = pattern.indexOf(':]', i + 2) + 2;
    } else {
      const low = memberAt(pattern, i);
      cost++;
      i = low.next;
      if (pattern[i] !== '-' || pattern[i + 1] === ']') continue;
      const high = memberAt(pattern, i + 1);
      cost += 2;
      width += foldedWidth(low.code, high.code);
      i = high.next;
    }
  }
  return { end: i, cost, width };
}

/** One character of a class: its code point, NaN where it cannot be read, and where the next one begins. */
function memberAt(pattern: string, i: number): { code: number; next: number } {
  if (pattern[i] !== '\\') {
    const code = pattern.codePointAt(i) ?? NaN;
    return { code, next: i + (code > 0xffff ? 2 : 1) };
  }
  const escaped = matchAt(escapedChar, pattern, i);
  if (!escaped) return { code: NaN, next: i + 2 };
  const [all, long, short, octal, itself = '\0'] = escaped;
  const hex = long ?? short;
  const code = hex ? parseInt(hex, 16) : octal ? parseInt(octal, 8) : itself.charCodeAt(0);
  return { code, next: i + all.length };
}

/** How many code points of a range RE2 reads one by one to ignore case. A range of all that have a case is read whole. */
function foldedWidth(low: number, high: number): number {
  if (Number.isNaN(low + high)) return lastCased - firstCased;
  if (low <= firstCased && high >= lastCased) return 0;
  return Math.max(0, Math.min(high, lastCased) - Math.max(low, firstCased) + 1);
}

/** What a sticky expression finds at a position. */
function matchAt(expression: RegExp, text: string, i: number): RegExpExecArray | null {
  expression.lastIndex = i;
  return expression.exec(text);
}

/** Why a pattern costs too much; null when it does not. */
export function refuseDearPattern(pattern: string): string | null {
  const cost = patternCost(pattern).compile;
  if (cost <= maxPatternCost) return null;
  return `regular expression is too large: ${pattern.length} characters cost ${cost}, at most ${maxPatternCost}`;
}
