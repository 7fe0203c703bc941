import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** A signal that aborts when an answer's connection closes before the answer has ended. */
export function goneSignal(res: Writable): AbortSignal {
  const gone = new AbortController();
  const end = (): void => {
    if (!res.writableEnded) gone.abort(new Error('the client disconnected'));
  };
  if (res.destroyed) end();
  res.once('close', end);
  return gone.signal;
}

/**
 * Writes a part of an answer and waits as long as the reader is slow, or until `gone` aborts. Resolves with whether it
 * had to wait. Never rejects.
 */
export async function writePart(out: Writable, part: unknown, gone: AbortSignal): Promise<boolean> {
  if (gone.aborted || out.write(part)) return false;
  await once(out, 'drain', { signal: gone }).catch(() => {});
  return true;
}

/** As `writePart`, but resolves only when the part has been sent or `gone` aborts: its memory may then be reused. */
export function sendPart(out: Writable, part: Uint8Array, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      gone.removeEventListener('abort', done);
      resolve();
    };
    if (gone.aborted) return done();
    gone.addEventListener('abort', done);
    out.write(part, done);
  });
}
