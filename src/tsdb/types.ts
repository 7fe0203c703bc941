import type { Pacing } from '../base/turns/turns.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { NativeHistogram } from './chunk/native-histogram.ts';
import type { SampleBuffer } from './chunk/sample-buffer.ts';
import type { FileLayer } from './disk/file-layer.ts';
import type { Labels } from './labels.ts';
import type { Matcher } from './matcher.ts';

/**
 * The outcome of an append.
 * `appended`: in the store (durable once a later `commit()` has resolved). `duplicate`: the same time and the same bits
 * were already there; nothing changed. `conflict`: the series has another value at that time; the first one stays.
 * `late`: older than the series' newest sample by more than the out-of-order window, or inside a finished block; also a
 * time that is not a whole number of ms. `tooNew`: further ahead of the clock than `maxFutureMs`. `full`: the
 * write-ahead log cannot be written (disk full) and its memory buffer is at its cap, or the store is closed. Everything
 * but `appended` and `duplicate` is counted as rejected.
 */
export type AppendResult = 'appended' | 'duplicate' | 'conflict' | 'late' | 'tooNew' | 'full';

/** Numbers of prometheus.Chunk.Encoding: 1 XOR floats, 2 histograms of integers, 3 of floats. */
export type ChunkEncoding = 1 | 2 | 3;

/**
 * A writer's handle of a series. When it is passed again, samples are appended by slot, without a look at the labels.
 * `slot` belongs to the store: begin with −1 and do not change it. Use one ref for a series: two refs of one series
 * work, but slowly.
 */
export interface SeriesRef {
  readonly labels: Labels;
  slot: number;
}

/** One stretch of a series' samples, in one of Prometheus' encodings. Never changes. */
export interface Chunk {
  /** 1: XOR floats; 2: native histograms of integers; 3: of floats. Numbers of prometheus.Chunk.Encoding. */
  readonly encoding: ChunkEncoding;
  /** First and last sample's time, ms since the epoch, both inclusive. */
  readonly minT: number;
  readonly maxT: number;
  readonly count: number;
  readonly bytes: Uint8Array;
  /** CRC-32C of `bytes`, when the bytes were checked against one. */
  readonly crc?: number;
}

/** One selected series. Chunks are in time order and may reach beyond the requested range. */
export interface SelectedSeries {
  readonly labels: Labels;
  /**
   * Reads the chunks that overlap the requested range; the work is done here, not in `select`. Valid until the
   * iteration ends.
   */
  chunks(): Chunk[];
  /** Like `chunks`, but the bytes are valid only until the next series is read: reads share their memory. */
  lentChunks?(): Chunk[];
}

/**
 * One series of a selection that stays open: it can be read at any time, and repeatedly, until the selection is closed.
 */
export interface HeldSeries extends SelectedSeries {
  /** The number of samples in the chunks that overlap the requested range; some may lie outside of the range. */
  readonly sampleCount: number;
  /** Whether all of these samples are floats. */
  readonly isFloats: boolean;
  /**
   * Appends the samples of those chunks from time `mint` on to `out`, without copying a chunk. For floats.
   * Errors: ERR_STORE_CORRUPT; `out` may already hold some samples.
   */
  decode(mint: number, out: SampleBuffer): void;
}

/** Selected series, sorted by labels. Their memory and files are kept until the selection is closed. */
export interface Selection extends Iterable<HeldSeries> {
  close(): void;
}

/**
 * The newest sample of a series. `stale` is true for a stale marker; then, and for a histogram, `value` is NaN and
 * means nothing.
 */
export interface LatestSample {
  readonly labels: Labels;
  readonly tMs: number;
  readonly value: number;
  readonly stale: boolean;
  readonly histogram?: NativeHistogram;
}

/** Selectors of which a series must match at least one. */
export type MatcherSets = readonly (readonly Matcher[])[];

/** Limits of a list. */
export interface ListOptions {
  /** Most elements, the first in order. Default all. */
  readonly limit?: number;
  readonly signal?: AbortSignal;
  /**
   * Called at each step of the work, with the number of bytes by which the list grows. An error that it throws ends the
   * call. Default: nothing is counted.
   */
  readonly hold?: (bytes: number) => void;
}

