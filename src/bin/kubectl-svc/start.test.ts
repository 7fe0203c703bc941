import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createCa, issueLeaf } from '../../net/ca.ts';

const bin = join(import.meta.dirname, '..');

/** Runs a program of the plugin, and returns also which modules it loaded. */
function start(
  program: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): { status: number | null; stdout: string; stderr: string; loaded: string[] } {
  const dir = mkdtempSync(join(tmpdir(), 'svc-start-'));
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(bin, program), ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: dir, NODE_V8_COVERAGE: dir, ...env },
  });
  const loaded = readdirSync(dir).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(dir, name), 'utf8')) as { result: { url: string }[] };
    return result.map(({ url }) => url);
  });
  rmSync(dir, { recursive: true });
  return { status, stdout, stderr, loaded };
}

test.each([
  ['kubectl-svc.ts', '--help'],
  ['kubectl-svc.ts', 'query --help'],
  ['kubectl-svc.ts', 'top --help'],
  ['kubectl-complete-svc.ts', 'top pods --so'],
  ['kubectl-svc.ts', '__complete top pods --so'],
])('%s %s loads neither client-node nor the PromQL engine', (program, args) => {
  const { status, stdout, loaded } = start(program, args.split(' '));
  expect(status).toBe(0);
  expect(stdout).toMatch(/Usage: kubectl svc|--sort-by/);
  expect(loaded.some((url) => url.endsWith('kubectl-svc/program.ts'))).toBe(true);
  expect(loaded.filter((url) => /client-node|\/src\/(kube|promql|query|controllers)\//.test(url))).toEqual([]);
});

test('without a command the plugin prints its help; without a cluster it says what to set', () => {
  expect(start('kubectl-svc.ts')).toMatchObject({ status: 0, stdout: expect.stringContaining('Usage: kubectl svc') });
  const { status, stdout, stderr } = start('kubectl-svc.ts', ['query', '1']);
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/error: no KUBECONFIG, .*\n {2}name a kubeconfig with --kubeconfig/);
  expect(start('kubectl-svc.ts', ['frobnicate'])).toMatchObject({ status: 2, stdout: '' });
});

test('a variable that is empty counts as unset: no server is named', () => {
  const { stderr } = start('kubectl-svc.ts', ['query', '1'], { SVC_SERVER: '', SVC_TOKEN: '' });
  expect(stderr).toMatch(/^error: no KUBECONFIG, /);
});

test('an answer that is longer than a pipe holds reaches its reader whole', async () => {
  const answer = JSON.stringify({ status: 'success', data: { resultType: 'string', result: [1, 'k'.repeat(3e6)] } });
  const authority = await createCa({ commonName: 'test', now: Date.now(), days: 1 });
  const names = { commonName: 'q', dnsNames: [], ipAddresses: ['127.0.0.1'] };
  const leaf = await issueLeaf(authority, names, { now: Date.now(), days: 1 });
  const server = createServer(leaf, (_request, response) => response.end(answer));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const flags = ['--server', url, '--insecure-skip-tls-verify', '--token', 't', '-o', 'json', '1'];
  const child = spawn(process.execPath, [join(bin, 'kubectl-svc.ts'), 'query', ...flags]);
  const ended = once(child, 'exit');
  await once(child.stdout, 'readable');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  server.close();
  expect([stderr, await ended, stdout.length]).toEqual(['', [0, null], answer.length + 1]);
});
