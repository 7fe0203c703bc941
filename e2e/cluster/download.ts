import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EnvHttpProxyAgent, fetch } from 'undici';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { signsOfLife } from './progress.ts';

/** A published file. */
export interface Archive {
  /** The name in log lines and errors. */
  readonly name: string;
  readonly url: string;
  /** 128 hexadecimal digits, from the publisher's list. */
  readonly sha512: string;
  /** A longer file is refused. */
  readonly maxBytes: number;
}

export interface DownloadOptions {
  log: (line: string) => void;
  signal?: AbortSignal | undefined;
  /** How long the headers of an answer may take, redirects included. Default 3 s. */
  answerMs?: number;
  /** How long the next piece of the body may take. Default 15 s. */
  stallMs?: number;
  /** How long the whole download may take. Default 5 minutes: the alternative, a build from Go modules, takes ten. */
  totalMs?: number;
  clock?: Clock;
}

/**
 * Downloads the archive to `file`, through the proxy that the environment names.
 * Guarantees: if it resolves, the file has the SHA-512 of the publisher's list; if it rejects, no file is left.
 * Errors: a sentence that names archive and reason (no answer, status, cut, stalled, too slow, too long, another
 * SHA-512); the signal's reason when the signal aborts.
 */
export async function download(archive: Archive, file: string, options: DownloadOptions): Promise<void> {
  const { log, signal, answerMs = 3_000, stallMs = 15_000, totalMs = 300_000, clock = systemClock } = options;
  const abort = new AbortController();
  const deadline = (ms: number, reason: string): (() => void) =>
    clock.setTimeout(() => abort.abort(new Error(`${archive.name}: ${reason}`)), ms);
  const onAbort = (): void => abort.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  const cancelTotal = deadline(totalMs, `not complete after ${totalMs / 1000} s`);
  let cancelNext = deadline(answerMs, `no answer within ${answerMs / 1000} s from ${new URL(archive.url).host}`);
  let received = 0;
  const endSigns = signsOfLife(() => log(`downloading ${archive.name}: ${megabytes(received)} so far`), { clock });
  const agent = new EnvHttpProxyAgent();
  try {
    const response = await fetch(archive.url, { signal: abort.signal, dispatcher: agent });
    if (!response.ok || !response.body) throw new Error(`${archive.name}: ${archive.url} answers ${response.status}`);
    const hash = createHash('sha512');
    const judge = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of chunks) {
        cancelNext();
        cancelNext = deadline(stallMs, `nothing came for ${stallMs / 1000} s after ${megabytes(received)}`);
        received += chunk.length;
        if (received > archive.maxBytes) {
          throw new Error(`${archive.name}: longer than ${megabytes(archive.maxBytes)}, refused`);
        }
        hash.update(chunk);
        yield chunk;
      }
    };
    await pipeline(Readable.fromWeb(response.body), judge, createWriteStream(file), { signal: abort.signal });
    const found = hash.digest('hex');
    if (found !== archive.sha512) {
      throw new Error(`${archive.name}: refused, its SHA-512 is ${found}, the publisher's list has ${archive.sha512}`);
    }
    log(`downloaded ${archive.name}, ${megabytes(received)}; its SHA-512 is the one of the publisher's list`);
  } catch (error) {
    await rm(file, { force: true });
    if (abort.signal.aborted) throw abort.signal.reason;
    throw sentence(archive, error, received);
  } finally {
    cancelTotal();
    cancelNext();
    endSigns();
    signal?.removeEventListener('abort', onAbort);
    await agent.destroy();
  }
}

/** Why a connection failed is not in the message of the error from `fetch`, but in the error's `cause`. */
function sentence(archive: Archive, error: unknown, received: number): Error {
  if (!(error instanceof Error)) return new Error(`${archive.name}: ${String(error)}`);
  if (error.message.startsWith(`${archive.name}: `)) return error;
  const reason = error.cause instanceof Error ? error.cause.message : error.message;
  const where = received > 0 ? `the connection broke after ${megabytes(received)}` : 'cannot be reached';
  return new Error(`${archive.name}: ${where} (${reason})`, { cause: error });
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
