import { stringify } from 'yaml';
import type { KubeObject } from '../../api/meta.ts';

/** Members that only the server sets: differences in them are not shown. */
const serverMembers = ['managedFields', 'resourceVersion', 'generation', 'uid', 'creationTimestamp', 'selfLink'];

/**
 * The object as users write it. Values of Secrets are hidden, because a diff ends up in logs; one that differs from its
 * value in `before` says so.
 */
export function readable(object: KubeObject | undefined, before?: KubeObject): string {
  if (!object) return '';
  const { status: _status, metadata, apiVersion, kind, ...rest } = object;
  const own = Object.fromEntries(Object.entries(metadata).filter(([name]) => !serverMembers.includes(name)));
  const body: Record<string, unknown> = { apiVersion, kind, metadata: own, ...rest };
  if (object.kind === 'Secret') {
    for (const member of ['data', 'stringData'] as const)
      if (body[member]) body[member] = hidden(body[member], before?.[member] ?? {});
  }
  return stringify(body, { lineWidth: 0, aliasDuplicateObjects: false });
}

function hidden(values: object, before: object): Record<string, string> {
  const old = new Map(Object.entries(before));
  const shown = ([key, value]: [string, unknown]): [string, string] => [
    key,
    old.has(key) && old.get(key) !== value ? '(not shown, another value)' : '(not shown)',
  ];
  return Object.fromEntries(Object.entries(values).map(shown));
}

/** The difference of two states of an object, as `unifiedDiff` gives it; empty where nothing would change. Pure. */
export const objectDiff = (before: KubeObject | undefined, after: KubeObject): string[] =>
  unifiedDiff(readable(before), readable(after, before));

/** Unchanged lines shown on each side of a change. */
const context = 3;

/** The difference of two texts as `diff -u` writes it, without the two header lines. Empty for equal texts. Pure. */
export function unifiedDiff(before: string, after: string): string[] {
  const all = editScript(before, after);
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

/** The lines of one text in a hunk's header, as `start,count`. For an empty range, `start` is the line before it. */
function range(before: number, count: number): string {
  const start = count === 0 ? before : before + 1;
  return count === 1 ? `${start}` : `${start},${count}`;
}

/**
 * All lines of two texts, prefixed with ` ` (kept), `-` (removed) or `+` (added), with as few changes as possible. The
 * common start and end are skipped first, so that a long document with one change costs little.
 */
function editScript(before: string, after: string): string[] {
  const [a, b] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  return [
    ...a.slice(0, start).map((line) => ` ${line}`),
    ...commonSubsequence(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map((line) => ` ${line}`),
  ];
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

/** The edit script of two lists of lines, by their longest common subsequence. */
function commonSubsequence(a: readonly string[], b: readonly string[]): string[] {
  // Beyond this size the table of lengths would be large, and users do not read such a diff line by line.
  if (a.length * b.length > 4_000_000) return [...a.map((line) => `-${line}`), ...b.map((line) => `+${line}`)];
  const length = a.map(() => new Int32Array(b.length + 1)).concat([new Int32Array(b.length + 1)]);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      length[i]![j] = a[i] === b[j] ? length[i + 1]![j + 1]! + 1 : Math.max(length[i + 1]![j]!, length[i]![j + 1]!);
  const result: string[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      result.push(` ${a[i++]!}`);
      j++;
    } else if (j >= b.length || (i < a.length && length[i + 1]![j]! >= length[i]![j + 1]!)) result.push(`-${a[i++]!}`);
    else result.push(`+${b[j++]!}`);
  }
  return result;
}
