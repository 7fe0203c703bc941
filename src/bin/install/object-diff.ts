import { stringify } from 'yaml';
import type { KubeObject } from '../../api/meta.ts';

/** Members that only the server sets: differences in them are not shown. */
const serverMembers = ['managedFields', 'resourceVersion', 'generation', 'uid', 'creationTimestamp', 'selfLink'];

/** The object as users write it. Values of Secrets are replaced by their length, because a diff ends up in logs. */
export function readable(object: KubeObject | undefined): string {
  if (!object) return '';
  const { status: _status, metadata, apiVersion, kind, ...rest } = object;
  const own = Object.fromEntries(Object.entries(metadata).filter(([name]) => !serverMembers.includes(name)));
  const body: Record<string, unknown> = { apiVersion, kind, metadata: own, ...rest };
  if (object.kind === 'Secret') {
    for (const member of ['data', 'stringData'] as const)
      if (body[member]) body[member] = Object.fromEntries(Object.keys(body[member]).map((key) => [key, '(not shown)']));
  }
  return stringify(body, { lineWidth: 0, aliasDuplicateObjects: false });
}

/**
 * What changes between two texts, as lines with three of context: ` `, `-` and `+` in front. Empty for equal texts.
 * Shape: pure. The longest common subsequence over lines; the common start and end are skipped first, so that a long
 * document with one change costs little.
 */
export function lineDiff(before: string, after: string, context = 3): string[] {
  const [a, b] = [lines(before), lines(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const middle = script(a.slice(start, a.length - end), b.slice(start, b.length - end));
  if (middle.length === 0) return [];
  const all = [
    ...a.slice(0, start).map((line) => ` ${line}`),
    ...middle,
    ...a.slice(a.length - end).map((line) => ` ${line}`),
  ];
  const near = all.map(() => false);
  all.forEach((line, i) => {
    if (line.startsWith(' ')) return;
    for (let j = Math.max(0, i - context); j <= Math.min(all.length - 1, i + context); j++) near[j] = true;
  });
  return all.flatMap((line, i) => (near[i] ? [line] : near[i - 1] ? [' …'] : []));
}

const lines = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

function script(a: readonly string[], b: readonly string[]): string[] {
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
