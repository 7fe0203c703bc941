import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { itemCount, maxRecordBytes, recordHeadBytes, unframe } from './record.ts';

/** A file of a queue. Files are numbered by age; the oldest is dropped first. */
export interface Segment {
  readonly number: number;
  readonly path: string;
  bytes: number;
}

/** Segments of a folder, oldest first. The folder is created when it is missing. */
export function listSegments(dir: string): Segment[] {
  mkdirSync(dir, { recursive: true, mode: 0o750 });
  const found: Segment[] = [];
  for (const name of readdirSync(dir)) {
    const number = /^(\d{8,})\.log$/.exec(name)?.[1];
    if (number === undefined) continue;
    const path = join(dir, name);
    found.push({ number: Number(number), path, bytes: statSync(path).size });
  }
  return found.sort((a, b) => a.number - b.number);
}

export function segmentPath(dir: string, number: number): string {
  return join(dir, `${String(number).padStart(8, '0')}.log`);
}

export function removeSegment(segment: Segment): Promise<void> {
  return rm(segment.path, { force: true });
}

/** How much of a segment is read into memory at once. Units: bytes. */
const windowBytes = 512 * 1024;

/**
 * The records of a segment from an offset to its present end, each with the offset after it. The iteration ends at the
 * first incomplete record (the end of a file that a kill cut short).
 */
export async function* recordsOf(
  segment: Pick<Segment, 'path' | 'bytes'>,
  from: number,
): AsyncGenerator<{ readonly payload: Uint8Array; readonly end: number }> {
  const file = await open(segment.path, 'r');
  try {
    let at = from;
    let wanted = windowBytes;
    while (at < segment.bytes) {
      const window = Buffer.alloc(Math.min(wanted, segment.bytes - at));
      const { bytesRead } = await file.read(window, 0, window.length, at);
      const bytes = window.subarray(0, bytesRead);
      let used = 0;
      for (let payload = unframe(bytes, 0); payload; payload = unframe(bytes, used)) {
        used += recordHeadBytes + payload.length;
        yield { payload, end: at + used };
      }
      at += used;
      if (used === 0) {
        // A record larger than the window is read again with a window of its size. At any other record that does not
        // parse, the iteration ends.
        const length = bytes.length >= recordHeadBytes ? bytes.readUInt32LE(0) : 0;
        if (bytes.length < wanted || length > maxRecordBytes || length + recordHeadBytes <= wanted) return;
        wanted = length + recordHeadBytes;
      } else wanted = windowBytes;
    }
  } finally {
    await file.close();
  }
}

/** The number of samples and spans in a part of a segment, and the length of its unreadable rest. */
export interface SegmentContent {
  readonly items: number;
  readonly unreadableBytes: number;
}

export const noContent: SegmentContent = { items: 0, unreadableBytes: 0 };

/**
 * The content that is lost when a segment is dropped from an offset on. Never rejects: what the disk does not return is
 * unreadable. A record whose length reaches beyond the segment's end does not count: its write was cut short, so it was
 * never acknowledged.
 */
export async function contentOf(segment: Pick<Segment, 'path' | 'bytes'>, from: number): Promise<SegmentContent> {
  let items = 0;
  let at = from;
  try {
    for await (const { payload, end } of recordsOf(segment, from)) {
      items += itemCount(payload);
      at = end;
    }
    if (await isCutShort(segment, at)) at = segment.bytes;
  } catch {
    // The rest counts as unreadable.
  }
  return { items, unreadableBytes: Math.max(0, segment.bytes - at) };
}

async function isCutShort({ path, bytes }: Pick<Segment, 'path' | 'bytes'>, at: number): Promise<boolean> {
  if (bytes - at < recordHeadBytes) return true;
  const file = await open(path, 'r');
  try {
    const head = Buffer.alloc(recordHeadBytes);
    await file.read(head, 0, head.length, at);
    const length = head.readUInt32LE(0);
    return length > 0 && length <= maxRecordBytes && at + recordHeadBytes + length > bytes;
  } finally {
    await file.close();
  }
}
