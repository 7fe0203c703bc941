import { helpText, readFlags } from './flags.ts';
import type { Command } from './flags.ts';

const command = {
  name: 'bench:x',
  measures: 'Nothing.',
  options: {
    only: { kind: 'text', help: 'one part' },
    series: { kind: 'number', value: 1_000, quick: 10, help: 'series of each side' },
    seconds: { kind: 'number', value: 4, help: 'how long' },
  },
} as const satisfies Command;

test('--quick changes the defaults of numbers, but not numbers that are given', () => {
  expect(readFlags(command, [])).toEqual({
    ...{ only: '', series: 1_000, seconds: 4 },
    ...{ quick: false, runs: 5, help: false },
  });
  expect(readFlags(command, ['--quick', '--runs', '3'])).toMatchObject({
    series: 10,
    seconds: 4,
    runs: 3,
    quick: true,
  });
  expect(readFlags(command, ['--quick', '--series=7', '--only', 'a'])).toMatchObject({ series: 7, only: 'a' });
});

test.each([
  [['--runs=0'], '--runs is 0, not a whole number above 0'],
  [['--series=many'], '--series is many'],
  [['--serie=3'], '--serie'],
  [['extra'], 'extra'],
])('%j is refused with a reason and a hint at --help', (args, reason) => {
  expect(() => readFlags(command, args)).toThrow(reason);
  expect(() => readFlags(command, args)).toThrow('npm run bench:x -- --help');
});

test('the help names every flag with its value', () => {
  const help = helpText(command);
  expect(help).toContain('Nothing.');
  expect(help).toMatch(/--only TEXT +one part\n/);
  expect(help).toMatch(/--series N +series of each side \(1000, 10 with --quick\)\n/);
  expect(help).toMatch(/--seconds N +how long \(4\)\n/);
  expect(help).toMatch(/--quick\b/);
  expect(help).toMatch(/--help\b/);
  expect(help).toMatch(/--runs N +runs of each figure; ours and the peer take turns \(5, 2 with --quick\)\n/);
});

test("a benchmark's own flag replaces a common flag of the same name", () => {
  const runs = { kind: 'number', value: 20, quick: 4, help: 'edits' } as const;
  const own = { name: 'bench:y', measures: 'Edits.', options: { runs } };
  expect([readFlags(own, []).runs, readFlags(own, ['--quick']).runs]).toEqual([20, 4]);
  expect(helpText(own)).toMatch(/--runs N +edits \(20, 4 with --quick\)/);
});