/** The content of the store, and events since it was opened. */
export interface StoreStats {
  /** Series in the head (with samples younger than the last block). */
  readonly series: number;
  readonly samplesAppended: number;
  readonly duplicates: number;
  readonly rejected: Readonly<Record<'conflict' | 'late' | 'tooNew' | 'full', number>>;
  readonly walBytes: number;
  readonly blockBytes: number;
  readonly blocks: number;
  /** Damaged blocks in quarantine since the store was opened. */
  readonly quarantinedBlocks: number;
  /** Bytes of chunks in memory. */
  readonly headChunkBytes: number;
  /**
   * Times of the oldest and the newest sample, ms; undefined in an empty store. If the oldest sample is in a block,
   * `oldestMs` is the start of the block's range. A newest sample that is in a block and was deleted still counts until
   * the block is merged.
   */
  readonly oldestMs: number | undefined;
  readonly newestMs: number | undefined;
  /**
   * The result of the recovery at the start: records replayed, bytes cut from a damaged log, samples without a known
   * series.
   */
  readonly replay: {
    readonly records: number;
    readonly cutBytes: number;
    readonly orphanSamples: number;
    readonly ms: number;
  };
  /** The last write error, while the log is not writable. */
  readonly writeError: string | undefined;
}

/** The folder of a store, and its limits. Folder, clock and logger are required. */
export interface StoreOptions {
  readonly dir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Added to every series that lacks them, at append; matchers see them. For an agent: `k8s_node_name`. */
  readonly externalLabels?: Labels;
  /**
   * Blocks wholly older than this are removed. A step of the clock forward by more than ten minutes counts only once it
   * has lasted for an hour, and so does the time since the newest sample when a store is opened. Default 24 h. Units: ms.
   */
  readonly retentionMs?: number;
  /** Cap on the bytes of finished blocks; the oldest go first. Default none. */
  readonly retentionBytes?: number;
  /** How much older than its series' newest sample a sample may be. Default 5 min. Units: ms. */
  readonly outOfOrderMs?: number;
  /**
   * How far ahead of the clock a sample may be; without it, one sender with a wrong clock would shut out all other
   * samples. Default 1 h.
   */
  readonly maxFutureMs?: number;
  /** Longest time between an append and its fdatasync without a call of `commit()`. Default 1 s. */
  readonly flushIntervalMs?: number;
  /** A log segment is closed at this size. Default 16 MiB. */
  readonly segmentBytes?: number;
  /** A checkpoint of the head is written when the log has grown by this much: it bounds the replay. Default 16 MiB. */
  readonly checkpointBytes?: number;
  /** The file system; tests inject faults with it. */
  readonly files?: FileLayer;
}

/**
 * The time-series store of one node.
 *
 * Flow: `append…` (memory and log buffer) → `commit()` (write, fdatasync) → blocks of 2 h → retention.
 * Guarantees: a sample that was appended before a `commit()` that resolved survives kill -9 and power loss.
 * Readers see appended samples immediately, and each `select` shows one consistent moment.
 * Assumptions: one process for a directory (held by a lock file).
 * Caveats: `append` never waits and never throws for a full disk: look at the result, and at `commit()`'s error.
 */
