import { Registry } from 'prom-client';
import { nodeLabel } from '../api/labels.ts';
import { metricsOn } from '../base/metric-set.ts';
import type { Ack } from '../capture/index.ts';

/**
 * The agent's metrics about itself, all in one place: name, help and labels at a glance.
 * Captured series are not here: they come from the mapper (`exposition/captured.ts`).
 * Every metric here has the label `k8s_node_name` of this node, as every series of an agent does.
 */
export type SelfMetrics = ReturnType<typeof createSelfMetrics>;

/** Metrics of a node's health: they also go into the store, so that PromQL sees them over all nodes. */
export const storedSelfMetrics: readonly string[] = [
  'svc_agent_up',
  'svc_agent_memory_bytes',
  'svc_capture_events_total',
  'svc_cert_expiry_timestamp_seconds',
  'svc_instrument_config_hash_info',
  'svc_instrument_info',
  'svc_instrument_memory_bytes',
  'svc_instrument_restarts_total',
  'svc_instrument_up',
  'svc_series_active',
  'svc_series_limit',
  'svc_series_limit_hits_total',
];

/**
 * Exports the hash of the config in force, which may be the seed (the config of an agent that was sent none), and its
 * phase; nothing before the first config.
 */
export function showConfig({ instrumentConfig }: SelfMetrics, ack: Ack | null): void {
  instrumentConfig.reset();
  if (ack) instrumentConfig.set({ hash: ack.hash, phase: ack.phase }, 1);
}

