import { open, type FileHandle } from 'node:fs/promises';
import { errorText, isBlameless } from '../../../base/errors.ts';
import { type Defined, learn, SegmentDefinitions } from './definitions.ts';
import { FolderOwner } from './folder-owner.ts';
import type { DropReason, QueueOptions } from './options.ts';
import { isBefore, loadProgress, type Position, type Progress, saveProgress } from './position.ts';
import { type QueuedSample, readSamples, readSpans, recordKinds } from './record.ts';
import { SegmentWriter } from './segment-writer.ts';
import {
  contentOf,
  listSegments,
  noContent,
  recordsOf,
  removeSegment,
  type Segment,
  type SegmentContent,
  segmentPath,
} from './segments.ts';
import { type Batch, Waiting } from './waiting.ts';

/** The items that are sent together: either samples or spans, never both. */
export interface Round {
  readonly samples: readonly QueuedSample[];
  readonly spans: readonly Uint8Array[];
  readonly end: Position;
  /** The damaged parts of files within this round, which cannot be sent. */
  readonly damaged: SegmentContent;
}

/** A round while it is being put together. */
interface Filling {
  readonly samples: QueuedSample[];
  readonly spans: Uint8Array[];
  /** Length of the records that they came from. */
  bytes: number;
  damaged: SegmentContent;
}

/** A round ends with the record that reaches this. Units: bytes. */
const roundBytes = 4 * 1024 * 1024;
/** Reads of a file in a row that the disk fails before it counts as damaged. The exporter tries once a second. */
const mostDiskErrors = 60;

/**
 * The samples and spans that wait for one destination, in files.
 *
 * Flow: `append`… → `commit` (written before the sender of the data is answered) → `next` → send → `done`.
 * Guarantees: committed data survives a kill of the process, and so does the position up to which it was sent. A round
 * that was on the wire when the process ended is sent again with exactly the same content, so a receiver that already
 * has it does not see it mixed with newer samples. When the files outgrow `maxBytes` the oldest are dropped and
 * counted. The rest of a file after damaged data is skipped and counted. A file that the system does not let us read,
 * for want of file descriptors or the like, waits, and so does what comes after it; after disk errors, for a minute.
 * Caveats: files are synced when they are full: a power cut can lose the last seconds, a kill cannot.
 */
export class ExportQueue {
  readonly #options: QueueOptions;
  #maxBytes: number;
  #segments: Segment[] = [];
  /** No number is given twice: a position in a file that was removed must not point into a later one. */
  #lastNumber = 0;
  #file: FileHandle | null = null;
  /** Makes the records of the segment (file) being written. */
  #writer: SegmentWriter | null = null;
  /** The definitions that the segment being written has on the disk. */
  #defined: Defined | null = null;
  readonly #definitions = new SegmentDefinitions();
  readonly #waiting = new Waiting();
  readonly #owner: FolderOwner;
  #progress: Progress = { done: { segment: 0, offset: 0 }, sending: null };
  #writing: Promise<void> = Promise.resolve();
  /** One position is written after another: all go to one file. */
  #saving: Promise<void> = Promise.resolve();
  #writeError: string | null = null;
  #readError: string | null = null;
  /** The file whose newest reads the disk failed, and how many. */
  #failing = { segment: 0, reads: 0 };

  private constructor(options: QueueOptions, owner: FolderOwner) {
    this.#options = options;
    this.#owner = owner;
    this.#maxBytes = options.maxBytes;
  }

