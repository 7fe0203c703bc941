import { ParseCache } from '../parser/parse-cache.ts';
import type { LanguageOptions } from '../types.ts';

/**
 * The query that a fragment is part of was parsed with the features that are switched on. The fragment's text is then
 * parsed with all features on.
 */
const everyFeature: LanguageOptions = {
  experimentalFunctions: true,
  fillModifiers: true,
  extendedRangeSelectors: true,
};

const trees = new ParseCache(everyFeature);

/** The tree of a fragment's text. Errors: ParseError for a text that no plan creates. */
export const parseFragment = (text: string): ReturnType<ParseCache['parse']> => trees.parse(text);
