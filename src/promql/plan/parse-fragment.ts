import { ParseCache } from '../parser/parse-cache.ts';
import { everyFeature } from './features.ts';

const trees = new ParseCache(everyFeature);

/** The tree of a fragment's text. Errors: ParseError for a text that no plan makes. */
export const parseFragment = (text: string): ReturnType<ParseCache['parse']> => trees.parse(text);