  /** A file is full at this size. Units: bytes. */
  get #segmentBytes(): number {
    return Math.max(64 * 1024, Math.min(32 * 1024 * 1024, Math.floor(this.#maxBytes / 8)));
  }

  /** Opens a folder's queue with its data. `failingMs`: how long earlier tries have failed with an error. Units: ms. */
  static open(options: QueueOptions, failingMs: (error: unknown) => number = () => 0): ExportQueue {
    const segments = listSegments(options.dir);
    const queue = new ExportQueue(options, new FolderOwner(options.dir, failingMs));
    queue.#segments = segments;
    const from = { segment: queue.#segments[0]?.number ?? 0, offset: 0 };
    const saved = loadProgress(options.dir, failingMs);
    const done = saved && !isBefore(saved.done, from) ? saved.done : from;
    const sending = saved?.sending && !isBefore(saved.sending, done) ? saved.sending : null;
    queue.#progress = { done, sending };
    queue.#lastNumber = Math.max(queue.#segments.at(-1)?.number ?? 0, done.segment, sending?.segment ?? 0);
    return queue;
  }

  /** Bytes on disk. */
  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Bytes on disk that are not sent yet. */
  get pendingBytes(): number {
    const { segment, offset } = this.#progress.done;
    let bytes = 0;
    for (const s of this.#segments) {
      if (s.number >= segment) bytes += s.bytes - (s.number === segment ? Math.min(offset, s.bytes) : 0);
    }
    return bytes;
  }

  /** The reason why the newest write failed; null when it succeeded. */
  get writeError(): string | null {
    return this.#writeError;
  }

  /** The reason why the newest read failed, so that what waits is not sent; null when it succeeded. */
  get readError(): string | null {
    return this.#readError;
  }

  /** Adds a sample. The same series must be the same object: it is looked up by identity. */
  append(sample: QueuedSample): void {
    this.#waiting.add(sample);
  }

  /** Adds a span, encoded as it will be sent. */
  appendSpan(span: Uint8Array): void {
    this.#waiting.addSpan(span);
  }

  /**
   * Writes the appended items. Never rejects: items that cannot be written, or that had to wait for too many others,
   * are dropped and counted, and capture goes on.
   */
  commit(): Promise<void> {
    const batch = this.#waiting.take();
    if (batch.unheld > 0) this.#options.onDropped(batch.unheld, 'disk', 0);
    if (batch.samples.length + batch.spans.length > 0) {
      this.#writing = this.#writing.then(() => this.#write(batch)).then(() => this.#waiting.release(batch));
    }
    return this.#writing;
  }

  /**
   * Changes the disk space that the queue may use, and drops the oldest files beyond it. The newest file always stays;
   * it is closed when it is full by the new bound. Units: bytes.
   */
  setMaxBytes(maxBytes: number): void {
    if (maxBytes === this.#maxBytes) return;
    this.#maxBytes = maxBytes;
    this.#writing = this.#writing
      .then(() => this.#settle())
      .catch((error: unknown) => void (this.#writeError = errorText(error)));
  }

  /** Closes a file that is full, and drops what the bound leaves no room for. */
  async #settle(): Promise<void> {
    if (this.#file && this.#segments.at(-1)!.bytes >= this.#segmentBytes) await this.#closeSegment();
    await this.#keepBounded();
  }

  /**
   * Says whose data is appended from now on: the uid of an object. What the queue has of an object with another uid is
   * dropped and counted as `removed`; what has no owner yet is taken over. Resolves when nothing of another object can
   * be sent any more. Never rejects.
   */
  own(uid: string): Promise<void> {
    void this.commit();
    this.#writing = this.#writing
      .then(() => this.#owner.set(uid))
      .then(() => this.#settleOwner())
      .catch((error: unknown) => void (this.#writeError = errorText(error)));
    return this.#writing;
  }

  #settleOwner(): Promise<void> {
    return this.#owner.settle(() => this.#dropAll());
  }

  async #dropAll(): Promise<void> {
    await this.#closeSegment().catch(() => {});
    while (this.#segments.length > 0) await this.#dropOldest('removed');
  }

  /** Drops what was appended, and counts what is unsent of it as `removed`. Never rejects. */
  discard(): Promise<void> {
    void this.commit();
    this.#writing = this.#writing
      .then(() => this.#dropAll())
      .catch((error: unknown) => void (this.#writeError = errorText(error)));
    return this.#writing;
  }

  async #write({ samples, spans }: Batch): Promise<void> {
    try {
      await this.#settleOwner();
      const file = this.#file ?? (await this.#openSegment());
      const segment = this.#segments.at(-1)!;
      const { records, tooLarge } = this.#writer!.records(samples, spans);
      const bytes = Buffer.concat(records);
      for (let done = 0; done < bytes.length;) {
        const { bytesWritten } = await file.write(bytes, done, bytes.length - done, segment.bytes + done);
        done += bytesWritten;
      }
      segment.bytes += bytes.length;
      if (tooLarge > 0) this.#options.onDropped(tooLarge, 'too_large', 0);
      this.#defined!.upTo = segment.bytes;
      await this.#settle();
      this.#writeError = null;
    } catch (error) {
      this.#writeError = errorText(error);
      this.#options.onDropped(samples.length + spans.length, 'disk', 0);
      // The file may end in half a record: nothing may be appended to it.
      const begun = this.#file ? this.#segments.at(-1) : undefined;
      await this.#closeSegment().catch(() => {});
      if (begun?.bytes === 0) await this.#remove(begun);
    }
  }

  async #openSegment(): Promise<FileHandle> {
    const number = ++this.#lastNumber;
    const path = segmentPath(this.#options.dir, number);
    this.#file = await open(path, 'w', 0o640);
    const segment = { number, path, bytes: 0 };
    this.#segments.push(segment);
    this.#writer = new SegmentWriter();
    this.#defined = this.#definitions.begin(segment, this.#writer.known);
    return this.#file;
  }

  async #closeSegment(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    this.#writer = null;
    this.#defined = null;
    if (!file) return;
    // A receiver may be away for hours: what no reader needs soon is read from the file again.
    const segment = this.#segments.at(-1)!;
    if (segment.number !== this.#progress.done.segment) this.#definitions.forget(segment);
    await file.datasync().finally(() => file.close());
  }

  async #keepBounded(): Promise<void> {
    while (this.bytes > this.#maxBytes && this.#segments.length > 1) await this.#dropOldest('queue_full');
  }

  /** Drops the oldest file, which must not be the one that is being written, and counts what is unsent of it. */
  async #dropOldest(why: DropReason): Promise<void> {
    const oldest = this.#segments.shift()!;
    const { segment, offset } = this.#progress.done;
    if (segment <= oldest.number) {
      // The position moves before the file is read: `done` may be called meanwhile, and must not be undone.
      const next = this.#segments[0]?.number ?? this.#lastNumber + 1;
      const saved = this.#save({ done: { segment: next, offset: 0 }, sending: null });
      const { items, unreadableBytes } = await contentOf(oldest, segment === oldest.number ? offset : 0);
      if (items > 0) this.#options.onDropped(items, why, 0);
      this.#reportDamage({ items: 0, unreadableBytes });
      await saved;
    }
    await this.#remove(oldest);
  }

  /**
   * The next round of at most about `maxItems` items and 4 MiB, or null when nothing waits, or nothing can be read. Until
   * `done` is called the same round is returned, also by a later process.
   */
  async next(maxItems: number): Promise<Round | null> {
    const { done, sending } = this.#progress;
    const round: Filling = { samples: [], spans: [], bytes: 0, damaged: noContent };
    let end = done;
    const full = (): boolean =>
      sending
        ? !isBefore(end, sending)
        : round.samples.length + round.spans.length >= maxItems || round.bytes >= roundBytes;
    for (const segment of this.#segments.filter((s) => s.number >= done.segment)) {
      if (full()) break;
      const from = segment.number === done.segment ? done.offset : 0;
      const taken = await this.#readInto(round, segment, from, (at) => ((end = at), full()));
      if (taken === 'unreadable') {
        if (sending) return null;
        break;
      }
      this.#readError = null;
      if (segment.number === this.#failing.segment) this.#failing.reads = 0;
      if (taken === 'other kind') break;
    }
    if (this.#progress.done !== done) return this.next(maxItems); // files were dropped in the meantime
    if (end === done) return null;
    if (round.samples.length + round.spans.length === 0) {
      await this.done({ ...round, end });
      return this.next(maxItems);
    }
    if (!sending) await this.#save({ done, sending: end });
    return { ...round, end };
  }

  async #readInto(
    round: Filling,
    segment: Segment,
    from: number,
    isFull: (at: Position) => boolean,
  ): Promise<'full' | 'end' | 'other kind' | 'unreadable'> {
    let [samples, spans, readTo] = [round.samples.length, round.spans.length, from];
    // A file that is being written is complete only in its part that was there when the reading began.
    const isWritten = segment === this.#segments.at(-1) && this.#file !== null;
    try {
      const defined = await this.#definitions.before(segment, from);
      for await (const { payload, end } of recordsOf(segment, from)) {
        const kind = payload[0];
        if (kind === recordKinds.series) learn(defined, payload, end);
        else if (kind === recordKinds.samples || kind === recordKinds.exemplified) {
          if (round.spans.length > 0) return 'other kind';
          readSamples(payload, defined.known.series, round.samples);
        } else if (kind === recordKinds.spans) {
          if (round.samples.length > 0) return 'other kind';
          readSpans(payload, round.spans);
        }
        if (kind !== recordKinds.series) round.bytes += payload.length;
        [samples, spans, readTo] = [round.samples.length, round.spans.length, end];
        if (isFull({ segment: segment.number, offset: end })) return 'full';
      }
    } catch (error) {
      // A record is sent whole or not at all: it may hold the parts of one histogram.
      round.samples.length = samples;
      round.spans.length = spans;
      if (this.#mayPass(error, segment)) {
        this.#readError = errorText(error);
        return 'unreadable';
      }
    }
    // Nothing can be read after a torn or broken record. The segment that was still being written has no such record.
    if (!isWritten) {
      const { items, unreadableBytes } = await contentOf(segment, readTo);
      round.damaged = {
        items: round.damaged.items + items,
        unreadableBytes: round.damaged.unreadableBytes + unreadableBytes,
      };
      isFull({ segment: segment.number, offset: segment.bytes });
    }
    return 'end';
  }

  /** Whether a file may be sound although it could not be read. One that is lost is not. */
  #mayPass(error: unknown, { number }: Segment): boolean {
    if (isBlameless(error)) return true;
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined || code === 'ENOENT') return false;
    if (number !== this.#failing.segment) this.#failing = { segment: number, reads: 0 };
    return ++this.#failing.reads < mostDiskErrors;
  }

  /** False once the files of the round were dropped, as those of a full queue are. */
  holds({ end }: Pick<Round, 'end'>): boolean {
    return isBefore(this.#progress.done, end);
  }

  /** To be called when the receiver accepted the round, or when the round is given up: the next one begins after it. */
  async done(round: Pick<Round, 'end' | 'damaged'>): Promise<void> {
    if (isBefore(round.end, this.#progress.done)) return; // the round's files were dropped in the meantime
    this.#reportDamage(round.damaged);
    await this.#save({ done: round.end, sending: null });
    const writing = this.#file ? this.#segments.at(-1) : undefined;
    for (const segment of [...this.#segments]) {
      const sent =
        segment.number < round.end.segment ||
        (segment.number === round.end.segment && round.end.offset >= segment.bytes && segment !== writing);
      if (sent && segment !== writing) await this.#remove(segment);
    }
  }

  /** Writes the appended items and closes the file. */
  async close(): Promise<void> {
    await this.commit();
    await this.#closeSegment().catch(() => {});
  }

  #reportDamage({ items, unreadableBytes }: SegmentContent): void {
    const counted = items + (unreadableBytes > 0 ? 1 : 0);
    if (counted > 0) this.#options.onDropped(counted, 'corrupt', unreadableBytes);
  }

  async #remove(segment: Segment): Promise<void> {
    this.#segments = this.#segments.filter((s) => s !== segment);
    this.#definitions.forget(segment);
    await removeSegment(segment).catch(() => {});
  }

  /** Takes the position at once, and resolves when it, or a newer one, is on the disk. */
  #save(progress: Progress): Promise<void> {
    this.#progress = progress;
    // If the position is not saved, a restart sends the last round again. A receiver tolerates that better than a
    // pause.
    return (this.#saving = this.#saving
      .then(() => saveProgress(this.#options.dir, this.#progress))
      .catch((error: unknown) => void (this.#writeError = errorText(error))));
  }
}
