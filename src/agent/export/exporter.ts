import { type Clock, sleep } from '../../base/clock.ts';
import { errorText, isOperatorError, joined } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { cutToUnits } from '../../base/text/texts.ts';
import type { ExportState } from '../../capture/index.ts';
import { type Destination, destinationName } from './destination.ts';
import type { ExportMetrics } from './metrics.ts';
import type { ExportQueue, Round } from './queue/export-queue.ts';
import type { QueuedSample, QueuedSeries } from './queue/record.ts';
import { addResults, type Chain, sendEach, type Sender, SendLater, type SendResult } from './sender.ts';

/** A round is split into requests of about this many samples, but into no more than `maxPieces` requests. */
const pieceSamples = 2_000;
const maxPieces = 4;

/**
 * Splits a round, the samples that are sent at a time, into requests that go out in parallel. All samples of a series,
 * and all series of a histogram's label set, are in one request, so order is kept and histograms stay whole. Pure: the
 * same round gives the same pieces.
 */
function splitRound(samples: readonly QueuedSample[]): QueuedSample[][] {
  const count = Math.min(maxPieces, Math.ceil(samples.length / pieceSamples));
  if (count <= 1) return samples.length > 0 ? [[...samples]] : [];
  const pieces: QueuedSample[][] = Array.from({ length: count }, () => []);
  for (const sample of samples) pieces[hashOf(sample.series) % count]!.push(sample);
  return pieces.filter((piece) => piece.length > 0);
}

const hashes = new WeakMap<QueuedSeries, number>();

/** FNV-1a over the family and the labels that distinguish its label sets. */
function hashOf(series: QueuedSeries): number {
  let hash = hashes.get(series);
  if (hash !== undefined) return hash;
  hash = 0x811c9dc5;
  for (const text of [series.meta.family, ...series.labels.filter(([n]) => !partLabels.has(n)).flat()]) {
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    hash = Math.imul(hash ^ 0xff, 0x01000193);
  }
  hash >>>= 0;
  hashes.set(series, hash);
  return hash;
}

const partLabels: ReadonlySet<string> = new Set(['__name__', 'le', 'quantile']);

export interface ExporterOptions {
  readonly destination: Destination;
  readonly queue: ExportQueue;
  readonly sender: Sender;
  /** False while the Secret that the destination refers to has not been delivered. */
  readonly hasSecret: () => boolean;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: ExportMetrics;
  readonly signal: AbortSignal;
}

/** The most samples and spans that one round sends. */
const roundItems = 8_000;
/** New data is collected for this long before a round. Units: ms. */
const batchMs = 1_000;
const firstBackoffMs = 250;
const lastBackoffMs = 30_000;
/** A destination that is not allowed is checked again after this time: names and allow lists change. Units: ms. */
const notAllowedMs = 30_000;
/**
 * The state becomes Failing after this many failures in a row. One failure is not shown, because the first retry
 * follows within a quarter of a second.
 */
const failuresToTell = 2;

/**
 * Sends a destination's queued data, round by round, until the signal aborts.
 * Guarantees: rounds go out in order; the next one starts only after the last one was accepted or permanently refused.
 * An unreachable or overloaded receiver is retried with back-off (250 ms doubling to 30 s, with jitter, or as its
 * Retry-After says) for as long as the queue holds the data.
 */
export class Exporter {
  readonly #options: ExporterOptions;
  readonly #name: string;
  #state: ExportState = 'Sending';
  #message = '';
  #failures = 0;
  taken = 0;
  refused = 0;
  lastTakenMs = 0;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#name = destinationName(options.destination);
  }

  get state(): ExportState {
    return this.#state;
  }

  /** The reason why the exporter does not send; empty while it sends. */
  get message(): string {
    return this.#message;
  }

  async run(): Promise<void> {
    const { queue, clock, signal } = this.#options;
    try {
      while (!signal.aborted) {
        if (this.#lacksSecret()) {
          await sleep(clock, batchMs, signal);
          continue;
        }
        const round = queue.pendingBytes > 0 ? await queue.next(roundItems) : null;
        if (!round) await sleep(clock, batchMs, signal);
        else {
          await this.#deliver(round);
          await queue.done(round);
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /**
   * Sends a round until every request of it was accepted or refused, or until the queue no longer holds it. Requests
   * that succeeded are not sent again.
   */
  async #deliver(round: Round): Promise<void> {
    const { sender, queue } = this.#options;
    let left: readonly Chain[] = [
      ...splitRound(round.samples).map((piece: QueuedSample[]) => [() => sender.samples(piece)]),
      ...(round.spans.length > 0 ? [[() => sender.spans(round.spans)]] : []),
    ];
    while (left.length > 0) {
      // The value may have been taken back since the last attempt.
      if (this.#lacksSecret()) {
        await sleep(this.#options.clock, batchMs, this.#options.signal);
        if (!queue.holds(round)) return;
        continue;
      }
      const sent = await sendEach(left);
      this.#options.signal.throwIfAborted();
      if (sent.results.length > 0) this.#note(sent.results.reduce(addResults));
      left = sent.left;
      if (sent.failed.length === 0) continue;
      await this.#wait(sent.failed);
      if (!queue.holds(round)) return;
    }
    this.#failures = 0;
    this.#become('Sending', '');
  }

  /** Whether the destination's Secret is not here, without which nothing is sent; the state says so. */
  #lacksSecret(): boolean {
    const { hasSecret, destination } = this.#options;
    if (!hasSecret()) {
      this.#become('NoSecret', `Secret ${destination.rule.secret ?? ''} has not been delivered`);
      return true;
    }
    // Said at once, not after the next accepted round: with an empty queue that may take hours.
    if (this.#state === 'NoSecret') this.#become('Sending', '');
    return false;
  }

  #note({ taken, refused, reason }: SendResult): void {
    const { metrics, clock, logger } = this.#options;
    const destination = this.#name;
    this.taken += taken;
    this.refused += refused;
    if (taken > 0) {
      this.lastTakenMs = clock.now();
      metrics.sent.inc({ destination }, taken);
      metrics.lastSuccess.set({ destination }, this.lastTakenMs / 1_000);
    }
    if (refused === 0) return;
    metrics.dropped.inc({ destination, reason: 'refused' }, refused);
    logger.warn('export destination refused data', { destination, items: refused, error: reason });
  }

  async #wait(failed: readonly unknown[]): Promise<void> {
    const { clock, random, signal, metrics } = this.#options;
    this.#failures++;
    metrics.failures.inc({ destination: this.#name });
    const notAllowed = failed.find((error) => isOperatorError(error, 'ERR_EXPORT_NOT_ALLOWED'));
    if (notAllowed) {
      this.#become('NotAllowed', notAllowed.message);
      return sleep(clock, notAllowedMs, signal);
    }
    if (this.#failures >= failuresToTell) this.#become('Failing', joined(failed.map(errorText)));
    const doubled = Math.min(lastBackoffMs, firstBackoffMs * 2 ** Math.min(this.#failures - 1, 20));
    const wishes = failed.map((error) => (error instanceof SendLater ? (error.afterMs ?? 0) : 0));
    return sleep(clock, Math.max(...wishes, doubled * (0.5 + random() / 2)), signal);
  }

  #become(state: ExportState, message: string): void {
    if (state !== this.#state) {
      const fields = { destination: this.#name, ...(message ? { reason: message } : {}) };
      if (state === 'Sending') this.#options.logger.info('export resumed', fields);
      else this.#options.logger.warn('export waits', { ...fields, state });
    }
    this.#state = state;
    this.#message = cutToUnits(message, 512);
  }
}
