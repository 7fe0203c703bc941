/**
 * The whole proof in order, cheapest first: types, lint, generated files, unit and integration tests, e2e.
 * Every step runs even after a failure, so that one look shows everything. The end lists the ten slowest suites and what was skipped and why;
 * the last line is `N passed, N failed, N skipped`. With CI=true only what .ci/allowed-skips lists may be skipped.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { libfaketime } from '../src/testing/faketime.ts';
import { conformanceData, conformanceDir, type Need } from '../src/testing/needs.ts';
import {
  add,
  judgeInCi,
  lastLines,
  readAllowedSkips,
  slowestLines,
  suiteTimes,
  tallyOfCommand,
  tallyOfJest,
} from './test-all/tally.ts';
import type { JestReport, SuiteTime, Tally } from './test-all/tally.ts';

const scratch = await mkdtemp(join(tmpdir(), 'svc-test-'));
interface Step {
  name: string;
  command: string[];
  /** The file of its report, where it is a run of Jest. */
  jest?: string;
}

let total: Tally = { passed: 0, failed: 0, skipped: [] };
const times: SuiteTime[] = [];
const steps: Step[] = [
  { name: 'types', command: ['npm', 'run', '-s', 'typecheck'] },
  { name: 'lint', command: ['npm', 'run', '-s', 'lint'] },
  { name: 'generated files are current', command: ['npm', 'run', '-s', 'generate', '--', '--check'] },
  { name: 'unit and integration', command: ['npm', 'run', '-s', 'test', '--'], jest: 'unit.json' },
  ...needed(libfaketime, 'unit and integration across a leap day', {
    command: ['npm', 'run', '-s', 'test:calendar', '--', '--fast'],
    jest: 'calendar.json',
  }),
  ...needed(conformanceData, 'PromQL conformance', {
    command: ['npm', 'run', '-s', 'conformance:promql', '--', '--dir', conformanceDir],
  }),
  { name: 'e2e on a real control plane', command: ['npm', 'run', '-s', 'e2e', '--'], jest: 'e2e.json' },
];

let child: ReturnType<typeof spawn> | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    child?.kill(signal);
    process.exitCode = 130;
    steps.length = 0;
  });
}

try {
  for (const step of [...steps]) {
    if (steps.length === 0) break;
    const started = Date.now();
    console.error(`\n▶ ${step.name}`);
    const report = step.jest ? join(scratch, step.jest) : undefined;
    const code = await run([...step.command, ...(report ? ['--json', `--outputFile=${report}`] : [])]);
    const results = report ? await jestReport(report) : undefined;
    times.push(...suiteTimes(results));
    const tally = report ? tallyOfJest(results, code) : tallyOfCommand(code);
    total = add(total, tally);
    const seconds = Math.round((Date.now() - started) / 1000);
    const counts = `${tally.passed} passed, ${tally.failed} failed, ${tally.skipped.length} skipped`;
    console.error(`${tally.failed === 0 ? '✔' : '✘'} ${step.name}: ${counts} in ${seconds} s`);
  }
} finally {
  await rm(scratch, { recursive: true, force: true });
}
const slowest = slowestLines(times, fileURLToPath(new URL('../', import.meta.url)));
if (slowest.length > 0) console.error(`\n${slowest.join('\n')}`);
const inCi = ['true', '1'].includes(process.env['CI'] ?? '');
const allowed = readAllowedSkips(await readFile(new URL('../.ci/allowed-skips', import.meta.url), 'utf8'));
const { tally, refused } = inCi ? judgeInCi(total, allowed) : { tally: total, refused: [] };
console.log(lastLines(tally, refused).join('\n'));
if (tally.failed > 0) process.exitCode ??= 1;

/** The step where its need is met; elsewhere it is a skip. */
function needed(need: Need, name: string, step: Omit<Step, 'name'>): Step[] {
  if (need.missing === undefined) return [{ name, ...step }];
  total = add(total, { passed: 0, failed: 0, skipped: [{ title: name, need: need.name, reason: need.missing }] });
  return [];
}

function run(command: string[]): Promise<number> {
  return new Promise((resolve) => {
    // Jest's JSON report goes to a file; what it prints to stdout besides is that same report again.
    child = spawn(command[0]!, command.slice(1), {
      stdio: ['ignore', command.includes('--json') ? 'ignore' : 2, 'inherit'],
    });
    child.on('error', (error) => {
      console.error(String(error));
      resolve(127);
    });
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/** Undefined where the run left none. */
async function jestReport(file: string): Promise<JestReport | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as JestReport;
  } catch {
    return undefined;
  }
}
