import { ParseCache } from '../parser/parse-cache.ts';
import type { LanguageOptions } from '../types.ts';

/**
 * A fragment is a part of a query that has already been parsed with the features that are switched on. So the
 * fragment's text is parsed with all features.
 */
const everyFeature: LanguageOptions = {
  experimentalFunctions: true,
  fillModifiers: true,
  extendedRangeSelectors: true,
};

const trees = new ParseCache(everyFeature);

/** The tree of a fragment's text. Errors: ParseError for a text that no plan creates. */
export const parseFragment = (text: string): ReturnType<ParseCache['parse']> => trees.parse(text);
