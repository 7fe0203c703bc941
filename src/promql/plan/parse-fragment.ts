import { ParseCache } from '../parser/parse-cache.ts';
import type { LanguageOptions } from '../types.ts';

/**
 * A fragment's text comes from a query that was allowed by the feature switches; parsing it must accept the whole
 * language.
 */
const everyFeature: LanguageOptions = {
  experimentalFunctions: true,
  fillModifiers: true,
  extendedRangeSelectors: true,
};

const trees = new ParseCache(everyFeature);

/** The tree of a fragment's text. Errors: ParseError for a text that no plan creates. */
export const parseFragment = (text: string): ReturnType<ParseCache['parse']> => trees.parse(text);
