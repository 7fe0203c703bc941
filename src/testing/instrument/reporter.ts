import type { Attribute, MetricsRequest, ResourceSpans, TracesRequest } from '../../agent/otlp/model.ts';
import type { Acceptance, OtlpConsumer } from '../../agent/otlp/consumer.ts';
import { encodeMetricsRequest, encodeTracesRequest } from '../otlp-encode.ts';
import type { InstrumentConfig } from './config.ts';
import type { FlowWatch } from './flow-watch.ts';
import { sampled, select, type Selection } from './discovery.ts';
import type { PodDirectory, PodFacts } from './pod-directory.ts';
import { infoMetrics, reshapeHttpMetrics, withServedPort, selfMetrics } from './reshape.ts';
import { enrichedResource, type Sender, senderOf, workloadOf } from './resource-attributes.ts';

export interface ReporterOptions {
  readonly config: InstrumentConfig;
  readonly pods: Pick<PodDirectory, 'find'>;
  readonly node: string;
  readonly now: () => number;
  /** Posts one body; failures are logged and dropped, as the real exporters do after their retries. */
  readonly post: (url: string, body: Uint8Array) => Promise<void>;
  /** The source of flows; absent if the instrument's file does not enable them. */
  readonly flows?: Pick<FlowWatch, 'metric'>;
  /** The faults of the node; `faults` lists the possible ones. */
  readonly faults?: ReadonlySet<string>;
}

/**
 * Faults that a node can have, with the same effect as on the real instrument: without kprobes it keeps running but
 * watches nothing; without metadata its data names a container but no pod.
 */
export const faults: readonly string[] = ['no-kprobes', 'no-metadata'];

/** A sender that has been silent for this long is gone: its series are not repeated. Units: ms. */
const silentMs = 10_000;
const scope = { name: 'go.opentelemetry.io/obi', version: '' };

interface Held {
  readonly sender: Sender;
  request: MetricsRequest['resources'][number];
  seenMs: number;
}

/**
 * Holds the last reports of the instrumented services and passes them on as the instrument would: one post per service
 * and interval with cumulative values, one empty post each interval, spans in batches.
 * Metrics of a process whose pod is not known yet wait until its metadata has arrived; its spans are dropped.
 */
export class Reporter implements OtlpConsumer {
  readonly #options: ReporterOptions;
  readonly #held = new Map<string, Held>();
  #spans: ResourceSpans[] = [];
  readonly #startNs: number;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#startNs = options.now() * 1e6;
  }

  metrics(request: MetricsRequest): Acceptance {
    for (const resource of request.resources) {
      const sender = senderOf(resource.attributes);
      if (!sender) continue;
      const key = `${sender.namespace}/${sender.pod}/${sender.container}`;
      this.#held.set(key, { sender, request: resource, seenMs: this.#options.now() });
    }
    return { rejected: 0, reason: '' };
  }

  traces(request: TracesRequest): Acceptance {
    this.#spans.push(...request.resources);
    return { rejected: 0, reason: '' };
  }

  rejected(): void {}

  /** Exports the metrics once. */
  async exportMetrics(): Promise<void> {
    const { config, now, node, post } = this.#options;
    if (!config.metricsEndpoint) return;
    const url = `${config.metricsEndpoint.replace(/\/$/, '')}/v1/metrics`;
    await post(url, encodeMetricsRequest({ resources: [{ attributes: [], scopes: [] }] }));
    let attached = 0;
    for (const [key, held] of this.#held) {
      if (now() - held.seenMs > silentMs) {
        this.#held.delete(key);
        continue;
      }
      const judged = await this.#judge(held.sender);
      if (judged) attached++;
      if (!judged?.selection.metrics) continue;
      const nowNs = now() * 1e6;
      const { instanceOnPoints } = config;
      // Without metadata, the instrument knows only the process.
      const onPoints = instanceOnPoints && !this.#options.faults?.has('no-metadata');
      const metrics = held.request.scopes.flatMap((s) => reshapeHttpMetrics(s.metrics, held.sender, nowNs, onPoints));
      if (metrics.length === 0) continue;
      const attributes = this.#resource(held.sender, judged.facts);
      await post(url, encodeMetricsRequest({ resources: [{ attributes, scopes: [{ scope, metrics }] }] }));
      const info = infoMetrics(node, held.sender.service, nowNs);
      await post(url, encodeMetricsRequest({ resources: [{ attributes: [], scopes: [{ scope, metrics: info }] }] }));
    }
    const flows = this.#options.flows?.metric(now() * 1e6);
    if (flows) {
      // Like the real instrument, sends flows under a Resource that names the host, and under a scope of their own.
      const attributes = [{ key: 'host.id', value: node }];
      const scopes = [{ scope: { name: 'network_ebpf_events', version: '' }, metrics: [flows] }];
      await post(url, encodeMetricsRequest({ resources: [{ attributes, scopes }] }));
    }
    if (!config.internalMetrics) return;
    const own = selfMetrics(attached, this.#startNs, now() * 1e6);
    await post(url, encodeMetricsRequest({ resources: [{ attributes: [], scopes: [{ scope, metrics: own }] }] }));
  }

  /** Exports the waiting spans in one batch. */
  async exportTraces(): Promise<void> {
    const { config, post } = this.#options;
    const waiting = this.#spans;
    this.#spans = [];
    if (!config.tracesEndpoint || waiting.length === 0) return;
    const resources: ResourceSpans[] = [];
    for (const resource of waiting) {
      const sender = senderOf(resource.attributes);
      if (!sender) continue;
      const judged = await this.#judge(sender);
      if (!judged?.selection.traces) continue;
      const sampler = judged.selection.sampler ?? config.sampler;
      const spans = resource.scopes
        .flatMap((s) => s.spans)
        .filter((span) => sampled(sampler, span.traceId))
        .map((span) =>
          span.kind === 'server' ? { ...span, attributes: withServedPort(span.attributes, sender) } : span,
        );
      if (spans.length === 0) continue;
      // The real exporters leave the scope empty and put its name on the Resource.
      const attributes = [
        ...this.#resource(sender, judged.facts),
        { key: 'span.metrics.skip', value: true },
        { key: 'otel.scope.name', value: scope.name },
      ];
      resources.push({ attributes, scopes: [{ scope: { name: '', version: '' }, spans }] });
    }
    if (resources.length === 0) return;
    await post(`${config.tracesEndpoint.replace(/\/$/, '')}/v1/traces`, encodeTracesRequest({ resources }));
  }

  #resource(sender: Sender, facts: PodFacts): Attribute[] {
    const whole = enrichedResource(sender, facts, this.#options.node);
    if (!this.#options.faults?.has('no-metadata')) return whole;
    const named = (key: string): boolean => key.startsWith('k8s.') || key === 'service.instance.id';
    return [
      ...whole.filter((a) => !named(a.key)),
      { key: 'service.instance.id', value: `${this.#options.node}:4711` },
      { key: 'container.id', value: 'f'.repeat(64) },
    ];
  }

  async #judge(sender: Sender): Promise<{ selection: Selection; facts: PodFacts } | null> {
    if (this.#options.faults?.has('no-kprobes')) return null;
    const facts = await this.#options.pods.find(sender.namespace, sender.pod);
    if (!facts) return null;
    const selection = select(this.#options.config, workloadOf(sender, facts));
    return selection && { selection, facts };
  }
}
