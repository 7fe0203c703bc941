import { EventEmitter } from 'node:events';
import { PassThrough, Readable, Writable } from 'node:stream';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { ClosedOutputError } from './errors.ts';
import { processHost } from './process-host.ts';

/** A stream whose reader is gone once `hasReader` is false. */
class Pipe extends Writable {
  hasReader = true;
  taken = '';
  /** Set while the reader takes nothing: ends the write that waits. */
  take: (() => void) | undefined;
  isSlow = false;
  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    if (this.isSlow) {
      this.take = () => done();
      return;
    }
    if (!this.hasReader) return done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    this.taken += chunk.toString();
    done();
  }
}

function aProcess(given: readonly string[] | Readable = []) {
  const stdout = new Pipe();
  const stderr = new Pipe();
  const exits: number[] = [];
  const process = Object.assign(new EventEmitter(), {
    stdin: given instanceof Readable ? given : Readable.from(given.map((text) => Buffer.from(text))),
    stdout,
    stderr,
    env: {},
    exit: (code: number) => exits.push(code),
  });
  return { process, stdout, stderr, exits, host: processHost(process as unknown as NodeJS.Process, new FakeClock()) };
}

test('a command goes on without stderr when its reader is gone', async () => {
  const { host, stdout, stderr, exits } = aProcess();
  stderr.hasReader = false;
  for (const text of ['progress', 'more']) {
    host.stderr.write(text);
    await settle();
  }
  host.stdout.write('result');
  expect([exits, host.signal.aborted, stdout.taken]).toEqual([[], false, 'result']);
});

test('a command is aborted when the reader of stdout is gone', async () => {
  const { host, stdout, exits } = aProcess();
  host.stdout.write('first');
  stdout.hasReader = false;
  host.stdout.write('second');
  await settle();
  host.stdout.write('third');
  await settle();
  expect([exits, stdout.taken, host.signal.reason]).toEqual([[], 'first', expect.any(ClosedOutputError)]);
});

test('output is drained when its reader has taken it, is gone, or the command is aborted', async () => {
  const states: string[] = [];
  const full = (): ReturnType<typeof aProcess> => {
    const one = aProcess();
    one.stdout.isSlow = true;
    one.host.stdout.write('x'.repeat(1_000_000));
    return one;
  };
  const [taken, gone, aborted] = [full(), full(), full()];
  for (const [name, { host }] of Object.entries({ taken, gone, aborted }))
    void host.stdout.drained().then(() => states.push(name));
  await settle();
  expect(states).toEqual([]);
  taken.stdout.take!();
  await settle();
  expect(states).toEqual(['taken']);
  gone.stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  await settle();
  expect(states).toEqual(['taken', 'gone']);
  aborted.process.emit('SIGINT');
  await settle();
  expect(states).toEqual(['taken', 'gone', 'aborted']);
  for (const { host } of [aProcess(), gone, aborted]) await host.stdout.drained();
});

test('the standard input may have as many bytes as the command takes; with more, the error tells the remedy', async () => {
  expect(await aProcess(['ab', 'cdé']).host.readStdin(6, 'less')).toBe('abcdé');
  await expect(aProcess(['ab', 'cdé']).host.readStdin(5, 'less')).rejects.toMatchObject({
    code: 'ERR_TOO_LARGE',
    message: 'standard input: more than 5 bytes',
    hints: ['less'],
  });
});

test.each(['SIGINT', 'SIGTERM'])('%s ends the wait for a standard input that does not end', async (name) => {
  const stdin = new PassThrough();
  const { process, host } = aProcess(stdin);
  stdin.write('sum(');
  let outcome: unknown = 'waits';
  const read = host.readStdin(100, 'less').catch((error: unknown) => (outcome = error));
  await settle();
  expect(outcome).toBe('waits');
  process.emit(name);
  await until('the end of the wait', () => outcome !== 'waits');
  await read;
  expect([outcome, stdin.destroyed]).toEqual([host.signal.reason, true]);
  await expect(host.readStdin(100, 'less')).rejects.toBe(host.signal.reason);
});

test('an error of the standard input is that of the read', async () => {
  const stdin = new PassThrough();
  const { host } = aProcess(stdin);
  stdin.destroy(new Error('EIO'));
  await expect(host.readStdin(100, 'less')).rejects.toThrow('EIO');
});

test('a terminal that does not know its size counts as one of 80 × 24', () => {
  const { host, stdout } = aProcess();
  Object.assign(stdout, { isTTY: true, columns: 0, rows: 0 });
  expect([host.stdout.columns, host.stdout.rows]).toEqual([80, 24]);
});
