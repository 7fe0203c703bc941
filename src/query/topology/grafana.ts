import type { Stats, Topology } from '../../api/page/types.ts';

/** Two frames in the form of Grafana's node graph, each a list of rows with the field names that Grafana expects. */
export interface NodeGraph {
  readonly nodes: readonly Readonly<Record<string, string | number>>[];
  readonly edges: readonly Readonly<Record<string, string | number>>[];
}

/**
 * Writes a topology in the form of Grafana's node graph.
 * Source: the data API of the node graph. The fields `arc__*` are shares that add up to 1, `mainstat` and
 * `secondarystat` are displayed.
 * Pure.
 */
export function nodeGraph({ nodes, edges }: Topology): NodeGraph {
  return {
    nodes: nodes.map(({ id, kind, namespace, name, inbound }) => ({
      ...{ id, title: name, subtitle: namespace === '' || namespace === name ? kind : namespace },
      ...{ mainstat: requestsText(inbound), secondarystat: slowText(inbound) },
      arc__ok: inbound.errorShare === null ? 0 : 1 - inbound.errorShare,
      arc__failed: inbound.errorShare ?? 0,
      arc__unknown: inbound.errorShare === null ? 1 : 0,
    })),
    edges: edges.map(({ id, source, target, protocol, stats }) => ({
      ...{ id, source, target, detail__protocol: protocol },
      ...{ mainstat: requestsText(stats) || bytesText(stats), secondarystat: slowText(stats) },
    })),
  };
}

const rounded = (value: number): string => String(Number(value.toPrecision(3)));

function requestsText({ requestRate }: Stats): string {
  return requestRate === null ? '' : `${rounded(requestRate)} req/s`;
}

function bytesText({ bytesPerSecond }: Stats): string {
  return bytesPerSecond === null ? '' : `${rounded(bytesPerSecond)} B/s`;
}

function slowText({ p99Ms }: Stats): string {
  return p99Ms === null ? '' : `p99 ${rounded(p99Ms)} ms`;
}
