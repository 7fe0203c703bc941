import type { LanguageOptions } from '../types.ts';

/** A fragment's text comes from a query that passed the switches; reading it back must accept all of the language. */
export const everyFeature: LanguageOptions = {
  experimentalFunctions: true,
  fillModifiers: true,
  extendedRangeSelectors: true,
};
