import type { Labels, Matcher } from '../types.ts';
import { compilePattern } from './pattern.ts';

/** A compiled matcher. */
export interface CompiledMatcher {
  readonly name: string;
  readonly test: (value: string) => boolean;
}

/** Compiles one matcher. Errors: throws for a pattern RE2 refuses. */
export function compileMatcher(matcher: Matcher): CompiledMatcher {
  const { name, type, value } = matcher;
  switch (type) {
    case '=':
      return { name, test: (v) => v === value };
    case '!=':
      return { name, test: (v) => v !== value };
    case '=~':
      return { name, test: compilePattern(value) };
    case '!~': {
      const test = compilePattern(value);
      return { name, test: (v) => !test(v) };
    }
  }
}

/** Whether a matcher accepts a value; a missing label counts as "". */
export function matches(matcher: Matcher, value: string): boolean {
  return compileMatcher(matcher).test(value);
}

/** Whether labels fulfil every matcher. */
export function matchesAll(matchers: readonly CompiledMatcher[], labels: Labels): boolean {
  return matchers.every(({ name, test }) => test(labels.find(([n]) => n === name)?.[1] ?? ''));
}
