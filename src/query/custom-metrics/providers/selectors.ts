import { childrenOf, print, printMatcher, type Expr, type Matcher } from '../../../promql/index.ts';

/** A selector as text: `name{a="b",…}`. */
export function selectorText(name: string, matchers: readonly Matcher[]): string {
  return `${name}{${matchers.map(printMatcher).join(',')}}`;
}

/** The times of the newest samples of a selector. */
export const timeOf = (selector: string): string => `timestamp(${selector})`;

/** The times of the instant selectors in an expression, each once and without offset; at most `limit`. */
export function sampleTimes(expr: Expr, limit = 4): string[] {
  const found = new Set<string>();
  const visit = (one: Expr): void => {
    if (one.kind === 'vector') found.add(print({ ...one, at: null, offset: { ms: 0 }, extension: null }));
    else for (const child of childrenOf(one)) visit(child);
  };
  visit(expr);
  return [...found].slice(0, limit).map(timeOf);
}

/** The longest time that a part of the expression looks back, 0 where nothing does. Units: ms. */
export function widestRange(expr: Expr): number {
  const own = (expr.kind === 'matrix' || expr.kind === 'subquery') && 'ms' in expr.range ? expr.range.ms : 0;
  return childrenOf(expr).reduce((widest, child) => Math.max(widest, widestRange(child)), own);
}
