import { figureLine } from '../run/figure.ts';
import { numberText, placesOf, tableOf, withTables } from './render.ts';
import { readResults, writeResults, type Result } from './results.ts';

const part = { name: 'p', script: 'bench:p', args: ['--only', 'p'] };
const run = {
  ...{ part: 'p', command: 'npm run bench:p -- --only p', at: '2026-11-23T13:25:00.000Z' },
  ...{ seconds: 61, load: 0.2, machine: '2 cores' },
};
const setting = { cores: 'one core', caches: 'warm' };
const five = [1, 2, 3, 4, 5_000];
const goal = { of: 'ratio', atMost: 1 } as const;
const compared = figureLine(setting, { name: 'p/compared', unit: 'ms', ours: five, peer: [2, 2, 2, 2, 2], goal });
const alone = figureLine({ ...setting, caches: 'cold' }, { name: 'p/alone', unit: 'B', ours: [7, 7, 7, 7, 7] });
const twice = figureLine(setting, { name: 'p/twice', unit: 'ms', ours: [1, 2] });
const result: Result = { run, figures: [compared, alone, twice] };

test('a part of a benchmark names its command and has a table for each setting, with cores, caches and spread', () => {
  expect(tableOf(part, result)).toBe(`\`npm run bench:p -- --only p\`, 2026-11-23, 61 s on 2 cores, load before it 0.2.

- Cores: one core
- Caches: warm
- 5 runs; each cell is min · **median** · max

| figure | unit | ours | peer | ratio | goal |
| --- | --- | --- | --- | --- | --- |
| \`p/compared\` | ms | 1 · **3** · 5,000 | **2** | 0.5 · **1.5** · 2,500 | ratio ≤ 1: **missed** |

- Cores: one core
- Caches: cold
- 5 runs; each cell is min · **median** · max

| figure | unit | ours |
| --- | --- | --- |
| \`p/alone\` | B | **7** |
`);
});

test('figures of fewer than five runs, and figures that a part does not show, are left out', () => {
  expect(tableOf(part, result)).not.toContain('p/twice');
  expect(tableOf({ ...part, shows: /alone$/ }, result)).not.toContain('compared');
  expect(tableOf(part, { run, figures: [twice] })).toContain('No run of five yet');
  expect(tableOf(part, undefined)).toContain('npm run bench:tables -- --only p');
});

test('a guide gets its tables between the markers, and writing them twice changes nothing', () => {
  const guide = 'before\n\n<!-- begin table: p -->\nold\n<!-- end table: p -->\n\nbehind\n';
  const once = withTables(guide, [part], [result]);
  expect(once).toMatch(/^before\n\n<!-- begin table: p -->\n\n`npm run[^]*\n<!-- end table: p -->\n\nbehind\n$/);
  expect(withTables(once, [part], [result])).toBe(once);
  expect(placesOf(once)).toEqual(['p']);
  expect(() => withTables('nothing', [part], [result])).toThrow('has no place <!-- begin table: p -->');
});

test('results are read as they were written', () => {
  expect(readResults(writeResults([result]))).toEqual([result]);
});

test.each([
  ['{"name":"x"}', 'line 1: a figure stands before the first part'],
  ['{"part":"p"}', 'line 1: command is not a text'],
  [`${JSON.stringify(run)}\n${JSON.stringify({ ...alone, ours: 8 })}`, 'line 2: ours is 8, not 7'],
  [`${JSON.stringify(run)}\n${JSON.stringify({ ...alone, caches: '' })}`, 'line 2: caches is not a text'],
  [
    `${JSON.stringify(run)}\n${JSON.stringify({ ...alone, runs: { count: 5, min: 9, median: 7, max: 9 } })}`,
    'line 2: runs is not in order: 9, 7, 9',
  ],
])('%j is refused', (text, reason) => {
  expect(() => readResults(text)).toThrow(reason);
});

test('numbers are rounded to three digits', () => {
  expect([0.12345, 12.345, 999.6, 123_456, 0].map(numberText)).toEqual(['0.123', '12.3', '1000', '123,000', '0']);
});
