/**
 * All checks and tests, in two lanes side by side. In front the e2e tests, which mostly wait for a control plane: those
 * that measure one after another, then three of the others at a time. Behind them, at a lower priority and cheapest
 * first, what only computes: types, lint, unit and integration tests.
 * In CI a real node comes after both, alone.
 * Every step runs even after a failure, so that one look shows everything. Up to five suites of a step that fail run
 * once more, alone: a failure that does not repeat is named as unstable. The end lists the ten slowest suites, what was
 * skipped and why, and what failed; the last line is `N passed, N failed, N skipped`. With CI=true only what
 * .ci/allowed-skips lists may be skipped.
 */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { libfaketime } from '../src/testing/faketime.ts';
import { signalGroup } from '../e2e/cluster/processes.ts';
import { thisMachine, whyNoNode } from '../e2e/kubelet/needs.ts';
import { conformanceData, conformanceDir, type Need } from '../src/testing/needs.ts';
import { runLanes, type LaneStep } from './test-all/lanes.ts';
import {
  add,
  failureLines,
  judgeInCi,
  lastLines,
  readAllowedSkips,
  slowestLines,
  suitesToRepeat,
  suiteTimes,
  tallyOfCommand,
  tallyOfJest,
  withSecondLook,
} from './test-all/tally.ts';
import type { JestReport, SuiteTime, Tally } from './test-all/tally.ts';

const scratch = await mkdtemp(join(tmpdir(), 'svc-test-'));
interface Step extends LaneStep {
  command: string[];
  /** The file of its report, where it is a run of Jest, or of checks that report as Jest does. */
  jest?: string;
  /** Its arguments for that file and for the suites to run again, where they are not Jest's. */
  takes?: { readonly report: (file: string) => string[]; readonly again: (suites: readonly string[]) => string[] };
  /** Whether its command takes the files of suites to run. */
  bySuite?: boolean;
  /** Its suites run several at a time. */
  several?: boolean;
  /** Runs at a lower priority, and shows what it printed when it has ended. */
  behind?: true;
}

let total: Tally = { passed: 0, failed: 0, skipped: [] };
const times: SuiteTime[] = [];
const root = fileURLToPath(new URL('../', import.meta.url));
const failed: string[] = [];
const unstable: string[] = [];
const began = Date.now();
const inCi = ['true', '1'].includes(process.env['CI'] ?? '');
const programs = 'programs of the e2e tests';
const behind: Step[] = [
  { name: 'types, lint and format', command: ['npm', 'run', '-s', 'lint'] },
  ...needed(conformanceData, 'PromQL conformance', {
    command: ['npm', 'run', '-s', 'conformance:promql', '--', '--dir', conformanceDir],
  }),
  // Beside the first build of the programs, which takes every core for minutes, tests would run into their time limits.
  {
    name: 'unit and integration',
    after: programs,
    command: ['npm', 'run', '-s', 'test', '--'],
    jest: 'unit.json',
    bySuite: true,
    several: true,
  },
  ...needed(libfaketime, 'unit and integration across a leap day', {
    command: ['npm', 'run', '-s', 'test:calendar', '--', '--fast'],
    jest: 'calendar.json',
    bySuite: true,
    takes: { report: jsonReport, again: (suites) => [...suites] },
  }),
].map((step) => ({ ...step, behind: true as const }));
const inFront: Step[] = [
  { name: programs, command: ['npm', 'run', '-s', 'e2e:prepare'] },
  {
    name: 'e2e within seconds',
    command: ['npm', 'run', '-s', 'e2e:run', '--', '--selectProjects=alone'],
    jest: 'e2e-alone.json',
    bySuite: true,
  },
  {
    name: 'e2e on a real control plane',
    command: ['npm', 'run', '-s', 'e2e:beside', '--', '--selectProjects=beside'],
    jest: 'e2e-beside.json',
    bySuite: true,
    several: true,
  },
];
/** A real kubelet with its pods, in CI alone: a quarter of an hour in which nothing else may run. */
const onANode: Step = {
  name: 'e2e on a real node',
  command: ['npm', 'run', '-s', 'e2e:node', '--'],
  jest: 'node.json',
  bySuite: true,
  takes: { report: (file) => ['--report', file], again: (groups) => ['--only', groups.join(',')] },
};
/**
 * The step on a node begins no later than this: on a new machine its programs are built first, another quarter of an
 * hour. Units: ms.
 */
const lastStartOfNodeMs = 45 * 60_000;
/** Three or four tests share a core, and a core of a shared machine may be slow: see `src/testing/until.ts`. */
const patience = '3';
/** A share of a core is enough for what only computes; the e2e tests measure times. */
const lowerPriority = ['nice', '-n', '5'];

/** Limit of the whole run: CI stops it after 90 minutes, and the last lines are to be written before. Units: ms. */
const limitMs = 83 * 60_000;

let isEnding = false;
const children = new Set<ReturnType<typeof spawn>>();
// Steps run in process groups of their own: a signal of the terminal does not reach them by itself.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    end(signal);
    process.exitCode = 130;
  });
}
const late = setTimeout(() => {
  failed.push(`not done within ${limitMs / 60_000} minutes: what runs is ended, and what comes after it is left out`);
  total = add(total, { passed: 0, failed: 1, skipped: [] });
  end('SIGTERM');
  setTimeout(() => end('SIGKILL'), 20_000).unref();
}, limitMs);

