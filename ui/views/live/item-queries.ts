/** PromQL for the series that a span or flow belongs to. Pure. */
import type { FlowEnd, FlowRecord, SpanRecord } from '../../api/stream.ts';
import { workloadMatchers } from '../monitor-yaml.ts';

export interface ItemQuery {
  readonly title: string;
  readonly expr: string;
}

const requests = 'http_server_request_duration';

/** The server of a span's request, as far as it is known. */
export function serverOf({ kind, namespace, workload, peer }: SpanRecord): Pick<FlowEnd, 'namespace' | 'workload'> {
  return kind === 'client' ? { ...peer } : { ...(namespace ? { namespace } : {}), ...(workload ? { workload } : {}) };
}

/** For an HTTP request: rate by status and p99 of its route on its server. Empty if the server is unknown. */
export function queriesOfSpan(span: SpanRecord): ItemQuery[] {
  const { namespace, workload } = serverOf(span);
  if (span.method === undefined || namespace === undefined || workload === undefined) return [];
  const route = span.kind === 'server' && span.route ? `, http_route=${JSON.stringify(span.route)}` : '';
  const own = workloadMatchers(namespace, workload.name, workload.kind) + route;
  const of = route === '' ? `of ${workload.name}` : `of ${span.route!}`;
  return [
    {
      title: `Requests ${of} by status`,
      expr: `sum by (http_response_status_code) (rate(${requests}_count{${own}}[5m]))`,
    },
    {
      title: `p99 ${of}`,
      expr: `histogram_quantile(0.99, sum by (le) (rate(${requests}_bucket{${own}}[5m])))`,
    },
  ];
}

/** Bytes per second between the two ends, as far as they have names. */
export function queriesOfFlow({ source, destination }: FlowRecord): ItemQuery[] {
  const matchers = [...matchersOf('src', source), ...matchersOf('dst', destination)];
  if (matchers.length === 0) return [];
  return [{ title: 'Bytes a second', expr: `sum(rate(ebpf_network_flow_bytes{${matchers.join(', ')}}[5m]))` }];
}

function matchersOf(side: 'src' | 'dst', { namespace, workload }: FlowEnd): string[] {
  const named: [string, string | undefined][] = [
    [`k8s_${side}_namespace`, namespace],
    [`k8s_${side}_owner_name`, workload?.name],
  ];
  return named.flatMap(([label, value]) => (value ? [`${label}=${JSON.stringify(value)}`] : []));
}
