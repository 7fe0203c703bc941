import { ParseCache } from '../parser/parse-cache.ts';
import type { LanguageOptions } from '../types.ts';

/**
 * The query of a fragment has already passed the feature switches, so the fragment's text is parsed with all features
 * on.
 */
const everyFeature: LanguageOptions = {
  experimentalFunctions: true,
  fillModifiers: true,
  extendedRangeSelectors: true,
};

const trees = new ParseCache(everyFeature);

/** The tree of a fragment's text. Errors: ParseError for a text that no plan creates. */
export const parseFragment = (text: string): ReturnType<ParseCache['parse']> => trees.parse(text);
