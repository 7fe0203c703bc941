import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';

/** The exit code and the log of a process that does this work. */
function run(work: string): { status: number | null; log: string } {
  const program = `
    import { runMain } from ${JSON.stringify(import.meta.resolve('./main.ts'))};
    import { OperatorError } from ${JSON.stringify(import.meta.resolve('../base/errors.ts'))};
    await runMain('info', ${work});`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program];
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
