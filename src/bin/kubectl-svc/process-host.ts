import type { ReadStream, WriteStream } from 'node:tty';
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { exitCodes } from './errors.ts';
import { defaultColumns, type Host, type Output } from './host.ts';

const maxStdinBytes = 1024 * 1024;

/** The plugin's host in a real process. The first Ctrl-C lets a command end cleanly; a second ends it at once. */
export function processHost(process: NodeJS.Process, clock: Clock): Host {
  const abort = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (abort.signal.aborted) process.exit(exitCodes.interrupted);
      abort.abort(new OperatorError('ERR_ABORTED', name));
    });
  }
  return {
    stdout: output(process, process.stdout),
    stderr: output(process, process.stderr),
    readStdin: () => readAll(process.stdin),
    env: process.env,
    clock,
    signal: abort.signal,
  };
}

function output(process: NodeJS.Process, stream: WriteStream): Output {
  // `| head` closes the pipe early, which is not an error.
  stream.on('error', (error: NodeJS.ErrnoException) =>
    process.exit(error.code === 'EPIPE' ? exitCodes.fine : exitCodes.error),
  );
  return {
    write: (text) => void stream.write(text),
    isTerminal: stream.isTTY === true,
    get columns() {
      return stream.columns ?? defaultColumns;
    },
    get rows() {
      return stream.rows ?? 24;
    },
  };
}

async function readAll(stdin: ReadStream): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxStdinBytes)
      throw new OperatorError('ERR_TOO_LARGE', `standard input: more than ${maxStdinBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
