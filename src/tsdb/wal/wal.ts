import { OperatorError, errorText } from '../../base/errors.ts';
import { ByteWriter } from '../bytes.ts';
import type { FileLayer, WritableFile } from '../disk/file-layer.ts';
import type { Labels } from '../labels.ts';
import type { NativeHistogram } from '../chunk/index.ts';
import { deletionPayload, histogramPayload, recordType, writeFrame } from './record.ts';
import { SeriesRecordWriter } from './series-record.ts';

export const segmentMagic = new TextEncoder().encode('SVCWAL1\n');

export interface WalOptions {
  readonly dir: string;
  readonly files: FileLayer;
  readonly segmentBytes: number;
  /** How many bytes may wait for the disk; while more wait, appends are refused. */
  readonly maxPendingBytes: number;
}

const firstBufferBytes = 64 * 1024;
/** A buffer that a burst has enlarged beyond this is not kept. */
const keptBufferBytes = 256 * 1024;
/** Records of series and samples are framed at about this size. */
const recordBytes = 32_768;

/** The name of a segment file; names sort as their numbers do. */
export function segmentName(index: number): string {
  return String(index).padStart(8, '0');
}

/**
 * The write-ahead log: segments that are only appended to.
 *
 * Flow: records are collected in memory; `flush()` writes them all and calls fdatasync once, however many callers wait
 * (group commit). A full segment is closed and the next one begun inside a flush.
 * Guarantees: when `flush()` resolves, every record added before the call is on disk.
 * Errors: ERR_STORE_WRITE. Bytes that could not be made durable are kept and written again, at the same place, by the
 * next flush: a partial write is overwritten with the same bytes, and pages whose fsync failed become dirty again.
 */
export class Wal {
  readonly #options: WalOptions;
  #file: WritableFile | undefined;
  #index: number;
  /** Bytes of the current segment that are known to be on disk. */
  #synced = 0;
  #closedBytes = new Map<number, number>();
  /** Frames that wait for a write. */
  #framed = new ByteWriter(firstBufferBytes);
  /**
   * Frames that are being written, or that a failed flush left to be written again. Takes turns with `#framed`: one is
   * filled while the bytes of the other are written.
   */
  #unsynced = new ByteWriter(firstBufferBytes);
  #series = new ByteWriter(4096);
  readonly #seriesWriter = new SeriesRecordWriter();
  #samples = new DeltaRecord(recordType.samples);
  #stale = new DeltaRecord(recordType.stale);
  #tail: Promise<unknown> = Promise.resolve();
  #queued: Promise<void> | undefined;
  #error: string | undefined;
  #full = false;

  /** `index`: number of the first segment to write; it must not exist yet. */
  constructor(options: WalOptions, index: number) {
    this.#options = options;
    this.#index = index;
  }

  /** Bytes that are not yet on disk. */
  get pendingBytes(): number {
    return (
      this.#unsynced.length + this.#framed.length + this.#series.length + this.#samples.length + this.#stale.length
    );
  }

  /** Whether appends are refused. It is read for each sample, so it is stored instead of computed. */
  get full(): boolean {
    return this.#full;
  }

  /** The text of the last failed write, until one succeeds. */
  get writeError(): string | undefined {
    return this.#error;
  }

