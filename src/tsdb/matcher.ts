import { RE2JS } from 're2js';
import { OperatorError, errorText } from '../base/errors.ts';
import { compileOnce } from '../base/text/compile-pattern.ts';
import { longestText, patternCost, refuseDearPattern } from '../base/text/pattern-cost.ts';
import { regexShape, rememberedTest, shapeTest } from '../base/text/regex-shape.ts';

/** How a matcher compares; regular expressions are RE2 and fully anchored. */
export type MatchType = '=' | '!=' | '=~' | '!~';

/** One condition on one label, as PromQL writes it. A label that a series lacks counts as the empty text. */
export interface Matcher {
  readonly type: MatchType;
  readonly name: string;
  readonly value: string;
}

/** A matcher that is compiled once and evaluated many times. */
export interface CompiledMatcher extends Matcher {
  /** Errors: ERR_SELECTION_LIMIT for a value that is too long for a regular expression of this cost. */
  matches(value: string): boolean;
  /** Whether a series without the label matches: such a matcher cannot be answered from the label's postings alone. */
  readonly matchesEmpty: boolean;
  /**
   * When set, exactly these texts match (before negation), each given once: the label index looks each up instead of
   * scanning.
   */
  readonly literals?: readonly string[];
  /** True for `!=` and `!~`. */
  readonly negative: boolean;
  /**
   * For pacing, matching one character with the regex engine costs as much as this many samples; 0 if the engine is not
   * used.
   */
  readonly work: number;
  /** The cached answers of the regex engine, if it is used. */
  readonly answers?: ReadonlyMap<string, boolean>;
}

/**
 * Compiles a matcher. Regular expressions are RE2's (no backtracking, so no input can make them slow), anchored at
 * both ends, dot matches newline. Plain texts, sets of literals and `literal.*` never reach the regex engine.
 * Errors: ERR_INPUT_INVALID for an unknown type or a bad expression.
 */
export function compileMatcher(matcher: Matcher): CompiledMatcher {
  const { type, name, value } = matcher;
  if (type === '=' || type === '!=') {
    const negative = type === '!=';
    return finish(matcher, negative, (text) => text === value, [value]);
  }
  if (type !== '=~' && type !== '!~') {
    throw new OperatorError('ERR_INPUT_INVALID', `matcher on ${name}: unknown type ${JSON.stringify(type)}`);
  }
  const negative = type === '!~';
  const shape = regexShape(value);
  if (shape.kind !== 'other') {
    return finish(matcher, negative, shapeTest(shape), shape.kind === 'literals' ? shape.literals : undefined);
  }
  const regex = compileRegex(value, name);
  const cost = patternCost(value).match;
  const longest = longestText(cost);
  const test = (text: string): boolean => {
    if (text.length > longest) throw tooLong(matcher, text.length, longest);
    return regex.testExact(text);
  };
  const answers = new Map<string, boolean>();
  return {
    ...finish(matcher, negative, rememberedTest(test, maxTests, answers)),
    work: Math.max(1, cost / 2),
    answers,
  };
}

function tooLong({ name, value }: Matcher, length: number, longest: number): OperatorError {
  const shown = JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value);
  const reason = `label value of ${length} characters for the regular expression ${shown}, at most ${longest}`;
  return new OperatorError('ERR_SELECTION_LIMIT', `matcher on ${name}: ${reason}`);
}

/**
 * Compiles matchers, equal ones once, in the order of the first. Those that are already compiled are returned as they
 * are, with their cached answers. Errors: as for `compileMatcher`.
 */
export function compileMatchers(matchers: readonly (Matcher | CompiledMatcher)[]): CompiledMatcher[] {
  return compileSets([matchers])[0]!;
}

/**
 * Compiles sets of matchers. Equal matchers become one object, so that each is compiled once, and evaluated once for each
 * value, in however many sets it stands. `known` has those of earlier calls, and gets the new ones.
 * Errors: as for `compileMatcher`.
 */
export function compileSets(
  sets: readonly (readonly (Matcher | CompiledMatcher)[])[],
  known = new Map<string, CompiledMatcher>(),
): CompiledMatcher[][] {
  const once = (matcher: Matcher | CompiledMatcher): CompiledMatcher => {
    const key = JSON.stringify([matcher.type, matcher.name, matcher.value]);
    let own = known.get(key);
    if (own === undefined) known.set(key, (own = 'matches' in matcher ? matcher : compileMatcher(matcher)));
    return own;
  };
  return sets.map((set) => [...new Set(set.map(once))]);
}

/**
 * Most tests of label values in one selection, which lets no other work run: some 50 ms. A matcher caches as many
 * answers, so that the regex engine sees each value once.
 */
export const maxTests = 1_000_000;

function finish(
  { type, name, value }: Matcher,
  negative: boolean,
  positive: (text: string) => boolean,
  literals?: readonly string[],
): CompiledMatcher {
  const matches = negative ? (text: string) => !positive(text) : positive;
  const base = { type, name, value, negative, matches, matchesEmpty: matches(''), work: 0 };
  return literals ? { ...base, literals } : base;
}

function compileRegex(source: string, name: string): RE2JS {
  const refusal = refuseDearPattern(source);
  if (refusal !== null) throw new OperatorError('ERR_INPUT_INVALID', `matcher on ${name}: ${refusal}`);
  try {
    return compileOnce(source, RE2JS.DOTALL);
  } catch (cause) {
    const reason = errorText(cause);
    throw new OperatorError('ERR_INPUT_INVALID', `matcher on ${name}: bad regular expression: ${reason}`, { cause });
  }
}
