import type { Clock } from '../base/clock.ts';
import { errorText } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { rangeEnd, rangeStart } from './block-range.ts';
import { Block } from './block/reader.ts';
import { writeBlock } from './block/writer.ts';
import { writeCheckpoint } from './checkpoint.ts';
import { highBits, lowBits, maxTimestamp, staleHigh, staleLow } from './chunk/index.ts';
import { nodeFiles } from './file-layer.ts';
import type { FileLayer } from './file-layer.ts';
import { Head } from './head/head.ts';
import type { HeadLog } from './head/head.ts';
import { compareLabels, compareUtf8, labelsKey, labelValue } from './labels.ts';
import type { Labels } from './labels.ts';
import { compileMatchers } from './matcher.ts';
import type { Matcher } from './matcher.ts';
import { recover } from './recover.ts';
import { selectSeries } from './select.ts';
import type { AppendResult, LatestSample, SelectedSeries, Store, StoreOptions, StoreStats } from './types.ts';
import { Wal } from './wal/wal.ts';

const hourMs = 3_600_000;
/** A range goes into a block this long after its end, so that late samples still find it in memory. */
const settleMs = hourMs;
const maintainMs = 60_000;
/** Samples that wait for a broken disk are kept up to this many bytes. */
const maxPendingBytes = 64 * 1024 * 1024;
/** The log is checkpointed between blocks when it grows above this. */
const maxWalBytes = 256 * 1024 * 1024;

