import { once } from 'node:events';
import { addAbortSignal, type Readable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { ClosedOutputError, exitCodes, PluginError } from './errors.ts';
import { defaultColumns, defaultRows, type Host, type Output } from './host.ts';

/**
 * The plugin's host in a real process. The first Ctrl-C lets a command end cleanly; a second ends it at once. A command
 * goes on when the reader of stderr has closed it. When the reader of stdout has, the command is aborted.
 */
export function processHost(process: NodeJS.Process, clock: Clock): Host {
  const abort = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (abort.signal.aborted) process.exit(exitCodes.interrupted);
      abort.abort(new OperatorError('ERR_ABORTED', name));
    });
  }
  return {
    stdout: output(process.stdout, abort.signal, (error) => {
      if (error.code !== 'EPIPE') process.exit(exitCodes.error);
      abort.abort(new ClosedOutputError());
    }),
    stderr: output(process.stderr, abort.signal, () => {}),
    readStdin: (maxBytes, remedy) => readAll(process.stdin, abort.signal, maxBytes, remedy),
    env: process.env,
    clock,
    signal: abort.signal,
  };
}

/** `onBroken` is called when the stream can take no more; what is written from then on is dropped. */
function output(stream: WriteStream, signal: AbortSignal, onBroken: (error: NodeJS.ErrnoException) => void): Output {
  let broken = false;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (broken) return;
    broken = true;
    onBroken(error);
  });
  return {
    write: (text) => {
      if (!broken) stream.write(text);
    },
    drained: async () => {
      if (!broken && stream.writableNeedDrain) await once(stream, 'drain', { signal }).catch(() => {});
    },
    isTerminal: stream.isTTY === true,
    // A terminal of an unknown size, as over a serial line, has 0 × 0.
    get columns() {
      return stream.columns || defaultColumns;
    },
    get rows() {
      return stream.rows || defaultRows;
    },
  };
}

/** `readStdin` of a host, for a given stream. */
export async function readAll(stdin: Readable, signal: AbortSignal, maxBytes: number, remedy: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of addAbortSignal(signal, stdin) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes)
        throw new PluginError('ERR_TOO_LARGE', `standard input: more than ${maxBytes} bytes`, { hints: [remedy] });
      chunks.push(chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  return Buffer.concat(chunks).toString('utf8');
}
