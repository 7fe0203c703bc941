import type { Clock } from '../base/clock.ts';
import { errorText } from '../base/errors.ts';
import { Pace, type Pacing } from '../base/turns/turns.ts';
import type { Logger } from '../base/logger.ts';
import { blockRangeMs, rangeEnd, rangeStart } from './block-range.ts';
import type { BlockSet } from './block-set.ts';
import type { Block } from './block/reader.ts';
import type { BlockSource } from './block/writer.ts';
import { writeCheckpoint } from './checkpoint.ts';
import { assertHistogram, highBits, lowBits, maxTimestamp, staleHigh, staleLow } from './chunk/index.ts';
import type { NativeHistogram } from './chunk/index.ts';
import { mergedSeries, nextMerge } from './compaction.ts';
import { nodeFiles } from './disk/file-layer.ts';
import type { FileLayer } from './disk/file-layer.ts';
import { Head } from './head/head.ts';
import type { HeadLog } from './head/head.ts';
import type { HeadView } from './head/head-view.ts';
import { listSeries, listTexts } from './label-lists.ts';
import type { Listed } from './label-lists.ts';
import type { Labels } from './labels.ts';
import { LastingTime } from './lasting-time.ts';
import { compileMatchers } from './matcher.ts';
import type { CompiledMatcher, Matcher } from './matcher.ts';
import { rememberMatches } from './postings.ts';
import { recover } from './recover.ts';
import { indexesOf, OpenSelection, selectSeries, type Searched } from './select.ts';
import { writeSnapshot } from './snapshot.ts';
import type {
  AppendResult,
  LatestSample,
  ListOptions,
  MatcherSets,
  SelectedSeries,
  Selection,
  SeriesRef,
  Store,
  StoreOptions,
  StoreStats,
} from './types.ts';
import { Wal } from './wal/wal.ts';
import { claimFormat } from './disk/store-format.ts';

const hourMs = 3_600_000;
/** A time range is written to a block this long after its end, so that late samples can still be added in memory. */
const settleMs = hourMs;
const maintainMs = 60_000;
/** Most bytes of samples that are buffered while the disk cannot be written. */
const maxPendingBytes = 64 * 1024 * 1024;
const defaultCheckpointBytes = 16 * 1024 * 1024;
/** Below this size a log is replayed faster than a checkpoint is written. */
const closeCheckpointBytes = 1024 * 1024;
const defaultRetentionMs = 24 * hourMs;

