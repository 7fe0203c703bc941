/**
 * Runs all checks and tests in two parallel lanes. The front lane runs the e2e tests, which mostly wait for a control
 * plane: first those that measure times, one after another, then the others, three at a time. The back lane runs the
 * steps that only compute, at a lower priority and cheapest first: types, lint, unit and integration tests. In CI, the
 * tests on a real node run alone after both lanes. Every step runs even after a failure, so that one run shows all
 * faults. Up to five failed suites of a step run once more, alone; a failure that does not repeat is reported as
 * unstable. The end lists the ten slowest suites, the skipped tests with their reasons, and the failures. The last line
 * is `N passed, N failed, N skipped`. With CI=true only tests that .ci/allowed-skips lists may be skipped.
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
  /** Name of its report file; for a step that runs Jest, or whose program writes a report in Jest's form. */
  jest?: string;
  /** Its arguments for the report file and for the suites to repeat, if they differ from Jest's. */
  takes?: { readonly report: (file: string) => string[]; readonly again: (suites: readonly string[]) => string[] };
  /** Its command accepts the suites to run. */
  bySuite?: boolean;
  /** It runs several suites at a time. */
  several?: boolean;
  /** Runs at a lower priority, and prints its output when it ends. */
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
  // The first build of the programs takes every core for minutes. Tests beside it would exceed their time limits.
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
/** A real kubelet with its pods, only in CI: nothing else may run during this quarter of an hour. */
const onANode: Step = {
  name: 'e2e on a real node',
  command: ['npm', 'run', '-s', 'e2e:node', '--'],
  jest: 'node.json',
  bySuite: true,
  takes: { report: (file) => ['--report', file], again: (groups) => ['--only', groups.join(',')] },
};
/**
 * The step on a node begins no later than this. It takes a quarter of an hour, and on a new machine as long again to
 * build its programs first. Units: ms.
 */
const lastStartOfNodeMs = 45 * 60_000;
/** Multiplies time limits: three or four tests share a core, which may itself be slow. See `src/testing/until.ts`. */
const patience = '3';
/** Lowers the priority of steps that only compute, as the e2e tests measure times. */
const lowerPriority = ['nice', '-n', '5'];

/** Limit of the whole run: CI stops it after 90 minutes, and the last lines must be printed before that. Units: ms. */
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

/** The arguments that make Jest write its report. */
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

/** The step if its need is met; otherwise an empty list, and the skip is counted. */
function needed(need: Need, name: string, step: Omit<Step, 'name'>): Step[] {
  if (need.missing === undefined) return [{ name, ...step }];
  total = add(total, { passed: 0, failed: 0, skipped: [{ title: name, need: need.name, reason: need.missing }] });
  return [];
}

/** Ends the running steps, and leaves out all later steps. */
function end(signal: NodeJS.Signals): void {
  isEnding = true;
  for (const { pid } of children) if (pid !== undefined) signalGroup(pid, signal);
}

/** Runs a command of a step. Returns its exit code. */
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
    // Jest writes its JSON report to a file and again to stdout, so its stdout is ignored. The command has its own
    // process group, so that all its descendants can be ended with it.
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

/** Undefined if the run wrote no report. */
async function jestReport(file: string): Promise<JestReport | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as JestReport;
  } catch {
    return undefined;
  }
}
