import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const quiet = ['--disable-warning=ExperimentalWarning'];

/** The exit code and the log of a process that does this work, after other statements. */
function run(work: string, before = ''): { status: number | null; log: string } {
  const program = `
    import { endAtSigterm, runMain } from ${JSON.stringify(import.meta.resolve('./main.ts'))};
    import { OperatorError } from ${JSON.stringify(import.meta.resolve('../base/errors.ts'))};
    ${before}
    await runMain('info', ${work});`;
  const args = [...quiet, '--input-type=module', '-e', program];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 8e6 });
  return { status, log: stdout + stderr };
}

/** The exit code and the log of a process whose work fails with this error after SIGTERM. */
function endsWith(error: string): { status: number | null; log: string } {
  return run(`({ signal }) => new Promise((_resolve, reject) => {
    // The abort listener does not keep the process alive, but a timer does.
    const kept = setInterval(() => undefined, 60_000);
    signal.addEventListener('abort', () => (clearInterval(kept), reject(${error})));
    process.kill(process.pid, 'SIGTERM');
  })`);
}

const lost = "new OperatorError('ERR_LEASE_LOST', 'the lease is lost')";

test.each([
  ['one error of ours', lost],
  ['several errors, one of them ours', `new AggregateError([new Error('socket closed'), ${lost}])`],
])('a process that fails while it stops says so: %s', (_, error) => {
  const { status, log } = endsWith(error);
  expect(status).toBe(1);
  expect(log).toContain('"code":"ERR_LEASE_LOST"');
  expect(log).toContain('the lease is lost');
});

test('an error from closing a connection while the process stops is not a failure', () => {
  expect(endsWith("new AggregateError([new Error('socket closed')])").status).toBe(0);
});

test.each([
  ['success', 0, ''],
  ['a failure', 1, "throw new Error('at the end')"],
])('all that a process wrote is read before it ends after %s', (_, code, end) => {
  const { status, log } = run(`async () => { process.stderr.write('k'.repeat(3e6) + '\\n'); ${end} }`);
  expect([status, log.indexOf('\n')]).toEqual([code, 3e6]);
  expect(log.includes('at the end')).toBe(code === 1);
});

test.each([
  ['svc.ts', 'operator', 'controllers/operator-settings.ts'],
  ['svc.ts', 'query', 'query/settings.ts'],
  ['svc.ts', 'agent', 'agent/settings.ts'],
  ['minter.ts', 'server', 'minter/setting-table.ts'],
])('%s %s handles SIGTERM before it loads the first module on demand, %s', (program, command, module) => {
  const preload = `
    import { registerHooks } from 'node:module';
    registerHooks({
      load(url, context, next) {
        if (url.endsWith('/src/${module}')) process.exit(process.listenerCount('SIGTERM') === 1 ? 42 : 1);
        return next(url, context);
      },
    });`;
  const hooks = ['--import', `data:text/javascript,${encodeURIComponent(preload)}`];
  const entry = fileURLToPath(import.meta.resolve(`./${program}`));
  const { status, stderr } = spawnSync(process.execPath, [...quiet, ...hooks, entry, command], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 42, stderr: '' });
});

/** Sends SIGTERM to the process itself, which gets it as soon as it waits. */
const terminate = "endAtSigterm(); process.kill(process.pid, 'SIGTERM');";
/** Keeps the process alive for ten seconds. */
const wait = 'setTimeout(() => undefined, 10_000)';

test('SIGTERM before the work begins ends the process with 143', () => {
  const { status, log } = run('async () => undefined', `${terminate} await new Promise(() => ${wait});`);
  expect({ status, log }).toEqual({ status: 143, log: '' });
});

test('SIGTERM at the very beginning of the work stops it', () => {
  const { status, log } = run(
    `({ signal }) => new Promise((resolve) => {
      const kept = ${wait};
      signal.addEventListener('abort', () => (clearTimeout(kept), resolve()));
    })`,
    terminate,
  );
  expect(status).toBe(0);
  expect(log).toContain('"msg":"stopping"');
});
