/**
 * The whole proof in order, cheapest first: types, lint, generated files, unit and integration tests, e2e.
 * Every step runs even after a failure, so that one look shows everything; the last line is `N passed, N failed`.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Tally {
  passed: number;
  failed: number;
}

const scratch = await mkdtemp(join(tmpdir(), 'svc-test-'));
const total: Tally = { passed: 0, failed: 0 };
const steps: { name: string; command: string[]; jest?: string }[] = [
  { name: 'types', command: ['npm', 'run', '-s', 'typecheck'] },
  { name: 'lint', command: ['npm', 'run', '-s', 'lint'] },
  { name: 'generated files are current', command: ['npm', 'run', '-s', 'generate', '--', '--check'] },
  { name: 'unit and integration', command: ['npm', 'run', '-s', 'test', '--'], jest: 'unit.json' },
  ...conformance(),
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
    const tally = report ? await jestTally(report, code) : { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1 };
    total.passed += tally.passed;
    total.failed += tally.failed;
    const seconds = Math.round((Date.now() - started) / 1000);
    console.error(
      `${tally.failed === 0 ? '✔' : '✘'} ${step.name}: ${tally.passed} passed, ${tally.failed} failed in ${seconds} s`,
    );
  }
} finally {
  await rm(scratch, { recursive: true, force: true });
}
console.log(`${total.passed} passed, ${total.failed} failed`);
if (total.failed > 0) process.exitCode ??= 1;

/** Prometheus' own test scripts and recorded answers are not part of this repository; where they are, they must pass. */
function conformance(): { name: string; command: string[] }[] {
  const dir = process.env['SVC_PROMQL_DATA'];
  if (!dir) {
    console.error('skipped: PromQL conformance, because SVC_PROMQL_DATA names no directory with its data');
    return [];
  }
  return [{ name: 'PromQL conformance', command: ['npm', 'run', '-s', 'conformance:promql', '--', '--dir', dir] }];
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

/** A suite that could not even start counts as one failure, and so does a run that left no report. */
async function jestTally(file: string, code: number): Promise<Tally> {
  try {
    const report = JSON.parse(await readFile(file, 'utf8')) as {
      numPassedTests: number;
      numFailedTests: number;
      numRuntimeErrorTestSuites: number;
    };
    const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
    return { passed: report.numPassedTests, failed: failed === 0 && code !== 0 ? 1 : failed };
  } catch {
    return { passed: 0, failed: 1 };
  }
}
