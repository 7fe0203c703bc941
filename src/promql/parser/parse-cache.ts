import type { LanguageOptions } from '../types.ts';
import type { Expr } from './ast.ts';
import { parse } from './parser.ts';

/** The cache has at most `capacity` trees, each of a text of at most `longestText` characters: together a few MB. */
const capacity = 256;
const longestText = 4096;

/**
 * Parses, and caches the trees of the most recent texts: dashboards, alerts and autoscalers repeat the same queries. A
 * tree is immutable, so all evaluations can share it.
 */
export class ParseCache {
  readonly #options: LanguageOptions;
  /** In order of use, the latest last. */
  readonly #trees = new Map<string, Expr>();

  constructor(options: LanguageOptions) {
    this.#options = options;
  }

  /** As `parse`; errors are not cached. */
  parse(text: string): Expr {
    const known = this.#trees.get(text);
    if (known !== undefined) this.#trees.delete(text);
    const expr = known ?? parse(text, this.#options);
    if (text.length > longestText) return expr;
    this.#trees.set(text, expr);
    if (this.#trees.size > capacity) this.#trees.delete(this.#trees.keys().next().value!);
    return expr;
  }
}