export interface Store {
  /** Appends one sample. A caller that appends to a series many times passes a `SeriesRef` that it keeps. */
  append(series: Labels | SeriesRef, tMs: number, value: number): AppendResult;
  /** Ends the series at `tMs`: writes Prometheus' stale marker, bit-exact. */
  appendStale(series: Labels | SeriesRef, tMs: number): AppendResult;
  /**
   * Makes a counter reset visible that happened while no agent ran. Call it before the counter's next sample. If the
   * newest sample of the series is older than `startMs` (the counter's start time) and not a zero, it appends a zero at
   * `startMs` and returns true. Otherwise it appends nothing, counts no rejected sample and returns false. Source:
   * Prometheus' start timestamps (`AppendSTZeroSample`), which also put a zero before the first sample of a series.
   */
  appendStart(series: Labels | SeriesRef, startMs: number): boolean;
  /**
   * The value of the newest sample of the series. NaN without a sample since `sinceMs`, and after the end of the series.
   * Only the head is searched: NaN also when the newest sample is in a block.
   * Call it before the first sample that a process appends.
   */
  newestValue(series: Labels | SeriesRef, sinceMs: number): number;
  /**
   * Appends one native histogram, like `append`. A counter's reset is detected by comparison with the sample before.
   * Errors: ERR_INPUT_INVALID for a histogram that contradicts itself, naming the field.
   */
  appendHistogram(series: Labels | SeriesRef, tMs: number, histogram: NativeHistogram): AppendResult;
  /**
   * Resolves when everything appended before the call is on disk. Errors: ERR_STORE_WRITE; the data is kept, and
   * written again later.
   */
  commit(): Promise<void>;
  /** Series that match and have samples in [mint, maxt] (ms, inclusive), sorted by labels. No matcher: all. */
  select(matchers: readonly Matcher[], mint: number, maxt: number): Iterable<SelectedSeries>;
  /**
   * Compiles matchers for `select` and `hold`, which are not interrupted: regular expressions are evaluated beforehand on
   * the values that they are compared with, with turns in between. Errors: ERR_INPUT_INVALID; ERR_SELECTION_LIMIT for too
   * many tests of label values in the time range, and for a value that is too long for a regular expression.
   */
  prepare(matchers: readonly Matcher[], mint: number, maxt: number, pacing: Pacing): Promise<readonly Matcher[]>;
  /**
   * Like `select`, for series that are read after the iteration, or without copies. Close the selection, or its memory
   * is never reused.
   */
  hold(matchers: readonly Matcher[], mint: number, maxt: number): Selection;
  /** The newest sample of every matching head series, if it is not older than `sinceMs`. Sorted by labels. */
  latest(matchers: readonly Matcher[], sinceMs: number): LatestSample[];
  /**
   * Labels of the series that match any of the sets (none: all) with a sample in the range, sorted. They are read from
   * the indexes: a chunk is decoded only when the range lies within it. Errors: ERR_INPUT_INVALID, ERR_SELECTION_LIMIT,
   * ERR_STORE_CORRUPT, the signal's.
   */
  series(matcherSets: MatcherSets, mint: number, maxt: number, options?: ListOptions): Promise<Labels[]>;
  /** The label names of the series that `series` lists, sorted. Errors: those of `series`. */
  labelNames(matcherSets: MatcherSets, mint: number, maxt: number, options?: ListOptions): Promise<string[]>;
  /** The values of label `name` of the series that `series` lists, sorted. Errors: those of `series`. */
  labelValues(
    name: string,
    matcherSets: MatcherSets,
    mint: number,
    maxt: number,
    options?: ListOptions,
  ): Promise<string[]>;
  /**
   * Deletes the matching series' samples in [mint, maxt] (ms, inclusive), in the head and in blocks. Durable when it
   * resolves; later appends are not affected. Returns the number of affected parts (a series counts once for each block
   * that holds it). Disk space is freed by the next merge. Errors: ERR_INPUT_INVALID and
   * ERR_SELECTION_LIMIT, before anything is deleted; ERR_STORE_WRITE, system errors.
   */
  delete(matchers: readonly Matcher[], mint: number, maxt: number): Promise<number>;
  /**
   * Writes a copy of everything that was appended before the call to `snapshots/<name>` in the store's directory; it
   * can be opened as a store. Blocks cost no space (hard links). Returns the path. Appends may continue while it runs.
   */
  snapshot(): Promise<string>;
  /**
   * Applies retention, moves full 2 h ranges into blocks, checkpoints the log and merges small blocks. The store calls
   * it at intervals. A call while an upkeep runs queues one more, which later calls share.
   * Errors: ERR_STORE_WRITE, system errors.
   */
  maintain(): Promise<void>;
  stats(): StoreStats;
  /** Changes the retention time and size of finished blocks, from the next maintenance on. Units: ms, bytes. */
  setRetention(retention: { ms: number; bytes: number }): void;
  /** Commits, writes a checkpoint so that the next start is short, and releases the lock. Further calls do nothing. */
  close(): Promise<void>;
}
