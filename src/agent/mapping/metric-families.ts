import type { MetricFamily } from '../../api/v1alpha1/index.ts';
import { metricName } from './names.ts';

/** Family → the prefixes of the OTLP names of its metrics. */
const otlpPrefixes: Readonly<Record<MetricFamily, readonly string[]>> = {
  HTTPServer: ['http.server.'],
  HTTPClient: ['http.client.'],
  RPC: ['rpc.'],
  DB: ['db.'],
  Messaging: ['messaging.'],
  NetworkFlow: ['obi.network.', 'beyla.network.'],
  TCPStats: ['obi.stat.tcp.', 'beyla.stat.tcp.'],
};

type PrefixRow = readonly [prefix: string, family: MetricFamily];
const otlpRows: readonly PrefixRow[] = (Object.keys(otlpPrefixes) as MetricFamily[]).flatMap((family) =>
  otlpPrefixes[family].map((prefix): PrefixRow => [prefix, family]),
);
const storedRows = otlpRows.map(([prefix, family]): PrefixRow => [`${metricName(prefix)}_`, family]);

/** The family of a metric in the terms of a monitor's `families`; null for a metric outside all of them. */
export function metricFamily(otlpName: string): MetricFamily | null {
  return familyIn(otlpRows, otlpName);
}

/** The family of a metric, by the name under which its series are stored. */
export function storedFamily(seriesName: string): MetricFamily | null {
  return familyIn(storedRows, seriesName);
}

function familyIn(rows: readonly PrefixRow[], name: string): MetricFamily | null {
  return rows.find(([prefix]) => name.startsWith(prefix))?.[1] ?? null;
}
