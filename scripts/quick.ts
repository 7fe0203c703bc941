/**
 * `make quick`: what the working tree's change can affect, in about a minute: format, lint, types, generated files, and
 * the unit tests that import a changed file. The change is all that differs from where the branch left `main`, committed
 * or not. Every step runs even after a failure; e2e tests never do.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { quickPlan } from './test-all/quick-plan.ts';

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
].filter((file) => existsSync(file));
const failed: string[] = [];
for (const { name, command } of quickPlan([...new Set(changed)].toSorted())) {
  const started = performance.now();
  console.error(`▶ ${name}`);
  const { status } = spawnSync(command[0]!, command.slice(1), { stdio: 'inherit' });
  if (status !== 0) failed.push(name);
  console.error(`${status === 0 ? '✔' : '✘'} ${name}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
}
console.error(failed.length === 0 ? `${changed.length} files changed: no fault found` : `failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
