import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { WireReader } from '../../base/wire/protobuf-wire.ts';
import { type Halves, halvesOf, halvesOfPoints } from './encode/halves.ts';
import { encodeOtlpMetrics } from './encode/otlp-metrics.ts';
import { encodeOtlpSpans } from './encode/otlp-spans.ts';
import type { PostAnswer } from './post.ts';
import type { QueuedSample } from './queue/record.ts';
import { type Sender, senderHeaders, type SenderOptions, SendLater, type SendResult } from './sender.ts';
import { verdictOf } from './verdict.ts';

export interface OtlpOptions extends SenderOptions {
  /**
   * The base URL, to which `/v1/metrics` or `/v1/traces` is added. If it already ends with one of them, that is
   * removed.
   */
  readonly endpoint: URL;
  readonly node: string;
}

/** How long spans are withheld from a receiver that has no traces path. Units: ms. */
const noSpansMs = 3_600_000;
const compress = promisify(gzip);

/**
 * OTLP over HTTP with protobuf and gzip. Items that a partial success rejects count as refused. Refused data is not
 * sent again, as the protocol demands. A receiver without a traces path gets no spans for an hour; metrics continue.
 * Source: OpenTelemetry Protocol 1.x.
 */
export class OtlpSender implements Sender {
  readonly #options: OtlpOptions;
  #noSpansUntil = -Infinity;

  constructor(options: OtlpOptions) {
    this.#options = options;
  }

  async samples(samples: readonly QueuedSample[]): Promise<SendResult> {
    const { labels, node } = this.#options;
    const resource = { 'service.name': 'svc-agent', 'service.instance.id': node, 'k8s.node.name': node };
    const answer = await this.#post('metrics', encodeOtlpMetrics(samples, labels, resource));
    return this.#settle(answer, samples, halvesOfPoints, (half) => this.samples(half));
  }

  async spans(spans: readonly Uint8Array[]): Promise<SendResult> {
    const { clock } = this.#options;
    const refused = { taken: 0, refused: spans.length, reason: 'the receiver takes no spans' };
    if (clock.monotonic() < this.#noSpansUntil) return refused;
    const answer = await this.#post('traces', encodeOtlpSpans(spans));
    if (answer.status === 404 || answer.status === 405) {
      this.#noSpansUntil = clock.monotonic() + noSpansMs;
      return refused;
    }
    return this.#settle(answer, spans, halvesOf, (half) => this.spans(half));
  }

  #settle<T>(
    answer: PostAnswer,
    items: readonly T[],
    halve: (items: readonly T[]) => Halves<T> | null,
    again: (half: readonly T[]) => Promise<SendResult>,
  ): SendResult {
    const verdict = verdictOf(answer, this.#options.clock.now());
    switch (verdict.kind) {
      case 'taken': {
        const { rejected, reason } = partialSuccess(answer.body);
        const refused = Math.min(rejected, items.length);
        return { taken: items.length - refused, refused, ...(refused > 0 ? { reason } : {}) };
      }
      case 'refused':
        return { taken: 0, refused: items.length, reason: verdict.reason };
      case 'smaller': {
        const halves = halve(items);
        if (!halves) return { taken: 0, refused: items.length, reason: 'a single item is too large' };
        return { taken: 0, refused: 0, rest: halves.map((half) => () => again(half)) };
      }
      case 'unsupported':
        throw new SendLater(`HTTP ${answer.status}: the receiver does not take OTLP as protobuf`);
      case 'again':
        throw new SendLater(verdict.reason, verdict.afterMs);
    }
  }

  async #post(signal: 'metrics' | 'traces', message: Uint8Array): Promise<PostAnswer> {
    const { endpoint, post } = this.#options;
    const url = new URL(endpoint);
    url.pathname = `${url.pathname.replace(/(\/v1\/(metrics|traces))?\/*$/, '')}/v1/${signal}`;
    const headers = {
      'content-type': 'application/x-protobuf',
      'content-encoding': 'gzip',
      ...senderHeaders(this.#options),
    };
    return post(url, headers, await compress(message, { level: 1 }));
  }
}

/** `partial_success` of an answer; an answer that is not protobuf carries none. */
function partialSuccess(body: Uint8Array): { rejected: number; reason: string } {
  let rejected = 0;
  let reason = 'partial success';
  try {
    const read = new WireReader(body);
    while (!read.done) {
      const key = read.key();
      if (key !== 10) {
        read.skip(key & 7);
        continue;
      }
      const inner = read.message();
      while (!inner.done) {
        const field = inner.key();
        if (field === 8) rejected = Math.max(0, inner.int());
        else if (field === 18) reason = inner.text();
        else inner.skip(field & 7);
      }
    }
  } catch {
    return { rejected: 0, reason };
  }
  return { rejected, reason };
}