/**
 * Opens (or creates) the store in a directory: takes the lock, opens the blocks, replays the log.
 * Errors: ERR_STORE_LOCKED when another process has the lock; ERR_STORE_WRITE or a system error when the directory
 * cannot be used. Damaged files never prevent opening: they are cut or moved to `quarantine/`, with a log line each.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const files = options.files ?? nodeFiles;
  const { dir, clock, logger } = options;
  await files.makeDir(dir);
  const unlock = await files.lock(dir, clock);
  try {
    await claimFormat(dir, files, logger);
    const head = new Head(options.externalLabels ?? []);
    const started = clock.monotonic();
    const found = await recover(dir, files, logger, head);
    const wal = new Wal(
      { dir: `${dir}/wal`, files, segmentBytes: options.segmentBytes ?? 16 * 1024 * 1024, maxPendingBytes },
      found.wal.nextIndex,
    );
    for (const { index, bytes } of found.wal.segments) wal.adopt(index, bytes);
    const { records, cutBytes } = found.wal;
    const replay = { records, cutBytes, orphanSamples: found.orphanSamples, ms: clock.monotonic() - started };
    logger.info('store: open', { dir, series: head.size, blocks: found.blocks.blocks.length, ...replay });
    return new EmbeddedStore(options, files, head, wal, found.blocks, replay, unlock);
  } catch (error) {
    await unlock();
    throw error;
  }
}

class EmbeddedStore implements Store {
  readonly #options: StoreOptions;
  readonly #dir: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #files: FileLayer;
  readonly #head: Head;
  readonly #wal: Wal;
  readonly #log: HeadLog;
  readonly #replay: StoreStats['replay'];
  readonly #unlock: () => Promise<void>;
  readonly #outOfOrderMs: number;
  readonly #maxFutureMs: number;
  readonly #blocks: BlockSet;
  /** Serialises changes of all files but the log's own. */
  #changes: Promise<unknown> = Promise.resolve();
  #appended = 0;
  #duplicates = 0;
  #rejected = { conflict: 0, late: 0, tooNew: 0, full: 0 };
  #newestAllowedMs = -Infinity;
  #cancelFlush: (() => void) | undefined;
  #cancelMaintain: () => void = () => {};
  /** The upkeep that is queued; undefined once it has begun. */
  #nextUpkeep: Promise<void> | undefined;
  #retention: { ms: number; bytes: number };
  readonly #lastingTime: LastingTime;
  #closed = false;

  constructor(
    options: StoreOptions,
    files: FileLayer,
    head: Head,
    wal: Wal,
    blocks: BlockSet,
    replay: StoreStats['replay'],
    unlock: () => Promise<void>,
  ) {
    this.#options = options;
    this.#dir = options.dir;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#files = files;
    this.#head = head;
    this.#wal = wal;
    this.#blocks = blocks;
    this.#replay = replay;
    this.#unlock = unlock;
    this.#retention = {
      ms: options.retentionMs ?? defaultRetentionMs,
      bytes: options.retentionBytes ?? Infinity,
    };
    this.#lastingTime = new LastingTime(options.clock, this.#provenMs());
    this.#outOfOrderMs = options.outOfOrderMs ?? 300_000;
    this.#maxFutureMs = options.maxFutureMs ?? hourMs;
    this.#log = {
      series: (ref, labels) => wal.addSeries(ref, labels),
      sample: (ref, t, high, low) =>
        high === staleHigh && low === staleLow ? wal.addStale(ref, t) : wal.addSample(ref, t, high, low),
      histogram: (ref, t, histogram) => wal.addHistogram(ref, t, histogram),
      deletion: (ref, mint, maxt) => wal.addDeletion(ref, mint, maxt),
    };
    this.#scheduleMaintenance();
  }

  append(series: Labels | SeriesRef, tMs: number, value: number): AppendResult {
    return this.#append(series, tMs, highBits(value), lowBits(value));
  }

  appendStale(series: Labels | SeriesRef, tMs: number): AppendResult {
    return this.#append(series, tMs, staleHigh, staleLow);
  }

  appendStart(series: Labels | SeriesRef, startMs: number): boolean {
    if (this.#refusal(startMs) || !this.#head.lacksStart(series, startMs, this.#log)) return false;
    return this.append(series, startMs, 0) === 'appended';
  }

  newestValue(series: Labels | SeriesRef, sinceMs: number): number {
    return this.#refusal(sinceMs) ? NaN : this.#head.newestValue(series, sinceMs, this.#log);
  }

  appendHistogram(series: Labels | SeriesRef, tMs: number, histogram: NativeHistogram): AppendResult {
    assertHistogram(histogram);
    return this.#counted(
      this.#refusal(tMs) ?? this.#head.appendHistogram(series, tMs, histogram, this.#outOfOrderMs, this.#log),
    );
  }

  #append(series: Labels | SeriesRef, tMs: number, high: number, low: number): AppendResult {
    return this.#counted(
      this.#refusal(tMs) ?? this.#head.append(series, tMs, high, low, this.#outOfOrderMs, this.#log),
    );
  }

  #counted(result: AppendResult): AppendResult {
    if (result === 'appended') {
      this.#appended++;
      this.#cancelFlush ??= this.#clock.setTimeout(() => this.#timedFlush(), this.#options.flushIntervalMs ?? 1000);
    } else if (result === 'duplicate') this.#duplicates++;
    else this.#rejected[result]++;
    return result;
  }

  #refusal(tMs: number): AppendResult | undefined {
    if (this.#closed || this.#wal.full) return 'full';
    // The clock is read only if its last reading does not show that the sample is allowed.
    if (tMs > this.#newestAllowedMs) {
      this.#newestAllowedMs = this.#clock.now() + this.#maxFutureMs;
      if (tMs > this.#newestAllowedMs) return 'tooNew';
    }
    return tMs > -maxTimestamp && Number.isInteger(tMs) ? undefined : 'late';
  }

  async commit(): Promise<void> {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    this.#newestAllowedMs = -Infinity;
    await this.#wal.flush();
  }

  #timedFlush(): void {
    this.#cancelFlush = undefined;
    this.#wal.flush().catch((error: unknown) => {
      this.#logger.error('store: cannot write the log, will try again', { error: errorText(error) });
      if (!this.#closed) this.#cancelFlush ??= this.#clock.setTimeout(() => this.#timedFlush(), 1000);
    });
  }

  select(matchers: readonly Matcher[], mint: number, maxt: number): Iterable<SelectedSeries> {
    return selectSeries(this.#searched(matchers, mint, maxt));
  }

  async prepare(
    matchers: readonly Matcher[],
    mint: number,
    maxt: number,
    pacing: Pacing,
  ): Promise<readonly CompiledMatcher[]> {
    const searched = this.#searched(matchers, mint, maxt);
    await rememberMatches(searched.matchers, indexesOf(searched), pacing);
    return searched.matchers;
  }

  hold(matchers: readonly Matcher[], mint: number, maxt: number): Selection {
    return new OpenSelection(this.#searched(matchers, mint, maxt));
  }

  #searched(matchers: readonly Matcher[], mint: number, maxt: number): Searched {
    const onBad = (block: Block, error: unknown): void => this.#blocks.quarantine(block, error);
    const compiled = compileMatchers(matchers);
    return { blocks: this.#blocks.blocks, head: this.#head, matchers: compiled, mint, maxt, onBad };
  }

  latest(matchers: readonly Matcher[], sinceMs: number): LatestSample[] {
    return this.#head.latest(compileMatchers(matchers), sinceMs);
  }

  series(matcherSets: MatcherSets, mint: number, maxt: number, options?: ListOptions): Promise<Labels[]> {
    return listSeries(this.#listed(matcherSets, mint, maxt), options);
  }

  labelNames(matcherSets: MatcherSets, mint: number, maxt: number, options?: ListOptions): Promise<string[]> {
    return listTexts(this.#listed(matcherSets, mint, maxt), undefined, options);
  }

  labelValues(
    name: string,
    matcherSets: MatcherSets,
    mint: number,
    maxt: number,
    options?: ListOptions,
  ): Promise<string[]> {
    return listTexts(this.#listed(matcherSets, mint, maxt), name, options);
  }

  #listed(matcherSets: MatcherSets, mint: number, maxt: number): Listed {
    const onBad = (block: Block, error: unknown): void => this.#blocks.quarantine(block, error);
    return { blockSet: this.#blocks, head: this.#head, matcherSets, mint, maxt, onBad };
  }

  stats(): StoreStats {
    const minT = Math.min(this.#blocks.blocks[0]?.from ?? Infinity, this.#head.minT);
    // What the head holds is newer than all blocks.
    const maxT = this.#head.maxT > -Infinity ? this.#head.maxT : (this.#blocks.blocks.at(-1)?.newestMs ?? -Infinity);
    return {
      series: this.#head.size,
      samplesAppended: this.#appended,
      duplicates: this.#duplicates,
      rejected: { ...this.#rejected },
      walBytes: this.#wal.bytes,
      blockBytes: this.#blocks.bytes,
      blocks: this.#blocks.blocks.length,
      quarantinedBlocks: this.#blocks.quarantined,
      headChunkBytes: this.#head.chunkBytes,
      oldestMs: Number.isFinite(minT) ? minT : undefined,
      newestMs: Number.isFinite(maxT) ? maxT : undefined,
      replay: this.#replay,
      writeError: this.#wal.writeError,
    };
  }

  maintain(): Promise<void> {
    this.#nextUpkeep ??= this.#change(() => {
      this.#nextUpkeep = undefined;
      return this.#runMaintenance();
    });
    return this.#nextUpkeep;
  }

  async delete(matchers: readonly Matcher[], mint: number, maxt: number): Promise<number> {
    return this.#change(async () => {
      // A refusal that comes after the first deletion would be too late.
      const compiled = await this.prepare(matchers, mint, maxt, new Pace());
      const inHead = this.#head.delete(compiled, mint, maxt, this.#log);
      if (inHead > 0) await this.commit();
      return inHead + (await this.#blocks.delete(compiled, mint, maxt));
    });
  }

  snapshot(): Promise<string> {
    return this.#change(async () => {
      const stamp = new Date(this.#clock.now()).toISOString().replaceAll(/[-:.]/g, '');
      const copied = { dir: this.#dir, files: this.#files, blocks: this.#blocks, head: this.#head };
      const path = await writeSnapshot(copied, stamp);
      this.#logger.info('store: snapshot written', { path });
      return path;
    });
  }

  /** Changes of files run one at a time; a failed one does not prevent the next. */
  #change<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#changes.then(work);
    this.#changes = result.catch(() => {});
    return result;
  }

  setRetention(retention: { ms: number; bytes: number }): void {
    this.#retention = retention;
  }

  #scheduleMaintenance(): void {
    this.#cancelMaintain = this.#clock.setTimeout(() => {
      this.maintain()
        .catch((error: unknown) => this.#logger.error('store: maintenance failed', { error: errorText(error) }))
        .finally(() => this.#closed || this.#scheduleMaintenance());
    }, maintainMs);
  }

  /** Retention comes first: on a full disk nothing else succeeds, and only retention makes room. */
  async #runMaintenance(): Promise<void> {
    await this.#retain();
    let moved = false;
    const end = rangeStart(this.#clock.now() - settleMs);
    for (let minT = this.#head.minT; minT < end && !this.#closed; minT = this.#head.minT) {
      await this.#moveRange(rangeStart(minT), rangeEnd(minT));
      moved = true;
    }
    const checkpointBytes = this.#options.checkpointBytes ?? defaultCheckpointBytes;
    if (moved || this.#wal.bytes > checkpointBytes) await this.#checkpoint();
    if (moved) await this.#retain();
    await this.#mergeBlocks();
  }

  /**
   * A time that has passed for certain: that of the newest sample, unless the clock ran ahead when it came. A range of
   * the head becomes a block an hour after its end. Units: ms since the epoch.
   */
  #provenMs(): number | undefined {
    const { newestMs } = this.stats();
    if (newestMs === undefined) return undefined;
    const oldestOfHead = this.#blocks.blocks.at(-1)?.newestMs ?? this.#head.minT;
    return Math.min(newestMs, oldestOfHead + blockRangeMs + settleMs);
  }

  #retain(): Promise<void> {
    return this.#blocks.retain(this.#lastingTime.now() - this.#retention.ms, this.#retention.bytes);
  }

  /**
   * Moves one aligned time range from the head into a block. The first statement ensures that no sample is added to
   * the range any more.
   */
  async #moveRange(from: number, to: number): Promise<void> {
    this.#head.minValidT = Math.max(this.#head.minValidT, to);
    const view = this.#head.chunksBefore(to);
    try {
      await this.#blocks.write({ from, to }, seriesOf(view), () => this.#head.dropBefore(to));
    } finally {
      view.close();
    }
  }

  async #mergeBlocks(): Promise<void> {
    const bad = (block: Block, error: unknown): void => this.#blocks.quarantine(block, error);
    for (;;) {
      const merge = nextMerge(this.#blocks.blocks, this.#head.minValidT, this.#retention.ms);
      if (!merge || this.#closed) return;
      await this.#blocks.merge(merge.range, merge.parts, mergedSeries(merge.parts, bad));
    }
  }

  async #checkpoint(): Promise<void> {
    const index = await this.#wal.cut();
    await writeCheckpoint(`${this.#dir}/wal`, this.#files, this.#head, index);
    await this.#wal.removeThrough(index);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelFlush?.();
    this.#cancelMaintain();
    try {
      await this.#changes;
      if (this.#wal.bytes + this.#wal.pendingBytes > closeCheckpointBytes) {
        await this.#checkpoint().catch((error: unknown) => {
          this.#logger.warn('store: no checkpoint at the end, the next start replays the log', {
            error: errorText(error),
          });
        });
      }
      await this.#wal.close();
    } finally {
      await this.#blocks.close();
      await this.#unlock();
    }
  }
}

function* seriesOf(view: HeadView): Generator<BlockSource> {
  for (let i = 0; i < view.size; i++) yield { labels: view.labels(i), chunks: view.lentChunks(i) };
}
