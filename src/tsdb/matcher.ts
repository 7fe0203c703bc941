import { RE2JS } from 're2js';
import { OperatorError, errorText } from '../base/errors.ts';
import { regexShape } from './regex-shape.ts';

export type MatchType = '=' | '!=' | '=~' | '!~';

/** One condition on one label, as PromQL writes it. A label that a series lacks counts as the empty text. */
export interface Matcher {
  readonly type: MatchType;
  readonly name: string;
  readonly value: string;
}

/** A matcher made ready once and then asked many times. */
export interface CompiledMatcher extends Matcher {
  matches(value: string): boolean;
  /** Whether a series without the label matches: such a matcher cannot be answered from the label's postings alone. */
  readonly matchesEmpty: boolean;
  /** When set, exactly these texts match (before negation): the index is asked for each instead of scanned. */
  readonly literals?: readonly string[];
  /** True for `!=` and `!~`. */
  readonly negative: boolean;
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
  const regex = compileRegex(value, name);
  const shape = regexShape(value);
  switch (shape.kind) {
    case 'literals': {
      const set = new Set(shape.literals);
      return finish(matcher, negative, (text) => set.has(text), shape.literals);
    }
    case 'prefix': {
      const { prefix, minRest } = shape;
      return finish(matcher, negative, (text) => text.length >= prefix.length + minRest && text.startsWith(prefix));
    }
    case 'other':
      return finish(matcher, negative, (text) => regex.testExact(text));
  }
}

export function compileMatchers(matchers: readonly Matcher[]): CompiledMatcher[] {
  return matchers.map(compileMatcher);
}

function finish(
  { type, name, value }: Matcher,
  negative: boolean,
  positive: (text: string) => boolean,
  literals?: readonly string[],
): CompiledMatcher {
  const matches = negative ? (text: string) => !positive(text) : positive;
  const base = { type, name, value, negative, matches, matchesEmpty: matches('') };
  return literals ? { ...base, literals } : base;
}

function compileRegex(source: string, name: string): RE2JS {
  try {
    return RE2JS.compile(source, RE2JS.DOTALL);
  } catch (cause) {
    const reason = errorText(cause);
    throw new OperatorError('ERR_INPUT_INVALID', `matcher on ${name}: bad regular expression: ${reason}`, { cause });
  }
}
