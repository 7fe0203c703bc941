import { OperatorError } from '../base/errors.ts';

/** One line of a watch stream as received: `type` is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR. */
export interface WatchFrame {
  type: string;
  object: unknown;
}

/** Longest accepted line. etcd holds 1.5 MB per object by default; the JSON of kinds stored as protobuf is larger. */
const maxFrameBytes = 16 * 1024 * 1024;

/**
 * Splits a byte stream into watch frames.
 * Frames are cut at the newline byte before decoding, so a chunk may end in the middle of a character.
 * Errors: ERR_WATCH_BROKEN on a line that is not a frame and on a last line without newline (a truncated frame);
 * ERR_TOO_LARGE on a line beyond 16 MiB.
 */
export async function* decodeFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<WatchFrame> {
  let pending: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, from)) {
      checkSize(size + at - from);
      pending.push(chunk.subarray(from, at));
      from = at + 1;
      const line = Buffer.concat(pending).toString('utf8');
      pending = [];
      size = 0;
      if (line.trim() !== '') yield parseFrame(line);
    }
    if (from < chunk.length) {
      size += chunk.length - from;
      checkSize(size);
      pending.push(chunk.subarray(from));
    }
  }
  if (size > 0) throw new OperatorError('ERR_WATCH_BROKEN', `watch stream ended inside a frame (${size} bytes of it)`);
}

function checkSize(bytes: number): void {
  if (bytes > maxFrameBytes) throw new OperatorError('ERR_TOO_LARGE', `a watch frame exceeds ${maxFrameBytes} bytes`);
}

function parseFrame(line: string): WatchFrame {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new OperatorError('ERR_WATCH_BROKEN', `watch frame is not JSON: ${line.slice(0, 80)}`, { cause });
  }
  const { type, object } = (value ?? {}) as { type?: unknown; object?: unknown };
  if (typeof type !== 'string' || typeof object !== 'object' || object === null) {
    throw new OperatorError('ERR_WATCH_BROKEN', `watch frame lacks type or object: ${line.slice(0, 80)}`);
  }
  return { type, object };
}
