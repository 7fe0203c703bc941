import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const cache = join(import.meta.dirname, 'compile-cache.ts');
let dir: string;
let parent: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'compiled-'));
  parent = join(dir, 'data/compiled');
  writeFileSync(join(dir, 'part.mjs'), `export const sum = (a, b) => a + b;\n${'/* long */'.repeat(500)}`);
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Runs a process of the build `commit`, which loads a module, writes the cache at once, and prints the result. */
async function start(commit: string): Promise<string> {
  const text = `
    import { compileCache } from ${JSON.stringify(cache)};
    const kept = compileCache(${JSON.stringify(parent)}, { version: '1.2.3', commit: '${commit}', date: '' });
    const { sum } = await import(${JSON.stringify(join(dir, 'part.mjs'))});
    kept.keep({ setTimeout: (fn) => (fn(), () => {}) });
    console.log(sum(20, 22));`;
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', text];
  const { stdout } = await promisify(execFile)(process.execPath, flags, { env: {} });
  return stdout.trim();
}

/** The files of compiled code. */
const entries = (): string[] =>
  readdirSync(parent, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

test('compiled code is in the folder of its build, and the folder of another build is deleted', async () => {
  expect(await start('a')).toBe('42');
  expect(readdirSync(parent)).toEqual(['1.2.3-a']);
  expect(entries().length).toBeGreaterThan(0);
  expect(await start('b')).toBe('42');
  expect(readdirSync(parent)).toEqual(['1.2.3-b']);
});

test.each([
  ['truncated', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
  ['empty', () => Buffer.alloc(0)],
  ['overwritten', (bytes: Buffer) => Buffer.from(bytes.map((byte) => byte ^ 0x55))],
  ['damaged after the header', (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 64), Buffer.alloc(bytes.length)])],
])('a start compiles its sources when the files of compiled code are %s', async (_how, damage) => {
  await start('a');
  const damaged = new Map(entries().map((path) => [path, damage(readFileSync(path))]));
  expect(damaged.size).toBeGreaterThan(0);
  for (const [path, bytes] of damaged) writeFileSync(path, bytes);
  expect(await start('a')).toBe('42');
  // The files were written again, for the next start.
  for (const [path, bytes] of damaged) expect(readFileSync(path).equals(bytes)).toBe(false);
});

test('a start works without the folder when it cannot be created', async () => {
  mkdirSync(join(dir, 'data'));
  writeFileSync(parent, 'a file');
  expect(await start('a')).toBe('42');
  expect(readFileSync(parent, 'utf8')).toBe('a file');
});
