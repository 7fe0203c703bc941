/**
 * `make quick`: checks what the changes of the working tree can affect, in about a minute: format, lint, types,
 * generated files, and the unit tests that import a changed file. The changes are all differences from the branch's
 * merge base with `main`, committed or not. Two lanes of steps run in parallel. Every step runs even after a failure,
 * and prints its output when it ends. E2e tests never run.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { runLanes } from './test-all/lanes.ts';
import { quickPlan, type QuickStep } from './test-all/quick-plan.ts';

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim();
const lines = (text: string): string[] => (text === '' ? [] : text.split('\n'));

function base(): string {
  for (const branch of ['origin/main', 'main']) {
    const found = spawnSync('git', ['merge-base', 'HEAD', branch], { encoding: 'utf8' });
    if (found.status === 0) return found.stdout.trim();
  }
  return 'HEAD';
}

const changed = [
  ...lines(git('diff', '--name-only', base())),
  ...lines(git('ls-files', '--others', '--exclude-standard')),
];
const files = [...new Set(changed)].toSorted();
const present = files.filter((file) => existsSync(file));
const gone = files.filter((file) => !existsSync(file));
const failed: string[] = [];
await runLanes(quickPlan(present, gone), run);
console.error(failed.length === 0 ? `${files.length} files changed: no fault found` : `failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

function run({ name, command: [program = '', ...args] }: QuickStep): Promise<void> {
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    for (const output of [child.stdout, child.stderr]) output.setEncoding('utf8').on('data', (part) => (text += part));
    child.on('error', (error) => (text += String(error)));
    child.on('close', (code) => {
      if (code !== 0) failed.push(name);
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      console.error(`${text}${code === 0 ? '✔' : '✘'} ${name}: ${seconds} s`);
      resolve();
    });
  });
}
