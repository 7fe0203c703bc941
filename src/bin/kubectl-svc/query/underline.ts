/**
 * The line of an expression that an error of the language points at, with the place marked below it; undefined where the
 * error names no place. `message` has `line:column` (from 1, in characters), as Prometheus writes it. Pure.
 */
export function underlined(expression: string, message: string): string[] | undefined {
  const place = /\b(\d+):(\d+): parse error/.exec(message);
  if (!place) return undefined;
  const line = expression.split('\n')[Number(place[1]) - 1];
  const column = Number(place[2]) - 1;
  if (line === undefined || column > line.length) return undefined;
  const word = /^[\w:.]+/.exec(line.slice(column))?.[0].length ?? 1;
  // Tabs stay tabs, so that the mark stands below what it marks.
  const before = line.slice(0, column).replace(/[^\t]/g, ' ');
  return [line, `${before}^${'~'.repeat(word - 1)}`];
}
