import { snappyCompress } from '../../tsdb/remote-read/snappy.ts';
import { halvesOf } from './encode/halves.ts';
import { encodeWrite1 } from './encode/remote-write-1.ts';
import { encodeWrite2 } from './encode/remote-write-2.ts';
import { bySeries, type SeriesSamples } from './encode/with-labels.ts';
import type { PostAnswer } from './post.ts';
import type { QueuedSample, SeriesMeta } from './queue/record.ts';
import { type Sender, senderHeaders, type SenderOptions, SendLater, type SendResult } from './sender.ts';
import { verdictOf } from './verdict.ts';

export interface RemoteWriteOptions extends SenderOptions {
  readonly url: URL;
}

/** How long version 1 is used for a receiver that did not know version 2. Units: ms. */
const tryAgainMs = 3_600_000;
/** How often version 1 repeats the metadata of a family. Units: ms. */
const metadataMs = 60_000;
/** At most this many requests are spent on finding the refused samples of one request. */
const searchBudget = 64;

/**
 * Prometheus remote write: 2.0 first, 1.0 for a receiver that does not know it.
 * A receiver of 1.0 accepts a request whole or not at all, so a refused request is halved until the refused samples are
 * isolated. A receiver of 2.0 reports how many samples it accepted.
 * Source: Prometheus Remote-Write 1.0 and 2.0.
 */
export class RemoteWriteSender implements Sender {
  readonly #options: RemoteWriteOptions;
  /** Until when 1.0 is used, on the monotonic clock. */
  #oldUntil = -Infinity;
  /** Whether the receiver has shown that it knows 2.0. */
  #knowsNew = false;
  /** When the metadata of a family was last sent, the oldest first. */
  readonly #metadataSentAt = new Map<string, number>();

  constructor(options: RemoteWriteOptions) {
    this.#options = options;
  }

  samples(samples: readonly QueuedSample[]): Promise<SendResult> {
    return this.#send(samples, { left: searchBudget });
  }

  spans(spans: readonly Uint8Array[]): Promise<SendResult> {
    return Promise.resolve({ taken: 0, refused: spans.length, reason: 'remote write carries no spans' });
  }

  async #send(samples: readonly QueuedSample[], budget: { left: number }): Promise<SendResult> {
    const { clock, labels } = this.#options;
    const isNew = clock.monotonic() >= this.#oldUntil;
    const series = bySeries(samples, labels);
    const due = isNew ? [] : this.#dueMetadata(series);
    const answer = isNew ? await this.#post2(series) : await this.#post1(series, due);
    const verdict = verdictOf(answer, clock.now());
    const written = isNew ? writtenSamples(answer) : null;
    if (written !== null) this.#knowsNew = true;
    // A refused request may have been refused for its metadata: its halves are sent without metadata.
    if (verdict.kind === 'taken' || verdict.kind === 'refused') this.#noteMetadata(due);
    switch (verdict.kind) {
      case 'taken':
        // An answer without the count comes from a receiver of 1.0, which found no field that it knows.
        if (isNew && written === null) return this.#fallBack(samples, budget);
        return { taken: samples.length, refused: 0 };
      case 'unsupported':
        if (isNew) return this.#fallBack(samples, budget);
        throw new SendLater(`HTTP ${answer.status}: the receiver takes neither version of remote write`);
      case 'smaller':
        return this.#halve(samples, budget, 'a single sample is too large');
      case 'refused':
        if (isNew && !this.#knowsNew) return this.#fallBack(samples, budget);
        if (isNew) {
          const taken = Math.min(written ?? 0, samples.length);
          return { taken, refused: samples.length - taken, reason: verdict.reason };
        }
        return this.#halve(samples, budget, verdict.reason);
      case 'again':
        throw new SendLater(verdict.reason, verdict.afterMs);
    }
  }

  #fallBack(samples: readonly QueuedSample[], budget: { left: number }): Promise<SendResult> {
    this.#oldUntil = this.#options.clock.monotonic() + tryAgainMs;
    this.#knowsNew = false;
    return this.#send(samples, budget);
  }

  #halve(samples: readonly QueuedSample[], budget: { left: number }, reason: string): SendResult {
    const halves = budget.left > 0 ? halvesOf(samples) : null;
    if (!halves) return { taken: 0, refused: samples.length, reason };
    budget.left -= 2;
    return { taken: 0, refused: 0, rest: halves.map((half) => () => this.#send(half, budget)) };
  }

  #post2(series: readonly SeriesSamples[]): Promise<PostAnswer> {
    return this.#post(encodeWrite2(series), {
      'content-type': 'application/x-protobuf;proto=io.prometheus.write.v2.Request',
      'x-prometheus-remote-write-version': '2.0.0',
    });
  }

  #post1(series: readonly SeriesSamples[], metadata: readonly SeriesMeta[]): Promise<PostAnswer> {
    return this.#post(encodeWrite1(series, metadata), {
      'content-type': 'application/x-protobuf',
      'x-prometheus-remote-write-version': '0.1.0',
    });
  }

  #post(message: Uint8Array, headers: Readonly<Record<string, string>>): Promise<PostAnswer> {
    const { url, post } = this.#options;
    const common = { 'content-encoding': 'snappy', ...senderHeaders(this.#options) };
    return post(url, { ...common, ...headers }, snappyCompress(message));
  }

  #noteMetadata(sent: readonly SeriesMeta[]): void {
    const now = this.#options.clock.monotonic();
    for (const { family } of sent) {
      this.#metadataSentAt.delete(family);
      this.#metadataSentAt.set(family, now);
    }
    for (const [family, at] of this.#metadataSentAt) {
      if (now - at < metadataMs) break;
      this.#metadataSentAt.delete(family);
    }
  }

  /** Families whose metadata is due. */
  #dueMetadata(series: readonly SeriesSamples[]): SeriesMeta[] {
    const now = this.#options.clock.monotonic();
    const due = new Map<string, SeriesMeta>();
    for (const { meta } of series.map((s) => s.series)) {
      if (now - (this.#metadataSentAt.get(meta.family) ?? -Infinity) < metadataMs) continue;
      due.set(meta.family, meta);
    }
    return [...due.values()];
  }
}

function writtenSamples({ headers }: PostAnswer): number | null {
  const text = headers['x-prometheus-remote-write-samples-written'];
  return typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
