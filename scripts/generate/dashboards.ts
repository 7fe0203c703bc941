import type { Dashboard, Panel, Target } from './dashboard-model.ts';

const line = (title: string, unit: string, description: string, ...targets: readonly Target[]): Panel => ({
  ...{ title, unit, description, targets },
  type: 'timeseries',
});
const table = (title: string, unit: string, description: string, expr: string): Panel => ({
  ...{ title, unit, description, type: 'table' },
  targets: [{ expr, instant: true }],
});
const number = (title: string, unit: string, description: string, expr: string): Panel => ({
  ...{ title, unit, description, type: 'stat' },
  targets: [{ expr, instant: true }],
});

const served = 'http_server_request_duration';
const called = 'http_client_request_duration';
const workload = 'k8s_namespace_name, k8s_owner_name';
const rate = (selector: string): string => `rate(${selector}[$__rate_interval])`;
/** PromQL for the share that one sum of rates has in another, 0 to 1. */
const share = (by: string, part: string, all: string): string =>
  `sum by (${by}) (${rate(part)}) / sum by (${by}) (${rate(all)})`;
const quantile = (q: number, by: string, buckets: string): string =>
  `histogram_quantile(${q}, sum by (${by === '' ? 'le' : `le, ${by}`}) (${rate(buckets)}))`;

const inNamespace = '{k8s_namespace_name=~"$namespace"}';
const failedIn = '{k8s_namespace_name=~"$namespace", http_response_status_code=~"5.."}';
const one = '{k8s_namespace_name="$namespace", k8s_owner_name="$workload"}';
const oneFailed = '{k8s_namespace_name="$namespace", k8s_owner_name="$workload", http_response_status_code=~"5.."}';
const named = '{{k8s_namespace_name}}/{{k8s_owner_name}}';

const services: Dashboard = {
  uid: 'svc-services',
  title: 'Traffic: services',
  description: 'Every workload that is captured: requests, failures and durations. Data source: svc-query.',
  variables: { namespace: `label_values(${served}_count, k8s_namespace_name)` },
  panels: [
    line('Requests', 'reqps', 'HTTP requests that each workload served.', {
      expr: `sum by (${workload}) (${rate(`${served}_count${inNamespace}`)})`,
      legend: named,
    }),
    line('Failures', 'percentunit', 'Share of requests answered with 5xx.', {
      expr: share(workload, `${served}_count${failedIn}`, `${served}_count${inNamespace}`),
      legend: named,
    }),
    line('Duration, p99', 's', 'One request in a hundred takes longer.', {
      expr: quantile(0.99, workload, `${served}_bucket${inNamespace}`),
      legend: named,
    }),
    line('Duration, p50', 's', 'Half of the requests take longer.', {
      expr: quantile(0.5, workload, `${served}_bucket${inNamespace}`),
      legend: named,
    }),
    table(
      'Most requests now',
      'reqps',
      'The twenty workloads that serve most.',
      `topk(20, sum by (${workload}) (${rate(`${served}_count${inNamespace}`)}))`,
    ),
    table(
      'Most failures now',
      'percentunit',
      'The twenty workloads with the largest share of 5xx.',
      `topk(20, ${share(workload, `${served}_count${failedIn}`, `${served}_count${inNamespace}`)})`,
    ),
  ],
};

const service: Dashboard = {
  uid: 'svc-service',
  title: 'Traffic: one service',
  description: 'One workload by route, status and pod, and whom it calls. Data source: svc-query.',
  variables: {
    namespace: `label_values(${served}_count, k8s_namespace_name)`,
    workload: `label_values(${served}_count{k8s_namespace_name="$namespace"}, k8s_owner_name)`,
  },
  panels: [
    line('Requests by route', 'reqps', 'HTTP requests served, by route.', {
      expr: `sum by (http_route) (${rate(`${served}_count${one}`)})`,
      legend: '{{http_route}}',
    }),
    line('Requests by status', 'reqps', 'HTTP requests served, by status.', {
      expr: `sum by (http_response_status_code) (${rate(`${served}_count${one}`)})`,
      legend: '{{http_response_status_code}}',
    }),
    line(
      'Durations',
      's',
      'Quantiles over all routes.',
      ...[0.5, 0.95, 0.99].map((q) => ({ expr: quantile(q, '', `${served}_bucket${one}`), legend: `p${q * 100}` })),
    ),
    line('Failures by route', 'percentunit', 'Share of requests answered with 5xx.', {
      expr: share('http_route', `${served}_count${oneFailed}`, `${served}_count${one}`),
      legend: '{{http_route}}',
    }),
    line('Requests by pod', 'reqps', 'Uneven lines are an uneven balance.', {
      expr: `sum by (k8s_pod_name, k8s_node_name) (${rate(`${served}_count${one}`)})`,
      legend: '{{k8s_pod_name}} on {{k8s_node_name}}',
    }),
    line('Calls to others', 'reqps', 'HTTP requests that it sends, by the name of the server.', {
      expr: `sum by (server_address) (${rate(`${called}_count${one}`)})`,
      legend: '{{server_address}}',
    }),
  ],
};

