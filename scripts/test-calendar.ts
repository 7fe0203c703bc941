/**
 * Runs tests at other dates than today's, with Debian's libfaketime:
 *   node scripts/test-calendar.ts [--fast]
 * A day, 40 days and 400 days ahead, and across the leap day of 2028: the unit and integration tests, and the e2e tests
 * whose data has a date of its own (where SVC_PROMQL_DATA is set, with the recorded queries). `--fast`: across the leap
 * day only, the unit and integration tests that read the clock.
 *
 * The date is moved for Node alone: Go programs make their system calls themselves; files and processes get the
 * kernel's date. So a whole cluster cannot be moved this way.
 */
import { spawn } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findFaketime, libfaketime } from '../src/testing/faketime.ts';

const { values: flags } = parseArgs({
  options: {
    fast: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    outputFile: { type: 'string' },
  },
});
const root = join(import.meta.dirname, '..');
/** Ahead of today, so that every process of a run has the same date. libfaketime takes seconds. */
const ahead = (date: string): string => `+${Math.round((Date.parse(date) - Date.now()) / 1000)}`;
const beforeLeapDay = '2028-02-28T23:59:50Z';
const dates = flags.fast ? [beforeLeapDay] : ['+1d', '+40d', '+400d', beforeLeapDay];
/** What reads the machine's clock; the other tests have no date to be moved. */
const readsClock = /systemClock|Date\.now\(\)|new Date\(\)|ShiftedClock|startQueryStage/;
/** Without Go programs that judge certificates of ours: those run at today's date. */
const withDatedData = ['e2e/promql/pushdown-goldens', 'e2e/tsdb/golden.e2e'];

function jest(date: string, args: readonly string[]): Promise<number> {
  const program = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    join(root, 'node_modules/jest/bin/jest.js'),
  ];
  const env = {
    ...process.env,
    TZ: 'UTC',
    LD_PRELOAD: findFaketime(),
    FAKETIME: date,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...program, ...args], { cwd: root, env, stdio: 'inherit' });
    child.on('close', (code) => resolve(code ?? 1));
  });
}

if (libfaketime.missing !== undefined) {
  console.error(libfaketime.missing);
  process.exit(2);
}
const report = flags.json ? ['--json', `--outputFile=${flags.outputFile}`] : [];
const files = globSync('{src,examples,ui}/**/*.test.ts', { cwd: root }).filter((file) =>
  readsClock.test(readFileSync(join(root, file), 'utf8')),
);
let failed = 0;
for (const name of dates) {
  console.error(`\nat ${name}`);
  const date = name.startsWith('+') ? name : ahead(name);
  if ((await jest(date, flags.fast ? ['--runTestsByPath', ...files, ...report] : [])) !== 0) failed++;
  if (flags.fast) continue;
  if ((await jest(date, ['-c', 'jest.e2e.config.js', '--runInBand', ...withDatedData])) !== 0) failed++;
}
if (failed > 0) process.exitCode = 1;
