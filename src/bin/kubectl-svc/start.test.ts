import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const bin = join(import.meta.dirname, '..');

/** Runs a program of the plugin, and returns also which modules it loaded. */
function start(
  program: string,
  ...args: string[]
): { status: number | null; stdout: string; stderr: string; loaded: string[] } {
  const dir = mkdtempSync(join(tmpdir(), 'svc-start-'));
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(bin, program), ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: dir, NODE_V8_COVERAGE: dir },
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
  const { status, stdout, loaded } = start(program, ...args.split(' '));
  expect(status).toBe(0);
  expect(stdout).toMatch(/Usage: kubectl svc|--sort-by/);
  expect(loaded.some((url) => url.endsWith('kubectl-svc/program.ts'))).toBe(true);
  expect(loaded.filter((url) => /client-node|\/src\/(kube|promql|query|controllers)\//.test(url))).toEqual([]);
});

test('without a command the plugin prints its help; without a cluster it says what to set', () => {
  expect(start('kubectl-svc.ts')).toMatchObject({ status: 0, stdout: expect.stringContaining('Usage: kubectl svc') });
  const { status, stdout, stderr } = start('kubectl-svc.ts', 'query', '1');
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/error: no KUBECONFIG, .*\n {2}name a kubeconfig with --kubeconfig/);
  expect(start('kubectl-svc.ts', 'frobnicate')).toMatchObject({ status: 2, stdout: '' });
});