const topology: Dashboard = {
  uid: 'svc-topology',
  title: 'Traffic: who talks to whom',
  description:
    'Calls and bytes between workloads as tables. The node graph panel takes /api/v1/topology?format=grafana of svc-query.',
  variables: { namespace: `label_values(${called}_count, k8s_namespace_name)` },
  panels: [
    table(
      'Calls',
      'reqps',
      'HTTP requests by caller and name of the server.',
      `sum by (${workload}, server_address) (${rate(`${called}_count${inNamespace}`)})`,
    ),
    table(
      'Failing calls',
      'percentunit',
      'Share of 5xx by caller and name of the server.',
      share(`${workload}, server_address`, `${called}_count${failedIn}`, `${called}_count${inNamespace}`),
    ),
    table(
      'Bytes between workloads',
      'Bps',
      'Network flows, where a policy captures them.',
      `sum by (k8s_src_namespace, k8s_src_owner_name, k8s_dst_namespace, k8s_dst_owner_name) (${rate(
        'ebpf_network_flow_bytes{k8s_src_namespace=~"$namespace"}',
      )})`,
    ),
  ],
};

const node = '{{k8s_node_name}}';
const agents: Dashboard = {
  uid: 'svc-agents',
  title: 'svc: agents',
  description: 'Capture, intake and storage on each node.',
  variables: {},
  panels: [
    number('Agents', 'none', 'Agents that report.', 'sum(svc_agent_up)'),
    number('Instruments that answer', 'none', 'Nodes on which capture runs.', 'sum(svc_instrument_up)'),
    line('Series', 'none', 'Captured series that are alive.', { expr: 'svc_series_active', legend: node }),
    line('Series beyond a limit', 'cps', 'By the limit that was hit.', {
      expr: `sum by (k8s_node_name, scope) (${rate('svc_series_limit_hits_total')})`,
      legend: `${node} {{scope}}`,
    }),
    line('Samples stored', 'cps', 'Samples appended on each node.', {
      expr: rate('svc_tsdb_samples_appended_total'),
      legend: node,
    }),
    line('Refused', 'cps', 'OTLP requests, points and spans refused, by reason.', {
      expr: `sum by (k8s_node_name, reason) (${rate('svc_otlp_rejected_total')})`,
      legend: `${node} {{reason}}`,
    }),
    line('Age of the newest point', 's', 'How far intake is behind.', { expr: 'svc_otlp_lag_seconds', legend: node }),
    line('Restarts of the instrument', 'none', 'Each is a gap in capture.', {
      expr: 'increase(svc_instrument_restarts_total[$__rate_interval])',
      legend: node,
    }),
    line('Disk', 'bytes', 'Finished blocks and log.', { expr: 'svc_tsdb_bytes + svc_tsdb_wal_bytes', legend: node }),
    line('Waiting exports', 'bytes', 'Bytes that wait for a destination.', {
      expr: 'svc_export_pending_bytes',
      legend: `${node} {{destination}}`,
    }),
  ],
};

