import type { LanguageOptions } from '../types.ts';
import type { Expr } from './ast.ts';
import { parse } from './parser.ts';

/** Most trees that are kept, and the longest text whose tree is: a few MB at the very most. */
const capacity = 256;
const longestText = 4096;

/**
 * Parses, and keeps the trees of the texts that came last: dashboards, alerts and autoscalers send the same ones again
 * and again. A tree is never changed, so that all evaluations can share it.
 */
export class ParseCache {
  readonly #options: LanguageOptions;
  /** The one used last comes last. */
  readonly #trees = new Map<string, Expr>();

  constructor(options: LanguageOptions) {
    this.#options = options;
  }

  /** As `parse`: errors are not kept. */
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
