import type { Rule } from 'eslint';

export const testRules: {
  readonly rules: Readonly<
    Record<'asserts-on-every-path' | 'fixed-date-beside-real-clock' | 'loops-that-run', Rule.RuleModule>
  >;
};
