import { maxPatternCost, patternCost } from './pattern-cost.ts';

/** The most of one request. */
export interface PatternBounds {
  /** Different regular expressions. */
  readonly patterns: number;
  /** The total cost of compiling them; `maxPatternCost` limits each single one. */
  readonly patternCost: number;
}

/**
 * The most of one request to an agent: twice what a query server lets a caller ask for. It adds namespaces, which cost
 * nothing.
 */
export const agentBounds: PatternBounds = { patterns: 100, patternCost: 60_000 };

/** Counts the different regular expressions of one request, and what they cost, before any of them is compiled. */
export class PatternLimits {
  readonly #bounds: PatternBounds;
  readonly #known = new Set<string>();
  #count = 0;
  #cost = 0;
  #matchCost = 0;

  constructor(bounds: PatternBounds) {
    this.#bounds = bounds;
  }

  /** What all that were counted cost for each character of a text. */
  get matchCost(): number {
    return this.#matchCost;
  }

  /** Counts a regular expression. Returns the reason to refuse it, or null. */
  add(pattern: string): string | null {
    if (this.#known.has(pattern)) return null;
    this.#known.add(pattern);
    const { compile, match } = patternCost(pattern);
    if (compile === 0) return null;
    this.#count++;
    this.#cost += compile;
    this.#matchCost += match;
    return (
      over('cost of a regular expression', compile, maxPatternCost) ??
      over('regular expressions', this.#count, this.#bounds.patterns) ??
      over('cost of all regular expressions', this.#cost, this.#bounds.patternCost)
    );
  }
}

/** The reason to refuse what exceeds a limit; null when it does not. */
export function over(what: string, found: number, limit: number): string | null {
  return found > limit ? `${what}: ${found}, at most ${limit}` : null;
}
