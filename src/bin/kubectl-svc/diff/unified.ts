import { lineDiff } from '../../install/object-diff.ts';

/** Lines around a change. */
const context = 3;

/**
 * The difference of two texts as `diff -u` writes it, without its two lines of heading. Empty for equal texts. Pure.
 */
export function unifiedDiff(before: string, after: string): string[] {
  const all = lineDiff(before, after, Number.MAX_SAFE_INTEGER);
  const changed = all.flatMap((line, i) => (line.startsWith(' ') ? [] : [i]));
  const hunks: { from: number; to: number }[] = [];
  for (const i of changed) {
    const [from, to] = [Math.max(0, i - context), Math.min(all.length - 1, i + context)];
    const last = hunks.at(-1);
    if (last && from <= last.to + 1) last.to = to;
    else hunks.push({ from, to });
  }
  let [a, b, at] = [0, 0, 0];
  return hunks.flatMap(({ from, to }) => {
    for (; at < from; at++) [a, b] = [a + oldLine(all[at]!), b + newLine(all[at]!)];
    const lines = all.slice(from, to + 1);
    const [olds, news] = [sum(lines, oldLine), sum(lines, newLine)];
    return [`@@ -${range(a, olds)} +${range(b, news)} @@`, ...lines];
  });
}

const oldLine = (line: string): number => (line.startsWith('+') ? 0 : 1);
const newLine = (line: string): number => (line.startsWith('-') ? 0 : 1);
const sum = (lines: readonly string[], of: (line: string) => number): number =>
  lines.reduce((n, line) => n + of(line), 0);

/** An empty range names the line before it. */
function range(before: number, count: number): string {
  const start = count === 0 ? before : before + 1;
  return count === 1 ? `${start}` : `${start},${count}`;
}