try {
  await runLanes([inFront, behind], runStep);
  if (inCi && !isEnding) for (const step of needed(needOfNode(), onANode.name, onANode)) await runStep(step);
} finally {
  clearTimeout(late);
  await rm(scratch, { recursive: true, force: true });
}
const slowest = slowestLines(times, root);
if (slowest.length > 0) console.error(`\n${slowest.join('\n')}`);
const allowed = readAllowedSkips(await readFile(new URL('../.ci/allowed-skips', import.meta.url), 'utf8'));
const { tally, refused } = inCi ? judgeInCi(total, allowed) : { tally: total, refused: [] };
console.log(lastLines(tally, refused, { failed, unstable }).join('\n'));
if (tally.failed > 0) process.exitCode ??= 1;

async function runStep(step: Step): Promise<void> {
  if (isEnding) return;
  const started = Date.now();
  console.error(`\n▶ ${step.name}${step.behind ? ', in the background' : ''}`);
  const report = step.jest ? join(scratch, step.jest) : undefined;
  const { tally, failures } = report ? await jestStep(step, report) : await commandStep(step);
  failed.push(...failures.map((line) => `${step.name}: ${line}`));
  total = add(total, tally);
  const seconds = Math.round((Date.now() - started) / 1000);
  const counts = `${tally.passed} passed, ${tally.failed} failed, ${tally.skipped.length} skipped`;
  console.error(`${tally.failed === 0 ? '✔' : '✘'} ${step.name}: ${counts} in ${seconds} s`);
}

interface Outcome {
  tally: Tally;
  /** A line for each failure. */
  failures: string[];
}

async function commandStep(step: Step): Promise<Outcome> {
  const { command } = step;
  const code = await run(step, command);
  return { tally: tallyOfCommand(code), failures: code === 0 ? [] : [`${command.join(' ')}: ended with ${code}`] };
}

/** The arguments that have Jest write its report. */
function jsonReport(file: string): string[] {
  return ['--json', `--outputFile=${file}`];
}

async function jestStep(step: Step, report: string): Promise<Outcome> {
  const { command, bySuite, several } = step;
  const json = (step.takes?.report ?? jsonReport)(report);
  let code = await run(step, [...command, ...json]);
  let results = await jestReport(report);
  times.push(...suiteTimes(results));
  const again = bySuite && !isEnding ? suitesToRepeat(results) : [];
  if (results && again.length > 0) {
    console.error(`\n▶ once more: ${again.length} that failed`);
    await rm(report, { force: true });
    const alone = several ? ['--runInBand'] : [];
    const only = step.takes?.again(again) ?? [...alone, '--runTestsByPath', ...again];
    const codeAgain = await run(step, [...command, ...json, ...only]);
    const second = await jestReport(report);
    if (second) {
      const before = failureLines(results, root);
      results = withSecondLook(results, second);
      const after = new Set(failureLines(results, root));
      unstable.push(...before.filter((line) => !after.has(line)));
      code = codeAgain;
    }
  }
  const tally = tallyOfJest(results, code);
  const failures = failureLines(results, root);
  return { tally, failures: tally.failed > 0 && failures.length === 0 ? [`ended with ${code}`] : failures };
}

function needOfNode(): Need {
  const late = Date.now() - began > lastStartOfNodeMs ? 'no time is left for it: run make e2e-node' : undefined;
  return { name: 'node', missing: whyNoNode(thisMachine()) ?? late };
}

/** The step where its need is met; elsewhere it is a skip. */
function needed(need: Need, name: string, step: Omit<Step, 'name'>): Step[] {
  if (need.missing === undefined) return [{ name, ...step }];
  total = add(total, { passed: 0, failed: 0, skipped: [{ title: name, need: need.name, reason: need.missing }] });
  return [];
}

/** Ends the steps that run, and leaves out those after them. */
function end(signal: NodeJS.Signals): void {
  isEnding = true;
  for (const { pid } of children) if (pid !== undefined) signalGroup(pid, signal);
}

/** The exit code. */
async function run({ name, behind: isBehind }: Step, command: readonly string[]): Promise<number> {
  if (!isBehind) return await start(command, 2);
  const file = join(scratch, `${name.replaceAll(' ', '-')}.log`);
  const log = openSync(file, 'w');
  const code = await start([...lowerPriority, ...command], log);
  closeSync(log);
  const text = await readFile(file, 'utf8');
  if (text.trim() !== '') console.error(`\n${name}:\n${text}`);
  return code;
}

function start([file = '', ...args]: readonly string[], output: number): Promise<number> {
  return new Promise((resolve) => {
    // Jest's JSON report goes to a file; what it prints to stdout besides is that same report again.
    // In a process group of its own, so that all that it started can be ended with it.
    const child = spawn(file, args, {
      stdio: ['ignore', args.includes('--json') ? 'ignore' : output, output],
      detached: true,
      env: { SVC_TEST_PATIENCE: patience, ...process.env },
    });
    children.add(child);
    child.on('error', (error) => {
      console.error(String(error));
      resolve(127);
    });
    child.on('close', (code) => {
      children.delete(child);
      resolve(code ?? 1);
    });
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
