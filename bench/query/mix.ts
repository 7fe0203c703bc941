/** One request of a dashboard, an alert or a person at a query field. */
export interface MixedRequest {
  readonly kind: 'instant' | 'range' | 'list';
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  /** The client goes away before the answer is there. */
  readonly leaves?: true;
}

const requests = 'http_server_request_duration_count';
const buckets = 'http_server_request_duration_bucket';
const flows = 'ebpf_network_flow_bytes';

const rates = `sum by (k8s_namespace_name, service_name) (rate(${requests}[5m]))`;
const quantile = `histogram_quantile(0.99, sum by (le, service_name) (rate(${buckets}[5m])))`;
const talkers = `topk(10, sum by (k8s_src_owner_name, k8s_dst_owner_name) (rate(${flows}[5m])))`;
const failures = `sum by (service_name) (rate(${requests}{http_response_status_code=~"5.."}[5m]))`;

/**
 * The requests of the clients, about the half hour before `end`; each client begins at another place of this list. A
 * quarter are requests for lists, as the variables of dashboards send them. Unit of `end`: ms.
 */
export function mix(end: number): readonly MixedRequest[] {
  const time = String(end / 1000);
  const span = { start: String(end / 1000 - 1800), end: time };
  const instant = (query: string): MixedRequest => ({
    kind: 'instant',
    path: '/api/v1/query',
    params: { query, time },
  });
  const range = (query: string): MixedRequest => ({
    kind: 'range',
    path: '/api/v1/query_range',
    params: { query, ...span, step: '60' },
  });
  const list = (path: string, params: Readonly<Record<string, string>>): MixedRequest => ({
    kind: 'list',
    path: `/api/v1/${path}`,
    params: { ...span, ...params },
  });
  return [
    range(rates),
    instant(talkers),
    list('label/service_name/values', { 'match[]': requests }),
    range(quantile),
    instant(`${requests}{service_name="app-1"}`),
    instant(rates),
    range(`${failures} / sum by (service_name) (rate(${requests}[5m]))`),
    list('series', { 'match[]': flows, limit: '100' }),
    range(talkers),
    instant(quantile),
    list('labels', { 'match[]': requests }),
    range(`sum by (service_name) (rate(${requests}{k8s_namespace_name="ns-1"}[5m]))`),
    range(`${requests}{service_name="app-1"}`),
    range(`${requests}{service_name="app-1",k8s_node_name="node-0"}`),
    list('label/k8s_pod_name/values', { 'match[]': `${requests}{service_name="app-3"}` }),
    range(`histogram_quantile(0.5, sum by (le) (rate(${buckets}{service_name="app-2"}[5m])))`),
    instant(failures),
    range(`max by (k8s_node_name) (rate(${flows}[5m]))`),
    { ...range(quantile), leaves: true },
    list('label/__name__/values', {}),
  ];
}
