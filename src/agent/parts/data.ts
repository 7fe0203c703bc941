import { join } from 'node:path';
import { nodeLabel } from '../../api/labels.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { builtinRetention, type CaptureConfig, largestSpanRing } from '../../capture/index.ts';
import { labelsFromObject, type Store } from '../../tsdb/index.ts';
import { loadRetention } from '../capture/last-good.ts';
import { type ConfigSource, isFromController } from '../capture/start-config.ts';
import { Exports } from '../export/exports.ts';
import { seriesMeta } from '../export/series-meta.ts';
import { teeStore } from '../export/tee-store.ts';
import { followRetention, retentionOf } from '../follow-retention.ts';
import { Identity } from '../identity/identity.ts';
import { Ingest } from '../ingest/ingest.ts';
import { SeriesMapper } from '../mapping/mapper.ts';
import { defaultPolicy, policyOf } from '../mapping/policy.ts';
import { openDataDir } from '../open-data-dir.ts';
import type { OtlpConsumer } from '../otlp/consumer.ts';
import type { SelfMetrics } from '../self-metrics.ts';
import type { AgentSettings } from '../settings.ts';
import { FlowIntake, withFlows } from '../spans/flow-intake.ts';
import { SpanPipeline } from '../spans/span-pipeline.ts';
import { StreamRing } from '../spans/stream-ring.ts';
import type { Closing } from './closing.ts';

export interface DataDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: SelfMetrics;
  readonly version: string;
  readonly closing: Closing;
  /** Refreshes the agent's gauges before they are stored as series. */
  readonly refreshSelf: () => Promise<void>;
}

/**
 * The data of an agent, and the parts that fill it: ingest → mapper → store and exports; spans → ring buffer of the
 * stream and exports; flows → ring buffer.
 */
export interface AgentData {
  readonly store: Store;
  readonly identity: Identity;
  readonly mapper: SeriesMapper;
  readonly exports: Exports;
  readonly ring: StreamRing;
  readonly spans: SpanPipeline;
  readonly ingest: Ingest;
  /** Takes what the instrument sends. While the config is parked, it drops all of that. */
  readonly consumer: OtlpConsumer;
  /** Applies a config that comes into force. */
  readonly setConfig: (config: CaptureConfig, source: ConfigSource) => void;
}

/** Opens the store, which replays its log, and the parts that write to it. Errors: ERR_STORE_*. */
export async function openData(settings: AgentSettings, deps: DataDeps): Promise<AgentData> {
  const { clock, logger, metrics, version, closing, refreshSelf } = deps;
  const { nodeName: node, dataDir } = settings;
  const retention = retentionOf(await loadRetention(dataDir, logger), settings);
  const store = await openDataDir(dataDir, {
    dir: join(dataDir, 'store'),
    clock,
    logger,
    externalLabels: labelsFromObject({ [nodeLabel]: node }),
    retentionMs: retention.ms,
    retentionBytes: retention.bytes,
  });
  closing.add(() => store.close());
  const identity = new Identity();
  const mapper = new SeriesMapper(defaultPolicy(node), identity);
  const exports = new Exports({
    dir: join(dataDir, 'export'),
    maxBytes: settings.exportQueueSize,
    node,
    version,
    clock,
    logger,
    registry: metrics.registry,
    metaOf: (name) => seriesMeta(mapper.table.families, name),
  });
  closing.add(() => exports.close());
  const { spans: spanDefaults } = builtinRetention;
  const ring = new StreamRing({ maxBytes: spanDefaults.sizeBytes, maxAgeMs: spanDefaults.timeMs });
  const spans = new SpanPipeline({
    ring,
    clock,
    identity,
    onSpan: (record, startNs) => exports.span(record, startNs),
    onDropped: (reason, count) => metrics.spansDropped.inc({ reason }, count),
    onUnknown: (count) => metrics.metadataMissing.inc({ kind: 'span' }, count),
    onContradicted: (count) => metrics.contradicted.inc({ kind: 'span' }, count),
  });
  const flows = new FlowIntake(ring, clock, identity);
  const ingest = new Ingest({ mapper, store: teeStore(store, exports), metrics, clock, logger, spans, refreshSelf });
  closing.add(() => ingest.close());
  const retain = followRetention(store, settings, retention, logger);
  let parked = false;
  const consumer = unless(() => parked, withFlows(ingest, flows));
  const setConfig = (config: CaptureConfig, source: ConfigSource): void => {
    parked = source === 'parked';
    ingest.setPolicy(policyOf(node, config));
    spans.setConfig(config);
    flows.setConfig(config);
    if (isFromController(source)) retain(config);
    exports.setConfig(config, source);
    const { timeMs, sizeBytes } = { ...spanDefaults, ...config.retention.spans };
    ring.setLimits({ maxBytes: Math.min(sizeBytes, largestSpanRing), maxAgeMs: timeMs }, clock.now());
  };
  return { store, identity, mapper, exports, ring, spans, ingest, consumer, setConfig };
}

/** A consumer that takes nothing while `closed` returns true; the sender is answered as if it took all. */
function unless(closed: () => boolean, consumer: OtlpConsumer): OtlpConsumer {
  const nothing = { rejected: 0, reason: '' };
  return {
    metrics: (request, bytes) => (closed() ? nothing : consumer.metrics(request, bytes)),
    traces: (request, bytes) => (closed() ? nothing : consumer.traces(request, bytes)),
    rejected: (reason, count) => consumer.rejected(reason, count),
  };
}