  /** Bytes on disk, the current segment included. */
  get bytes(): number {
    let total = this.#synced;
    for (const size of this.#closedBytes.values()) total += size;
    return total;
  }

  /** Registers a segment of an earlier process, so that `bytes` counts it and `removeThrough` can remove it. */
  adopt(index: number, bytes: number): void {
    this.#closedBytes.set(index, bytes);
  }

  /** Adds a record that precedes all samples that are still being collected. */
  addSeries(ref: number, labels: Labels): void {
    this.#seriesWriter.add(this.#series, ref, labels);
    if (this.#series.length > recordBytes) this.#frameSeries();
  }

  addSample(ref: number, t: number, high: number, low: number): void {
    this.#samples.addValue(ref, t, high, low);
    if (this.#samples.length > recordBytes) this.#frameSamples();
  }

  addStale(ref: number, t: number): void {
    this.#stale.add(ref, t);
    if (this.#stale.length > recordBytes) this.#frameSamples();
  }

  addHistogram(ref: number, t: number, histogram: NativeHistogram): void {
    this.#frameSeries();
    writeFrame(this.#framed, recordType.histogram, histogramPayload(ref, t, histogram));
    this.#noteFull();
  }

  /** Adds a record that follows all samples added before: a replay deletes what the head deleted. */
  addDeletion(ref: number, mint: number, maxt: number): void {
    this.#frameSamples();
    writeFrame(this.#framed, recordType.deletions, deletionPayload(ref, mint, maxt));
  }

  /** Makes everything added so far durable. */
  flush(): Promise<void> {
    this.#queued ??= this.#run(async () => {
      this.#queued = undefined;
      await this.#writeOut();
      if (this.#synced >= this.#options.segmentBytes) await this.#nextSegment();
    });
    return this.#queued;
  }

  /** Closes the current segment (after a flush) and returns its number: later records go to the next. */
  cut(): Promise<number> {
    return this.#run(async () => {
      await this.#writeOut();
      const finished = this.#index;
      if (this.#file) await this.#nextSegment();
      else this.#index++;
      return finished;
    });
  }

  /** Removes the segments up to and including `index`. */
  async removeThrough(index: number): Promise<void> {
    const { files, dir } = this.#options;
    for (const number of [...this.#closedBytes.keys()].filter((n) => n <= index).sort((a, b) => a - b)) {
      await files.remove(`${dir}/${segmentName(number)}`);
      this.#closedBytes.delete(number);
    }
    await files.syncDir(dir);
  }

  /** Flushes and closes. */
  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      await this.#run(async () => {
        await this.#file?.close();
        this.#file = undefined;
      });
    }
  }

  /** Runs one disk operation after the previous ones. */
  #run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(async () => {
      try {
        const value = await work();
        this.#error = undefined;
        return value;
      } catch (cause) {
        this.#error = errorText(cause);
        throw new OperatorError('ERR_STORE_WRITE', `write-ahead log: ${this.#error}`, { cause });
      }
    });
    this.#tail = result.catch(() => {});
    return result;
  }

  /** Series first: a record of samples must follow the records of its series. */
  #frameSeries(): void {
    if (this.#series.length === 0) return;
    writeFrame(this.#framed, recordType.newSeries, this.#series.view());
    this.#series.clear();
    this.#seriesWriter.reset();
    this.#noteFull();
  }

  #frameSamples(): void {
    this.#frameSeries();
    this.#samples.frame(this.#framed);
    this.#stale.frame(this.#framed);
    this.#noteFull();
  }

  #noteFull(): void {
    this.#full = this.pendingBytes > this.#options.maxPendingBytes;
  }

  async #writeOut(): Promise<void> {
    this.#frameSamples();
    if (this.#unsynced.length > 0) {
      this.#unsynced.bytes(this.#framed.view());
      this.#framed = emptied(this.#framed);
    } else [this.#framed, this.#unsynced] = [this.#unsynced, this.#framed];
    // The buffer itself is written, not a copy of it.
    const bytes = this.#unsynced.view();
    if (bytes.length === 0) return;
    const file = (this.#file ??= await this.#openSegment());
    await file.write(bytes, this.#synced);
    await file.sync();
    this.#synced += bytes.length;
    this.#unsynced = emptied(this.#unsynced);
    this.#noteFull();
  }

  async #openSegment(): Promise<WritableFile> {
    const { files, dir } = this.#options;
    const path = `${dir}/${segmentName(this.#index)}`;
    const file = await files.openWrite(path, 'create');
    try {
      await file.write(segmentMagic, 0);
      await file.sync();
      await files.syncDir(dir);
    } catch (error) {
      await file.close().catch(() => {});
      await files.remove(path).catch(() => {});
      throw error;
    }
    this.#synced = segmentMagic.length;
    return file;
  }

  async #nextSegment(): Promise<void> {
    const file = this.#file;
    this.#closedBytes.set(this.#index, this.#synced);
    this.#index++;
    this.#synced = 0;
    this.#file = undefined;
    await file?.close();
  }
}

/** A record under construction whose refs and times are written as deltas. */
class DeltaRecord {
  readonly #type: number;
  readonly #out = new ByteWriter(4096);
  #ref = 0;
  #t = 0;

  constructor(type: number) {
    this.#type = type;
  }

  get length(): number {
    return this.#out.length;
  }

  add(ref: number, t: number): void {
    this.#out.zigzag(ref - this.#ref);
    this.#out.zigzag(t - this.#t);
    this.#ref = ref;
    this.#t = t;
  }

  addValue(ref: number, t: number, high: number, low: number): void {
    this.add(ref, t);
    this.#out.trimmedWords(high, low);
  }

  frame(target: ByteWriter): void {
    if (this.#out.length > 0) writeFrame(target, this.#type, this.#out.view());
    this.#out.clear();
    this.#ref = 0;
    this.#t = 0;
  }
}

/** An empty buffer in place of a buffer whose bytes are no longer needed. */
function emptied(buffer: ByteWriter): ByteWriter {
  if (buffer.capacity > keptBufferBytes) return new ByteWriter(firstBufferBytes);
  buffer.clear();
  return buffer;
}
