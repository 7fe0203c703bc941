import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { needing } from '../../src/testing/needs.ts';
import { findMoved, movableDates } from './moved.ts';

const run = promisify(execFile);
const day = 86_400;
let moved: string;
const at = async (seconds: number, ...command: string[]): Promise<string> =>
  (await run(moved, [String(seconds), ...command])).stdout.trim();
/** How far ahead of this process a printed number of seconds is. */
const ahead = (text: string): number => Number(text) - Date.now() / 1000;
const print = 'console.log(Date.now() / 1000)';

needing(movableDates).describe('a command at another date', () => {
  beforeAll(async () => {
    moved = await findMoved();
  }, 300_000);

  test.each<[what: string, command: () => string[]]>([
    ['Node', () => [process.execPath, '-e', print]],
    ['a C program', () => ['date', '+%s']],
    ['a Go program, which reads the clock without libc', () => [moved, 'now']],
    ['a process that a shell starts', () => ['sh', '-c', 'date +%s']],
    ['a process that a worker thread starts', () => [process.execPath, '-e', startsFromWorker]],
  ])('sees that date: %s', async (_what, command) => {
    for (const days of [1, 400, -40]) {
      const seen = ahead(await at(days * day, ...command()));
      expect(Math.abs(seen - days * day)).toBeLessThan(60);
    }
  });

  test('leaves durations alone', async () => {
    const script = `const [a, b] = [performance.now(), Date.now()];
      setTimeout(() => console.log(Math.abs(performance.now() - a - (Date.now() - b)) < 50), 100)`;
    expect(await at(400 * day, process.execPath, '-e', script)).toBe('true');
    // The monotonic clock itself is not moved either.
    const seconds = Number(await at(400 * day, process.execPath, '-e', 'console.log(process.hrtime()[0])'));
    expect(Math.abs(seconds - process.hrtime()[0])).toBeLessThan(60);
  });

  test('ends with the exit code of the command', async () => {
    await expect(at(day, 'sh', '-c', 'exit 7')).rejects.toMatchObject({ code: 7 });
    await expect(at(day, 'sh', '-c', 'kill -9 $$')).rejects.toMatchObject({ code: 137 });
    await expect(at(day, 'no-such-program')).rejects.toMatchObject({ code: 125 });
  });

  test('passes a signal on to the command', async () => {
    const script = `process.on('SIGTERM', () => process.exit(9)); console.log('up'); setInterval(() => {}, 1000)`;
    const child = spawn(moved, [String(day), process.execPath, '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    expect(await ended).toBe(9);
  });
});

const startsFromWorker = `const { Worker } = require('worker_threads');
  new Worker("console.log(require('child_process').execFileSync('date', ['+%s']).toString())", { eval: true })`;
