import { RE2JS } from 're2js';
import { compileOnce } from '../../base/text/compile-pattern.ts';
import { longestText, patternCost, refuseDearPattern } from '../../base/text/pattern-cost.ts';
import { regexShape, rememberedTest, shapeTest } from '../../base/text/regex-shape.ts';
import { executionError } from '../errors.ts';

/** Tests whether one pattern matches a whole value. */
export type PatternTest = (value: string) => boolean;

/** The reason why RE2 refuses a pattern, in Go's words, or null for a valid one. */
export function checkPattern(pattern: string): string | null {
  if (regexShape(pattern).kind !== 'other') return null;
  try {
    // Without DOTALL: the flag does not change the result, but would show up in the message.
    compileOnce(pattern);
    return null;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return message.startsWith('error parsing regexp') ? message : `error parsing regexp: ${message}`;
  }
}

/**
 * Compiles a pattern with RE2 semantics: linear time, anchored at both ends, dot matches newline.
 * Literals, alternatives of literals and `literal.*` are compared directly. For other patterns, the result for each
 * value is cached.
 * Errors: throws when `checkPattern` returns a reason, and for a pattern that is too expensive to compile; the returned
 * test throws an execution error for a value that is too long for its pattern.
 */
export function compilePattern(pattern: string): PatternTest {
  const shape = regexShape(pattern);
  if (shape.kind !== 'other') return shapeTest(shape);
  const { allow, regex } = compileWithin(pattern, pattern);
  const test = (value: string): boolean => {
    allow(value);
    return regex.matches(value);
  };
  return rememberedTest(test, 10_000);
}

/** A regular expression with a limit on the length of values. */
export interface LimitedPattern {
  readonly regex: RE2JS;
  /** Errors: QueryError `execution` for a value that would take too long. */
  readonly allow: (value: string) => void;
}

/**
 * Compiles `anchored`, which is made from `pattern`; dot matches newline. Errors: throws for an invalid or too
 * expensive pattern.
 */
export function compileWithin(pattern: string, anchored: string): LimitedPattern {
  const refusal = refuseDearPattern(pattern);
  if (refusal !== null) throw executionError(refusal);
  const regex = compileOnce(anchored, RE2JS.DOTALL);
  const longest = longestText(patternCost(pattern).match);
  const allow = (value: string): void => {
    if (value.length <= longest) return;
    throw executionError(`label value of ${value.length} characters for a regular expression, at most ${longest}`);
  };
  return { regex, allow };
}