/**
 * Opens (or creates) the store in a directory: takes the lock, opens the blocks, replays the log.
 * Errors: ERR_STORE_LOCKED when another process holds it; ERR_STORE_WRITE or a system error when the directory
 * cannot be used. Damaged files never stop it: they are cut or set aside in `quarantine/`, with a log line each.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const files = options.files ?? nodeFiles;
  const { dir, clock, logger } = options;
  await files.makeDir(dir);
  const unlock = await files.lock(dir, clock);
  try {
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
    logger.info('store: open', { dir, series: head.size, blocks: found.blocks.length, ...replay });
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
  #blocks: readonly Block[];
  #appended = 0;
  #duplicates = 0;
  #rejected = { conflict: 0, late: 0, tooNew: 0, full: 0 };
  #cancelFlush: (() => void) | undefined;
  #cancelMaintain: () => void = () => {};
  #maintaining: Promise<void> | undefined;
  #closed = false;

  constructor(
    options: StoreOptions,
    files: FileLayer,
    head: Head,
    wal: Wal,
    blocks: readonly Block[],
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
    this.#outOfOrderMs = options.outOfOrderMs ?? 300_000;
    this.#maxFutureMs = options.maxFutureMs ?? hourMs;
    this.#log = {
      series: (ref, labels) => wal.addSeries(ref, labels),
      sample: (ref, t, high, low) =>
        high === staleHigh && low === staleLow ? wal.addStale(ref, t) : wal.addSample(ref, t, high, low),
    };
    this.#scheduleMaintenance();
  }

  append(labels: Labels, tMs: number, value: number): AppendResult {
    return this.#append(labels, tMs, highBits(value), lowBits(value));
  }

  appendStale(labels: Labels, tMs: number): AppendResult {
    return this.#append(labels, tMs, staleHigh, staleLow);
  }

  #append(labels: Labels, tMs: number, high: number, low: number): AppendResult {
    const result = this.#tryAppend(labels, tMs, high, low);
    if (result === 'appended') {
      this.#appended++;
      this.#cancelFlush ??= this.#clock.setTimeout(() => this.#timedFlush(), this.#options.flushIntervalMs ?? 1000);
    } else if (result === 'duplicate') this.#duplicates++;
    else this.#rejected[result]++;
    return result;
  }

  #tryAppend(labels: Labels, tMs: number, high: number, low: number): AppendResult {
    if (this.#closed || this.#wal.full) return 'full';
    if (tMs > this.#clock.now() + this.#maxFutureMs) return 'tooNew';
    if (!(tMs > -maxTimestamp) || !Number.isInteger(tMs)) return 'late';
    return this.#head.append(labels, tMs, high, low, this.#outOfOrderMs, this.#log);
  }

  async commit(): Promise<void> {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
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
    return selectSeries(this.#blocks, this.#head, compileMatchers(matchers), mint, maxt);
  }

  latest(matchers: readonly Matcher[], sinceMs: number): LatestSample[] {
    return this.#head.latest(compileMatchers(matchers), sinceMs);
  }

  series(matcherSets: readonly (readonly Matcher[])[], mint: number, maxt: number): Labels[] {
    const found = new Map<string, Labels>();
    for (const matchers of matcherSets.length > 0 ? matcherSets : [[]]) {
      for (const { labels } of this.select(matchers, mint, maxt)) found.set(labelsKey(labels), labels);
    }
    return [...found.values()].sort(compareLabels);
  }

  labelNames(matcherSets: readonly (readonly Matcher[])[], mint: number, maxt: number): string[] {
    const names = new Set<string>();
    for (const labels of this.series(matcherSets, mint, maxt)) for (const [name] of labels) names.add(name);
    return [...names].sort(compareUtf8);
  }

  labelValues(name: string, matcherSets: readonly (readonly Matcher[])[], mint: number, maxt: number): string[] {
    const values = new Set<string>();
    for (const labels of this.series(matcherSets, mint, maxt)) values.add(labelValue(labels, name));
    values.delete('');
    return [...values].sort(compareUtf8);
  }

  stats(): StoreStats {
    const minT = Math.min(this.#blocks[0]?.from ?? Infinity, this.#head.minT);
    const maxT = Math.max(this.#blocks.at(-1)?.to ?? -Infinity, this.#head.maxT);
    return {
      series: this.#head.size,
      samplesAppended: this.#appended,
      duplicates: this.#duplicates,
      rejected: { ...this.#rejected },
      walBytes: this.#wal.bytes,
      blockBytes: this.#blocks.reduce((sum, block) => sum + block.bytes, 0),
      blocks: this.#blocks.length,
      oldestMs: Number.isFinite(minT) ? minT : undefined,
      newestMs: Number.isFinite(maxT) ? maxT : undefined,
      replay: this.#replay,
      writeError: this.#wal.writeError,
    };
  }

  maintain(): Promise<void> {
    this.#maintaining ??= this.#runMaintenance().finally(() => (this.#maintaining = undefined));
    return this.#maintaining;
  }

  #scheduleMaintenance(): void {
    this.#cancelMaintain = this.#clock.setTimeout(() => {
      this.maintain()
        .catch((error: unknown) => this.#logger.error('store: maintenance failed', { error: errorText(error) }))
        .finally(() => this.#closed || this.#scheduleMaintenance());
    }, maintainMs);
  }

  async #runMaintenance(): Promise<void> {
    let moved = false;
    const end = rangeStart(this.#clock.now() - settleMs);
    for (let minT = this.#head.minT; minT < end && !this.#closed; minT = this.#head.minT) {
      await this.#moveRange(rangeStart(minT), rangeEnd(minT));
      moved = true;
    }
    if (moved || this.#wal.bytes > maxWalBytes) await this.#checkpoint();
    await this.#applyRetention();
  }

  /** Moves one aligned range from the head into a block. Nothing can be added to it from the first line on. */
  async #moveRange(from: number, to: number): Promise<void> {
    this.#head.minValidT = Math.max(this.#head.minValidT, to);
    const sources = [...this.#head.series()]
      .map((series) => ({ labels: series.labels, chunks: series.chunksBefore(to) }))
      .filter(({ chunks }) => chunks.length > 0)
      .sort((a, b) => compareLabels(a.labels, b.labels));
    const path = await writeBlock(`${this.#dir}/blocks`, this.#files, { from, to }, sources);
    const block = await Block.open(path, this.#files);
    this.#blocks = [...this.#blocks, block].sort((a, b) => a.from - b.from);
    this.#head.dropBefore(to);
    this.#logger.info('store: block written', {
      path,
      series: sources.length,
      samples: block.samples,
      bytes: block.bytes,
    });
  }

  async #checkpoint(): Promise<void> {
    const index = await this.#wal.cut();
    await writeCheckpoint(`${this.#dir}/wal`, this.#files, this.#head, index);
    await this.#wal.removeThrough(index);
  }

  async #applyRetention(): Promise<void> {
    const oldest = this.#clock.now() - (this.#options.retentionMs ?? 24 * hourMs);
    const cap = this.#options.retentionBytes ?? Infinity;
    let total = this.#blocks.reduce((sum, block) => sum + block.bytes, 0);
    const dropped = this.#blocks.filter((block) => {
      const drop = block.to <= oldest || total > cap;
      if (drop) total -= block.bytes;
      return drop;
    });
    if (dropped.length === 0) return;
    this.#blocks = this.#blocks.filter((block) => !dropped.includes(block));
    for (const block of dropped) {
      block.retire();
      await this.#files.remove(block.path);
      this.#logger.info('store: block removed by retention', { path: block.path, bytes: block.bytes });
    }
    await this.#files.syncDir(`${this.#dir}/blocks`);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelFlush?.();
    this.#cancelMaintain();
    try {
      await this.#maintaining?.catch(() => {});
      await this.#wal.close();
    } finally {
      for (const block of this.#blocks) block.retire();
      await this.#unlock();
    }
  }
}
