import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../src/testing/until.ts';

function start(...args: string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'testdata/three-ways.ts'), ...args]);
  const seen = { out: '', err: '' };
  child.stdout.on('data', (part: Buffer) => (seen.out += part.toString()));
  child.stderr.on('data', (part: Buffer) => (seen.err += part.toString()));
  return { child, seen, code: once(child, 'close').then(([code]) => code as number) };
}

test.each(['work', 'leave'])(
  'a benchmark that works prints its figures and ends with 0, even if a timer or connection is left open (%s)',
  async (way) => {
    const { seen, code } = start(`--way=${way}`, '--runs=3');
    expect(await code).toBe(0);
    expect(JSON.parse(seen.out)).toMatchObject({ name: 'own', cores: 'one', runs: { count: 3 } });
  },
);

test.each([
  ['throw', 'bench:three-ways failed: Error: out of luck'],
  ['fail', 'bench:three-ways failed: two answers differ'],
])('a benchmark that fails (%s) says so and ends with 1', async (way, text) => {
  const { seen, code } = start(`--way=${way}`);
  expect(await code).toBe(1);
  expect(seen.err).toContain(text);
});

test('wrong flags end with 2, and --help with 0', async () => {
  const [wrong, value, help] = [start('--no-such-flag'), start('--way=out'), start('--help')];
  expect([await wrong.code, await value.code, await help.code]).toEqual([2, 2, 0]);
  expect(value.seen.err).toBe('bench:three-ways failed: --way is out\n');
  expect(wrong.seen.err).toContain('--no-such-flag');
  expect(help.seen.out).toContain('--way TEXT');
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('a benchmark that is ended by %s leaves no folder and no child process', async (signal, expected) => {
  const { child, seen, code } = start('--way=wait');
  await until('folder and child are there', () => seen.err.trim().split('\n').length === 2);
  const lines = seen.err.trim().split('\n');
  const folder = lines.find((line) => line.startsWith('/'))!;
  const pid = Number(lines.find((line) => line !== folder));
  expect(existsSync(folder)).toBe(true);
  child.kill(signal);
  expect(await code).toBe(expected);
  expect(existsSync(folder)).toBe(false);
  await until('the child has ended', () => !isRunning(pid));
  expect(isRunning(pid)).toBe(false);
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
