import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';

/** A running query. */
export interface ActiveQuery {
  readonly query: string;
  readonly user: string;
  /** ms since the epoch. */
  readonly startedAt: number;
}

export interface ActiveQueries {
  /** Records a query as running; the returned function removes it. */
  enter(query: ActiveQuery): () => void;
  close(): void;
}

export const noActiveQueries: ActiveQueries = { enter: () => () => {}, close: () => {} };

/** Bytes of one slot; longer queries are cut. As in Prometheus. */
const slotBytes = 1_000;
const emptySlot = Buffer.alloc(slotBytes, ' ');

/**
 * A file with one slot for each query that may run at a time; slots are overwritten in place. After the process is
 * killed, the file names the queries that were running. At the start, the entries of a former process are logged and
 * the file is cleared.
 * Guarantees: a slot is handed to the kernel before its query begins, so it survives the death of the process (not of
 * the machine). Queries beyond the number of slots are not recorded. When the file cannot be written, a log line
 * reports it and queries run unrecorded; `writeTo` lets a test make a write fail.
 */
export function openActiveQueries(path: string, slots: number, logger: Logger, writeTo = writeSync): ActiveQueries {
  for (const left of readLeft(path)) logger.warn('this query was running when the process ended', { ...left });
  let file: number | undefined;
  /** Ends the use of the file at its first error, such as that of a full disk. */
  const attempt = (write: () => void): void => {
    try {
      write();
    } catch (error) {
      logger.warn('the file of active queries cannot be written', { path, error: errorText(error) });
      close();
    }
  };
  const close = (): void => {
    if (file !== undefined) closeSync(file);
    file = undefined;
  };
  const write = (bytes: Buffer, slot: number): void =>
    attempt(() => {
      if (file !== undefined) writeTo(file, bytes, 0, undefined, slot * slotBytes);
    });
  attempt(() => {
    file = openSync(path, 'w', 0o600);
    writeTo(file, Buffer.alloc(slots * slotBytes, ' '), 0, undefined, 0);
    fsyncSync(file);
  });
  const free = Array.from({ length: slots }, (_, i) => slots - 1 - i);
  return {
    enter(query) {
      const slot = free.pop();
      if (slot === undefined) return () => {};
      write(slotText(query), slot);
      return () => {
        write(emptySlot, slot);
        free.push(slot);
      };
    },
    close,
  };
}

/** One line of JSON that fills its slot; the query is cut until it fits. */
function slotText({ query, user, startedAt }: ActiveQuery): Buffer {
  const line = (text: string): Buffer =>
    Buffer.from(
      JSON.stringify({ query: text, user: user.slice(0, 200), startedAt: new Date(startedAt).toISOString() }),
    );
  let text = query.slice(0, slotBytes);
  let bytes = line(text);
  while (bytes.length > slotBytes - 1) {
    // A character takes six bytes at most, so this never cuts more than necessary.
    text = text.slice(0, -Math.ceil((bytes.length - slotBytes + 1) / 6));
    bytes = line(text);
  }
  const slot = Buffer.allocUnsafe(slotBytes);
  slot.set(bytes);
  return slot.fill(' ', bytes.length).fill('\n', slotBytes - 1);
}

function readLeft(path: string): object[] {
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch {
    return []; // the first start
  }
  const found: object[] = [];
  for (let at = 0; at < content.length; at += slotBytes) {
    const text = content
      .subarray(at, at + slotBytes)
      .toString()
      .trim();
    if (text === '') continue;
    try {
      found.push(JSON.parse(text) as object);
    } catch {
      found.push({ query: text }); // half written
    }
  }
  return found;
}
