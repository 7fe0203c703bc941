import { over, PatternLimits } from '../../base/text/pattern-limits.ts';
import { queryLimits } from '../limits.ts';
import { childrenOf, type Expr } from './ast.ts';

/**
 * Counts the characters, selectors, matchers, listed labels and regular expressions of one query while it is parsed, or
 * of all selectors of one request. Each method returns the reason to refuse, or null.
 */
export class TextLimits {
  #length = 0;
  #selectors = 0;
  #matchers = 0;
  #listedLabels = 0;
  readonly #patterns = new PatternLimits(queryLimits);

  text(text: string): string | null {
    this.#length += text.length;
    return tooLarge('characters', this.#length, queryLimits.textLength);
  }

  selector(): string | null {
    return tooLarge('selectors', ++this.#selectors, queryLimits.selectors);
  }

  matcher(): string | null {
    return tooLarge('matchers', ++this.#matchers, queryLimits.matchers);
  }

  listedLabel(): string | null {
    return tooLarge('labels in lists', ++this.#listedLabels, queryLimits.listedLabels);
  }

  /** Counts a regular expression, before it is compiled. */
  pattern(pattern: string): string | null {
    return told(this.#patterns.add(pattern));
  }
}

function tooLarge(what: string, found: number, limit: number): string | null {
  return told(over(what, found, limit));
}

function told(reason: string | null): string | null {
  return reason && `query is too large: ${reason}`;
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
