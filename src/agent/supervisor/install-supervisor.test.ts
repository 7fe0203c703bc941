import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
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
