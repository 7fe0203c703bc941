import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandOf, parts } from '../bench/tables/parts.ts';
import { placesOf, withTables } from '../bench/tables/render.ts';
import { readResults } from '../bench/tables/results.ts';

const read = (file: string): string => readFileSync(join(import.meta.dirname, '..', file), 'utf8');
const guide = read('docs/guides/benchmarks.md');
const results = readResults(read('bench/tables/results.jsonl'));
const scripts = (JSON.parse(read('package.json')) as { scripts: Record<string, string> }).scripts;

/** A guide without its tables, commands and code. */
function prose(text: string): string {
  return (
    text
      .replaceAll(/<!-- begin table: (\S+) -->[^]*?<!-- end table: \1 -->/g, '')
      .replaceAll(/^ {4}.*$/gm, '')
      .replaceAll(/`[^`]*`/g, '')
      // A goal is not a measurement.
      .replaceAll(/\b[Gg]oal [\d.]+ \w+/g, '')
  );
}

/** A number with a unit of measurement, a factor, or a fraction below one. */
const measured = /\d ?(ms|µs|s|MiB|MB|kB|GiB|%|times)\b|\d ?%|\d ×(?! 6 h)|\b0\.\d/;

test('the tables of the guide match the recorded results', () => {
  expect(withTables(guide, parts, results)).toBe(guide);
});

test('every benchmark part has one table in the guide, and every table belongs to a part', () => {
  expect(placesOf(guide).toSorted()).toEqual(parts.map(({ name }) => name).toSorted());
});

test('every result belongs to an existing part, and was run by its command', () => {
  const commands = Object.fromEntries(parts.map((part) => [part.name, commandOf(part)]));
  const ran = results.map(({ run }) => run);
  expect(ran.filter(({ part, command }) => !command.startsWith(commands[part] ?? 'no part'))).toEqual([]);
  expect(new Set(ran.map(({ part }) => part)).size).toBe(ran.length);
});

test.each(parts.map((part) => [part.name, part] as const))('part %s has a script in package.json', (_n, part) => {
  expect(scripts[part.script]).toMatch(/^node bench\/\S+\.ts$/);
});

test('every table of the guide covers five runs or more', () => {
  const runs = [...guide.matchAll(/^- (\d+) runs;/gm)].map(([, count]) => Number(count));
  expect(runs.length).toBeGreaterThan(9);
  expect(runs.filter((count) => count < 5)).toEqual([]);
});

test('the guide has no measured figure outside of its tables', () => {
  expect(
    prose(guide)
      .split('\n')
      .filter((line) => measured.test(line)),
  ).toEqual([]);
});

test.each(['a mint takes 1.8 ms', '0.32 of Prometheus', 'costs 12 % more', 'memory is 228 MiB'])(
  'the check finds a figure in %j',
  (text) => expect(measured.test(prose(text))).toBe(true),
);

test('the check finds no figure in sizes, commands and tables', () => {
  const table = '<!-- begin table: x -->\n12 ms\n<!-- end table: x -->';
  for (const text of ['9,300 series × 6 h', '`--seconds 4 s`', '    npm run x # 4 s', table]) {
    expect(measured.test(prose(text))).toBe(false);
  }
});
