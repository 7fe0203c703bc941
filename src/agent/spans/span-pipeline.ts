import type { Clock } from '../../base/clock.ts';
import { pathOf } from '../../base/text/texts.ts';
import type { CaptureConfig } from '../../capture/index.ts';
import type { Enriched } from '../identity/enrich.ts';
import type { Identity } from '../identity/identity.ts';
import { attributeText, memoryOf } from '../mapping/label-set.ts';
import { wants } from '../mapping/monitor-rules.ts';
import type { ResourceSpans, Span, TracesRequest } from '../otlp/model.ts';
import { type Redactor, Redactors } from '../redaction/redactor.ts';
import { type SpanRecord, spanProtocol } from '../../stream/index.ts';
import { isShown, type ResourceTexts, resourceTexts, spanRecord } from './span-record.ts';
import { type MonitorSpans, SpanRuleIndex, type SpanRules } from './span-rules.ts';
import type { StreamRing } from './stream-ring.ts';
import { ratioTakes, TailSampler, type TailSpan } from './tail-sampler.ts';
import { UnshownSpans } from './unshown-spans.ts';

/** Why a span was dropped before the ring (the buffer of the stream). */
export type SpanDropReason = 'filtered' | 'sampled' | 'overflow' | 'rate_monitor' | 'rate_node';

export interface SpanPipelineOptions {
  readonly ring: StreamRing;
  readonly clock: Clock;
  readonly identity: Identity;
  /** Called for every span that reached the ring, with its start in ns since the epoch. */
  readonly onSpan?: (record: SpanRecord, startNs: bigint) => void;
  readonly onDropped?: (reason: SpanDropReason, spans: number) => void;
  /** Called for spans whose pod is unknown. */
  readonly onUnknown?: (spans: number) => void;
  /** Called for spans that named a namespace, pod or node other than their sender's. */
  readonly onContradicted?: (spans: number) => void;
}

type SpanConfig = Pick<CaptureConfig, 'monitors' | 'fallback' | 'limits' | 'redaction'>;

/**
 * A span that passed its pod's filters. It is redacted already: no unredacted span waits for a tail decision, which
 * keeps or drops a whole trace.
 */
interface Candidate extends TailSpan {
  /** The namespace of its sender; `''` for an unknown sender. */
  readonly account: string;
  readonly startNs: bigint;
  readonly record: SpanRecord;
  readonly monitors: readonly MonitorSpans[];
}

/**
 * Takes decoded spans to the ring.
 *
 * Flow: the sender is identified, or its spans are held until metric points prove it → the instrument's internal child
 * spans are left out → filters by protocol and path → redaction → tail decision → rate limits of monitors and node →
 * ring.
 * Guarantees: a span is redacted before it waits for a tail decision or reaches the ring; memory is bounded; no call
 * waits.
 */
