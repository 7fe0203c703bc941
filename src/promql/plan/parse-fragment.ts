import { ParseCache } from '../parser/parse-cache.ts';
import type { LanguageOptions } from '../types.ts';

/**
 * The query server has already refused queries that use features which are switched off. A fragment is a part of a query
 * that passed, so its text is parsed with all features allowed.
 */
const everyFeature: LanguageOptions = {
  experimentalFunctions: true,
  fillModifiers: true,
  extendedRangeSelectors: true,
};

const trees = new ParseCache(everyFeature);

/** The tree of a fragment's text. Errors: ParseError for a text that no plan creates. */
export const parseFragment = (text: string): ReturnType<ParseCache['parse']> => trees.parse(text);
