import { EventEmitter } from 'node:events';
import { Writable } from 'node:stream';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { ClosedOutputError } from './errors.ts';
import { processHost } from './process-host.ts';

/** A stream whose reader is gone once `hasReader` is false. */
class Pipe extends Writable {
  hasReader = true;
  taken = '';
  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    if (!this.hasReader) return done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    this.taken += chunk.toString();
    done();
  }
}

function aProcess() {
  const stdout = new Pipe();
  const stderr = new Pipe();
  const exits: number[] = [];
  const process = Object.assign(new EventEmitter(), {
    stdout,
    stderr,
    env: {},
    exit: (code: number) => exits.push(code),
  });
  return { stdout, stderr, exits, host: processHost(process as unknown as NodeJS.Process, new FakeClock()) };
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

test('a terminal that does not know its size counts as one of 80 × 24', () => {
  const { host, stdout } = aProcess();
  Object.assign(stdout, { isTTY: true, columns: 0, rows: 0 });
  expect([host.stdout.columns, host.stdout.rows]).toEqual([80, 24]);
});
