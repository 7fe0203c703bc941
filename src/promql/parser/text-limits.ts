import { maxPatternCost, patternCost } from '../../base/text/pattern-cost.ts';
import { queryLimits } from '../limits.ts';
import { childrenOf, type Expr } from './ast.ts';

/**
 * Counts the characters, selectors, matchers and regular expressions of a text while it is parsed: of one query, or of
 * several selectors of one request. Each method returns the reason to refuse, or null.
 */
export class TextLimits {
  #length = 0;
  #selectors = 0;
  #matchers = 0;
  #patternCost = 0;
  readonly #patterns = new Set<string>();

  text(text: string): string | null {
    this.#length += text.length;
    return over('characters', this.#length, queryLimits.textLength);
  }

  selector(): string | null {
    return over('selectors', ++this.#selectors, queryLimits.selectors);
  }

  matcher(): string | null {
    return over('matchers', ++this.#matchers, queryLimits.matchers);
  }

  /** Counts a regular expression, before it is compiled. */
  pattern(pattern: string): string | null {
    if (this.#patterns.has(pattern)) return null;
    const cost = patternCost(pattern);
    if (cost === 0) return null;
    this.#patterns.add(pattern);
    this.#patternCost += cost;
    return (
      over('cost of a regular expression', cost, maxPatternCost) ??
      over('regular expressions', this.#patterns.size, queryLimits.patterns) ??
      over('cost of all regular expressions', this.#patternCost, queryLimits.patternCost)
    );
  }
}

function over(what: string, found: number, limit: number): string | null {
  return found > limit ? `query is too large: ${what}: ${found}, at most ${limit}` : null;
}

/** The reason why a level of nesting is too deep; null for an allowed one. */
export function refuseDepth(depth: number): string | null {
  return depth > queryLimits.depth ? `expression nested deeper than ${queryLimits.depth} levels` : null;
}

/** The first part of a tree that is too deep, or null. Not recursive: a long chain of operators is a deep tree. */
export function tooDeep(expr: Expr): Expr | null {
  let level: Expr[] = [expr];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > queryLimits.depth) return level[0]!;
    level = level.flatMap(childrenOf);
  }
  return null;
}
