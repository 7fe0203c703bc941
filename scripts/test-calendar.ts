/**
 * Runs tests and the demo at other dates than today's:
 *   node scripts/test-calendar.ts [--fast [SUITE…] | --demo]
 * The dates are one day, 40 days and 400 days ahead, and the eve of the leap day of 2028. At each date it runs the unit
 * and integration tests, the e2e tests with dated data, and the demo's tour. If SVC_PROMQL_DATA is set, the e2e tests
 * include the recorded queries in that folder. `--fast` uses only the eve of the leap day. It runs the unit and
 * integration tests that read the clock or, if suites are named, only those, one after another. `--demo` runs only the
 * demo.
 *
 * Debian's libfaketime shifts the clock of the tests. Go programs read the time without libc, so a program of ours
 * shifts the clock of the demo, which is a whole cluster (ADR 39).
 */
import { spawn } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findMoved, movableDates } from '../e2e/calendar/moved.ts';
import { findFaketime, libfaketime } from '../src/testing/faketime.ts';

const { values: flags, positionals: named } = parseArgs({
  allowPositionals: true,
  options: {
    fast: { type: 'boolean', default: false },
    demo: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    outputFile: { type: 'string' },
  },
});
const root = join(import.meta.dirname, '..');
/** Seconds from now to the date: the offset by which the tests' clock is shifted. The shifted clock runs on. */
const ahead = (date: string): number =>
  date.startsWith('+') ? Number.parseInt(date) * 86_400 : Math.round((Date.parse(date) - Date.now()) / 1000);
const beforeLeapDay = '2028-02-28T23:59:50Z';
const dates = flags.fast ? [beforeLeapDay] : ['+1d', '+40d', '+400d', beforeLeapDay];
/** Matches tests that read the machine's clock. Other tests do not depend on the date. */
const readsClock = /systemClock|Date\.now\(\)|new Date\(\)|ShiftedClock|startQueryStage/;
/**
 * The e2e suites with dated data. Suites with Go programs are left out: libfaketime does not affect Go programs, which
 * would check our certificates against today's date.
 */
const withDatedData = ['e2e/promql/pushdown-goldens', 'e2e/tsdb/golden.e2e'];

function jest(date: string, args: readonly string[]): Promise<number> {
  const program = [
    '--experimental-vm-modules',
    '--no-compilation-cache',
    '--disable-warning=ExperimentalWarning',
    join(root, 'node_modules/jest/bin/jest.js'),
  ];
  const env = {
    ...process.env,
    TZ: 'UTC',
    LD_PRELOAD: findFaketime(),
    FAKETIME: `+${ahead(date)}`,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  return run([process.execPath, ...program, ...args], env);
}

function run([program, ...args]: readonly string[], env = process.env): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(program!, args, { cwd: root, env, stdio: 'inherit' });
    child.on('close', (code) => resolve(code ?? 1));
  });
}

const lacking = [...(flags.demo ? [] : [libfaketime]), ...(flags.fast ? [] : [movableDates])];
const missing = lacking.flatMap((need) => need.missing ?? []);
if (named.length > 0 && !flags.fast) missing.push(`suites are named with --fast only: ${named.join(' ')}`);
if (missing.length > 0) {
  console.error(missing.join('\n'));
  process.exit(2);
}
const moved = flags.fast ? '' : await findMoved();
if (!flags.fast && (await run([process.execPath, 'scripts/build/main.ts'])) !== 0) process.exit(1);
const report = flags.json ? ['--json', `--outputFile=${flags.outputFile}`] : [];
const clockReaders = globSync('{src,examples,ui}/**/*.test.ts', { cwd: root }).filter((file) =>
  readsClock.test(readFileSync(join(root, file), 'utf8')),
);
const suites = named.length > 0 ? ['--runInBand', '--runTestsByPath', ...named] : ['--runTestsByPath', ...clockReaders];
const failed: string[] = [];
const note = (what: string, code: number): void => void (code === 0 || failed.push(what));
for (const date of dates) {
  console.error(`\nat ${date}`);
  if (flags.fast) note(`tests at ${date}`, await jest(date, [...suites, ...report]));
  if (!flags.fast && !flags.demo) {
    note(`tests at ${date}`, await jest(date, []));
    note(`dated e2e at ${date}`, await jest(date, ['-c', 'jest.e2e.config.js', '--runInBand', ...withDatedData]));
  }
  if (flags.fast) continue;
  // The cluster takes most of a minute to start, so the demo starts 40 s earlier and the leap day begins in mid-tour.
  const seconds = ahead(date) - (date === beforeLeapDay ? 40 : 0);
  note(`demo at ${date}`, await run([moved, String(seconds), process.execPath, 'e2e/demo/demo.ts', '--once']));
}
if (failed.length > 0) {
  console.error(`\nfailed: ${failed.join(', ')}`);
  process.exitCode = 1;
}
