import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installSupervisor } from './install-supervisor.ts';

let dir: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'supervisor-'));
  await installSupervisor(dir);
});
afterAll(() => rmSync(dir, { recursive: true }));

const node = (...args: string[]): [string, string[]] => [
  join(dir, 'ld.so'),
  ['--library-path', join(dir, 'lib'), join(dir, 'node'), ...args],
];

test('the installed Node loads no library from outside its folder', () => {
  const program =
    'process.report.excludeNetwork = true; console.log(JSON.stringify(process.report.getReport().sharedObjects))';
  const loaded = JSON.parse(execFileSync(...node('-e', program), { encoding: 'utf8', env: {} })) as string[];
  const files = loaded.filter((path) => path.startsWith('/'));
  expect(files).toContain(join(dir, 'lib', 'libc.so.6'));
  expect(files.filter((path) => !path.startsWith(`${dir}/`))).toEqual([]);
});

test('the installed supervisor script runs in a folder without package.json, and prints no warning', () => {
  const [program, args] = node(join(dir, 'supervise.mjs'), 'supervise', '--', '/none');
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env: {} });
  expect({ status, stderr }).toEqual({ status: 64, stderr: '' });
  expect(stdout).toContain('usage: supervise');
});

test('a second installation over the first one works and leaves no partial file', async () => {
  await installSupervisor(dir);
  expect(readdirSync(dir).toSorted()).toEqual(['ld.so', 'lib', 'node', 'supervise.mjs']);
  expect(readdirSync(join(dir, 'lib')).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});

test('on a full disk a complete installation stays, and one that lacks a file is refused', async () => {
  const files = ['node', 'ld.so', join('lib', 'libc.so.6'), 'supervise.mjs'].map((name) => join(dir, name));
  for (const file of files) mkdirSync(`${file}.tmp`);
  await installSupervisor(dir);
  const script = files.at(-1)!;
  const text = readFileSync(script);
  rmSync(script);
  await expect(installSupervisor(dir)).rejects.toThrow('EISDIR');
  for (const file of files) rmdirSync(`${file}.tmp`);
  await installSupervisor(dir);
  expect(readFileSync(script)).toEqual(text);
});

test.each([
  ['has lost its end', (file: string) => truncateSync(file, 0)],
  [
    'has other bytes',
    (file: string) => {
      const bytes = readFileSync(file);
      bytes[bytes.length - 1]! ^= 1;
      rmSync(file);
      writeFileSync(file, bytes);
    },
  ],
])('an installed file that %s is replaced', async (_, damage) => {
  const file = join(dir, 'node');
  damage(file);
  await installSupervisor(dir);
  expect(readFileSync(file).equals(readFileSync(process.execPath))).toBe(true);
  expect(statSync(file).mode & 0o777).toBe(0o555);
});