export class SpanPipeline {
  readonly #options: SpanPipelineOptions;
  readonly #tail: TailSampler<Candidate>;
  readonly #unshown = new UnshownSpans((spans) =>
    this.#takeResource(spans, this.#options.identity.spans(spans.attributes)),
  );
  #rules: SpanRuleIndex;
  #redactors = new Redactors();

  constructor(options: SpanPipelineOptions) {
    this.#options = options;
    this.#rules = new SpanRuleIndex({ monitors: [], limits: noLimits }, options.clock.monotonic());
    this.#tail = new TailSampler<Candidate>(
      (span) => this.#limit(span),
      (spans, reason) => this.#dropped(reason, spans),
    );
  }

  /** The monitors of the current config, with their rate limits and the number of spans refused by each. */
  get monitors(): readonly MonitorSpans[] {
    return this.#rules.monitors;
  }

  /** Applies the rules of a new config immediately; spans that wait for a tail decision are not decided again. */
  setConfig(config: SpanConfig): void {
    this.#rules = new SpanRuleIndex(config, this.#options.clock.monotonic());
    this.#redactors = new Redactors(config.redaction);
  }

  /** Takes the spans of a request. Returns the number of spans in the request. */
  take(request: TracesRequest): number {
    const mono = this.#options.clock.monotonic();
    let taken = 0;
    for (const spans of request.resources) {
      taken += countSpans(spans);
      const sender = this.#options.identity.spans(spans.attributes);
      if (sender.unshown) this.#unshown.hold(sender.unshown.namespace, spans, mono);
      else this.#takeResource(spans, sender);
    }
    this.#tail.expire(mono);
    return taken;
  }

  /**
   * Continues with spans whose sender has been proven, passes on those that waited too long as spans of an unknown
   * sender, and drops traces that waited too long. It has to be called regularly, even when no request arrives.
   */
  expire(): void {
    const mono = this.#options.clock.monotonic();
    this.#unshown.settle(({ attributes }) => this.#options.identity.spans(attributes).unshown === null, mono);
    this.#tail.expire(mono);
  }

  #takeResource(spans: ResourceSpans, sender: Enriched): void {
    const { pod, container, contradicts, attributes } = sender;
    const mono = this.#options.clock.monotonic();
    const namespace = pod?.namespace ?? '';
    const redactor = this.#redactors.of(namespace);
    const resource = resourceTexts(attributes, redactor);
    for (const span of spans.scopes.flatMap((scope) => scope.spans)) {
      if (!isShown(span)) continue;
      const port = span.kind === 'server' ? Number(attributeText(span.attributes, 'server.port')) : 0;
      const rules = this.#rules.of(namespace, pod?.name ?? '', container, port > 0 ? port : null);
      this.#takeOne(span, resource, rules, redactor, mono);
    }
    if (!pod) this.#options.onUnknown?.(countSpans(spans));
    if (contradicts) this.#options.onContradicted?.(countSpans(spans));
  }

  #takeOne(
    span: Span,
    resource: ResourceTexts,
    { rules, tail, ratio, monitors, headers }: SpanRules,
    redactor: Redactor,
    mono: number,
  ): void {
    if (rules.length > 0) {
      const attribute = (key: string): string => attributeText(span.attributes, key);
      const paths = [attribute('url.path') || (pathOf(attribute('url.full')) ?? ''), attribute('http.route')];
      const protocol = spanProtocol(attribute);
      const subject = { family: null, protocol, paths: paths.filter((path) => path !== '') };
      if (!rules.some((rule) => wants(rule, subject))) return this.#dropped('filtered', 1);
    }
    if (ratio !== null && !ratioTakes(span.traceId, ratio)) return this.#dropped('sampled', 1);
    const record = spanRecord(resource, span, redactor, headers);
    const candidate: Candidate = {
      traceId: span.traceId,
      account: record.namespace ?? '',
      isError: span.status === 'error',
      durationNs: record.durationNs,
      bytes: sizeOf(record),
      startNs: span.startNs,
      record,
      monitors,
    };
    if (tail) this.#tail.take(candidate, tail, mono);
    else this.#limit(candidate);
  }

  /**
   * A span is dropped when the rate limit of one of its monitors, or that of the node, refuses it. A span that is kept
   * counts against all of these limits, a dropped span against none.
   */
  #limit({ account, monitors, record, bytes, startNs }: Candidate): void {
    const { clock, identity, ring, onSpan } = this.#options;
    const mono = clock.monotonic();
    const over = monitors.filter((m) => m.rate?.allows(mono) === false);
    for (const monitor of over) monitor.dropped++;
    if (over.length > 0) return this.#dropped('rate_monitor', 1);
    if (this.#rules.node?.take(account, identity.pods.namespaces, mono) === false) return this.#dropped('rate_node', 1);
    for (const { rate } of monitors) rate?.take(mono);
    const now = clock.now();
    const timeMs = Number(startNs / 1_000_000n);
    // The ring removes items by age: it would keep a start in the future too long, and drop a start of 0 immediately.
    ring.push({ timeMs: Math.min(timeMs > 0 ? timeMs : now, now), bytes, account, span: record }, now);
    onSpan?.(record, startNs);
  }

  #dropped(reason: SpanDropReason, spans: number): void {
    this.#options.onDropped?.(reason, spans);
  }
}

const noLimits: CaptureConfig['limits'] = {
  maxSeriesPerNode: 0,
  maxSeriesPerNamespace: 0,
  maxSeriesPerMonitor: 0,
  maxLabelValueLength: 0,
  onLimit: 'Drop',
};

function countSpans({ scopes }: ResourceSpans): number {
  return scopes.reduce((count, { spans }) => count + spans.length, 0);
}

/** Approximate memory of a record, without serialising it: its fixed part, its texts and its attributes. */
function sizeOf({ attributes, ...fields }: SpanRecord): number {
  const texts = Object.values(fields).reduce(
    (sum: number, field) => sum + (typeof field === 'string' ? field.length : 0),
    0,
  );
  return 600 + texts + memoryOf(attributes);
}