export function createSelfMetrics(options: { node: string; version: string }) {
  const registry = new Registry();
  registry.setDefaultLabels({ [nodeLabel]: options.node });
  const { counter, gauge } = metricsOn(registry);

  const metrics = {
    registry,
    agentUp: gauge('svc_agent_up', '1 once the agent has started.', ['version']),
    agentMemory: gauge('svc_agent_memory_bytes', 'Resident memory of the agent.'),
    captureEvents: counter(
      'svc_capture_events_total',
      'Points and spans taken in: l4_tcp counts network flow points, http1 counts HTTP points and spans.',
      ['kind', 'module'],
    ),
    otlpRejected: counter('svc_otlp_rejected_total', 'OTLP requests, points and spans refused, by reason.', ['reason']),
    otlpSkippedAttributes: counter(
      'svc_otlp_skipped_attributes_total',
      'Attributes of Resources and spans left out: beyond 1,024 of one owner, or a key of more than 1,024 characters.',
    ),
    otlpLag: gauge('svc_otlp_lag_seconds', 'Age of the newest point of the last group when it was stored.'),
    otlpQueueBytes: gauge(
      'svc_otlp_queue_bytes',
      'Bytes of the OTLP requests whose samples the last commit made durable.',
    ),
    limitHits: counter('svc_series_limit_hits_total', 'Series that went beyond a limit, by the limit they hit.', [
      'scope',
    ]),
    metadataMissing: counter(
      'svc_metadata_missing_total',
      'Streams and spans of a workload whose sender is not a pod of this node, and flows of which neither end is one.',
      ['kind'],
    ),
    contradicted: counter(
      'svc_identity_contradicted_total',
      'Streams and spans that named another namespace, pod or node than their sender; the true one was put in.',
      ['kind'],
    ),
    seriesActive: gauge('svc_series_active', 'Captured series that are alive now.'),
    seriesLimit: gauge('svc_series_limit', 'Most captured series that the node may have.'),
    tsdbSeries: gauge('svc_tsdb_series', 'Series in the head of the store.'),
    tsdbSamples: counter('svc_tsdb_samples_appended_total', 'Samples appended to the store since it was opened.'),
    tsdbBytes: gauge('svc_tsdb_bytes', 'Bytes of finished blocks.'),
    tsdbWalBytes: gauge('svc_tsdb_wal_bytes', 'Bytes of the write-ahead log.'),
    tsdbHeadBytes: gauge(
      'svc_tsdb_head_chunk_bytes',
      'Bytes of chunks in memory, with the room that open ones have to grow.',
    ),
    tsdbQuarantined: counter(
      'svc_tsdb_quarantined_blocks_total',
      'Damaged blocks that were set aside; the store serves all others.',
    ),
    tsdbOldest: gauge(
      'svc_tsdb_oldest_timestamp',
      'Time of the oldest sample, or of the start of the block that has it, seconds since the epoch; absent without any.',
    ),
    tsdbWriteError: gauge('svc_tsdb_write_error', '1 while the store cannot write.'),
    instrumentUp: gauge('svc_instrument_up', "1 while the instrument's health socket answers."),
    instrumentRestarts: counter('svc_instrument_restarts_total', 'Starts of the instrument seen after the first.'),
    instrumentStart: gauge('svc_instrument_start_time_seconds', 'Start of the instrument; absent while it is down.'),
    instrumentGap: gauge('svc_instrument_gap_seconds', 'How long nothing was captured around its newest restart.'),
    instrumentConfig: gauge('svc_instrument_config_hash_info', 'The config in force, by its hash.', ['hash', 'phase']),
    instrumentInfo: gauge('svc_instrument_info', '1, with the version of the instrument that the config is for.', [
      'version',
    ]),
    instrumentMemory: gauge(
      'svc_instrument_memory_bytes',
      'Resident memory of the instrument; absent while its process is down or not seen.',
    ),
    instrumentAvoided: gauge(
      'svc_instrument_avoided_services',
      'Services that the instrument leaves alone because they send telemetry themselves, as it says; absent while it is down.',
    ),
    configGeneration: gauge(
      'svc_config_generation',
      'Number of a config, counted since the start of the agent: of the newest, and of the one that the instrument runs.',
      ['state'],
    ),
    spansDropped: counter('svc_spans_dropped_total', 'Spans that the rules kept out of the ring, by reason.', [
      'reason',
    ]),
    streamClients: gauge('svc_stream_clients', 'Readers of the span stream.'),
    streamLost: counter('svc_stream_lost_total', 'Stream items that readers were too slow for.'),
    remoteReadRequests: counter(
      'svc_remote_read_requests_total',
      'Remote-read requests, by status; 499: given up by the client.',
      ['code'],
    ),
    remoteReadInflight: gauge('svc_remote_read_inflight', 'Remote-read requests being answered.'),
    remoteReadBytes: counter('svc_remote_read_bytes_total', 'Bytes sent in answer to remote reads.'),
    partialRequests: counter(
      'svc_partial_requests_total',
      'Shares of queries asked for, by HTTP status; 499: given up by the caller.',
      ['code'],
    ),
    partialInflight: gauge('svc_partial_inflight', 'Shares of queries being computed or waiting.'),
    partialBytes: counter('svc_partial_bytes_total', 'Bytes sent in answer to shares of queries.'),
    indexRequests: counter(
      'svc_index_requests_total',
      'Lists of labels and series asked for, by HTTP status; 499: given up by the caller.',
      ['code'],
    ),
    indexInflight: gauge('svc_index_inflight', 'Lists of labels and series being made or waiting.'),
    indexBytes: counter('svc_index_bytes_total', 'Bytes sent in answer to questions for labels and series.'),
    certExpiry: gauge('svc_cert_expiry_timestamp_seconds', "End of the agent certificate's life; 0 until it has one."),
  };
  metrics.agentUp.set({ version: options.version }, 1);
  for (const [kind, module] of [
    ['metric', 'l4_tcp'],
    ['metric', 'http1'],
    ['span', 'http1'],
  ] as const) {
    metrics.captureEvents.inc({ kind, module }, 0);
  }
  for (const kind of ['pod', 'flow', 'span']) metrics.metadataMissing.inc({ kind }, 0);
  for (const kind of ['stream', 'span']) metrics.contradicted.inc({ kind }, 0);
  for (const reason of ['filtered', 'sampled', 'overflow', 'rate_monitor', 'rate_node']) {
    metrics.spansDropped.inc({ reason }, 0);
  }
  for (const scope of ['node', 'namespace', 'monitor']) metrics.limitHits.inc({ scope }, 0);
  return metrics;
}