const query: Dashboard = {
  uid: 'svc-query',
  title: 'svc: query server',
  description: 'Queries, how long they take, and the nodes that were missing from answers.',
  variables: {},
  panels: [
    line('Requests', 'reqps', 'By path and status.', {
      expr: `sum by (path, code) (${rate('svc_query_duration_seconds_count')})`,
      legend: '{{path}} {{code}}',
    }),
    line('Duration, p99', 's', 'By path.', {
      expr: quantile(0.99, 'path', 'svc_query_duration_seconds_bucket'),
      legend: '{{path}}',
    }),
    line('Degraded answers', 'cps', 'Answers that lacked at least one node.', {
      expr: `sum(${rate('svc_query_degraded_total')})`,
      legend: 'degraded',
    }),
    line('Missing nodes', 'cps', 'By reason.', {
      expr: `sum by (reason) (${rate('svc_query_lost_nodes_total')})`,
      legend: '{{reason}}',
    }),
    line('Ways of execution', 'cps', 'Where queries were computed.', {
      expr: `sum by (path) (${rate('svc_query_pushdown_total')})`,
      legend: '{{path}}',
    }),
    line('Running queries', 'none', 'Queries that run now.', {
      expr: 'svc_query_running',
      legend: '{{pod}}',
    }),
    line('Memory of queries', 'bytes', 'What all queries hold together.', {
      expr: 'svc_query_memory_bytes',
      legend: '{{pod}}',
    }),
    line('Autoscalers', 's', 'Time of requests by autoscalers, p99.', {
      expr: quantile(0.99, 'api', 'svc_custom_metrics_request_duration_seconds_bucket'),
      legend: '{{api}}',
    }),
  ],
};

const operator: Dashboard = {
  uid: 'svc-operator',
  title: 'svc: operator',
  description: 'Reconciles, the state of the nodes, pushes and certificates.',
  variables: {},
  panels: [
    line('Nodes by state', 'none', 'Nodes by the state of their agent.', {
      expr: 'sum by (state) (svc_controller_capture_nodes)',
      legend: '{{state}}',
    }),
    line('Reconciles', 'cps', 'By controller and result.', {
      expr: `sum by (controller, result) (${rate('controller_runtime_reconcile_total')})`,
      legend: '{{controller}} {{result}}',
    }),
    line('Failed reconciles', 'cps', 'By controller.', {
      expr: `sum by (controller) (${rate('controller_runtime_reconcile_errors_total')})`,
      legend: '{{controller}}',
    }),
    line('Time of a reconcile, p99', 's', 'By controller.', {
      expr: quantile(0.99, 'controller', 'controller_runtime_reconcile_time_seconds_bucket'),
      legend: '{{controller}}',
    }),
    line('Waiting keys', 'none', 'Depth of the queues.', { expr: 'workqueue_depth', legend: '{{name}}' }),
    line('Pushes to agents', 'cps', 'By result.', {
      expr: `sum by (result) (${rate('svc_controller_capture_pushes_total')})`,
      legend: '{{result}}',
    }),
    line('Requests to the API server', 'reqps', 'By status.', {
      expr: `sum by (code) (${rate('rest_client_requests_total')})`,
      legend: '{{code}}',
    }),
    table('Certificates', 's', 'Time until each ends.', 'sort(svc_controller_cert_expiry_timestamp_seconds - time())'),
  ],
};

const minter: Dashboard = {
  uid: 'svc-minter',
  title: 'svc: minter',
  description: 'Tokens minted and refused, and the time of key service and platform.',
  variables: {},
  panels: [
    line('Decisions', 'reqps', 'By result and code.', {
      expr: `sum by (result, code) (${rate('minter_mints_total')})`,
      legend: '{{result}} {{code}}',
    }),
    line('Refusals', 'reqps', 'By exact reason.', {
      expr: `sum by (reason) (${rate('minter_denials_total')})`,
      legend: '{{reason}}',
    }),
    line(
      'Duration, p99',
      's',
      'Token requests, the key service and the platform.',
      {
        expr: quantile(0.99, '', 'minter_http_request_duration_seconds_bucket{path="/token"}'),
        legend: 'token',
      },
      {
        expr: quantile(0.99, '', 'minter_kms_request_duration_seconds_bucket'),
        legend: 'key service',
      },
      {
        expr: quantile(0.99, '', 'minter_platform_request_duration_seconds_bucket'),
        legend: 'platform',
      },
    ),
    line('Checks', 'none', '1 where a check of readiness holds on every pod.', {
      expr: 'min by (check) (minter_ready)',
      legend: '{{check}}',
    }),
    line(
      'Left of the platform’s limit',
      'none',
      'Requests that the platform still takes; empty if it states no limit.',
      {
        expr: 'min(minter_platform_rate_limit_remaining)',
        legend: 'remaining',
      },
    ),
    line('Scopes', 'none', 'By state.', { expr: 'max by (state) (minter_rule_scopes)', legend: '{{state}}' }),
  ],
};

/** The dashboards that we ship. */
export const dashboards: readonly Dashboard[] = [services, service, topology, agents, query, operator, minter];
