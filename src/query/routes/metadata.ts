import { Type } from '@sinclair/typebox';
import { OperatorError } from '../../base/errors.ts';
import { isObject } from '../../base/text/texts.ts';
import type { Pacing } from '../../base/turns/turns.ts';
import { parser } from '../../base/wire/parser.ts';

/** An entry of `/api/v1/metadata` for a metric. */
export interface MetricMetadata {
  readonly type: string;
  readonly help: string;
  readonly unit: string;
}

const histogramOf = (what: string, unit: string): MetricMetadata => ({ type: 'histogram', help: what, unit });

const ofAgent = (help: string, unit = ''): MetricMetadata => ({ type: 'gauge', help, unit });

/**
 * The metrics that every agent serves under fixed names. For other metrics, the agents have the metadata that the
 * senders gave.
 */
export const knownMetrics: Readonly<Record<string, MetricMetadata>> = {
  ebpf_network_flow_bytes: {
    type: 'counter',
    help: 'Bytes sent between two workloads, as the kernel saw them.',
    unit: '',
  },
  http_server_request_body_size: histogramOf('Size of HTTP request bodies.', 'bytes'),
  http_server_request_duration: histogramOf('Time from an HTTP request to the end of its answer.', 'seconds'),
  http_server_response_body_size: histogramOf('Size of HTTP response bodies.', 'bytes'),
  svc_agent_memory_bytes: ofAgent('Resident memory of the agent.', 'bytes'),
  svc_agent_up: { type: 'gauge', help: '1 while the agent of a node runs.', unit: '' },
  svc_capture_events_total: {
    type: 'counter',
    help: 'Events the instrument handed to the agent, by kind and module.',
    unit: '',
  },
  svc_cert_expiry_timestamp_seconds: ofAgent("End of the agent certificate's life.", 'seconds'),
  svc_instrument_config_hash_info: {
    type: 'gauge',
    help: 'The capture config that the agent of a node holds, by its hash, and how far it is.',
    unit: '',
  },
  svc_instrument_info: ofAgent('1, with the version of the instrument.'),
  svc_instrument_memory_bytes: ofAgent('Resident memory of the instrument.', 'bytes'),
  svc_instrument_restarts_total: { type: 'counter', help: 'Starts of the instrument seen after the first.', unit: '' },
  svc_instrument_up: ofAgent("1 while the instrument's health socket answers."),
  svc_series_active: ofAgent('Captured series that are alive now.'),
  svc_series_limit: ofAgent('Most captured series that the node may have.'),
  svc_series_limit_hits_total: { type: 'counter', help: 'Series that went beyond a limit, by that limit.', unit: '' },
};

/** Unit as senders write it → unit in Prometheus' form. */
const units: ReadonlyMap<string, string> = new Map([
  ['s', 'seconds'],
  ['ms', 'milliseconds'],
  ['By', 'bytes'],
  ['{bytes}', 'bytes'],
]);

/** An agent has one entry for each metric; a few are admitted. */
const maxEntries = 16;
const text = Type.String();
const parseEntries = parser(
  'metadata',
  Type.Array(Type.Object({ type: text, help: text, unit: text }), { maxItems: maxEntries }),
);

/** The metrics of one agent. */
export type AgentMetadata = readonly (readonly [name: string, entries: readonly MetricMetadata[]])[];

/**
 * For pacing: checking or merging a metric, and taking in an entry, cost as much as this many samples; an entry, one more for each
 * character of its text.
 */
const entryWork = 100;

/**
 * An agent's metadata, rebuilt from the validated fields. Errors: ERR_INPUT_INVALID; those of the pacing.
 */
export async function metadataOf(data: unknown, pacing: Pacing): Promise<AgentMetadata> {
  if (!isObject(data)) throw new OperatorError('ERR_INPUT_INVALID', 'metadata: must be an object');
  const found: [name: string, entries: readonly MetricMetadata[]][] = [];
  for (const [name, entries] of Object.entries(data)) {
    const checked = parseEntries(entries, () => `metadata of ${JSON.stringify(name.slice(0, 100))}`);
    const own = checked.map(({ type, help, unit }) => ({ type, help, unit: units.get(unit) ?? unit }));
    found.push([name, own]);
    if (pacing.spend(entryWork)) await pacing.turn();
  }
  return found;
}

/**
 * The metadata of all agents by metric. Agents of one version send equal entries; entries that differ are all listed.
 * Takes time in proportion to the number of entries. Errors: those of the pacing.
 */
export async function mergedMetadata(
  answers: readonly AgentMetadata[],
  pacing: Pacing,
): Promise<Map<string, MetricMetadata[]>> {
  const found = new Map<string, MetricMetadata[]>();
  const known = new Set<string>();
  for (const answer of answers) {
    for (const [name, entries] of answer) {
      let own = found.get(name);
      if (own === undefined) found.set(name, (own = []));
      if (pacing.spend(entryWork)) await pacing.turn();
      for (const entry of entries) {
        const key = JSON.stringify([name, entry.type, entry.help, entry.unit]);
        if (!known.has(key)) own.push(entry);
        known.add(key);
        if (pacing.spend(entryWork + key.length)) await pacing.turn();
      }
    }
  }
  return found;
}
