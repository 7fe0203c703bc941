/**
 * The twelve queries of the PromQL benchmarks. `i_` is an instant query at the end of the data, `r_` a range over all
 * data, step 60 s.
 */
const count = 'http_server_request_duration_count';
const sumByRate = `sum by (k8s_namespace_name, service_name) (rate(${count}[5m]))`;
const quantile = 'histogram_quantile(0.99, sum by (le, service_name) (rate(http_server_request_duration_bucket[5m])))';
const topFlows = 'topk(10, sum by (k8s_src_owner_name, k8s_dst_owner_name) (rate(ebpf_network_flow_bytes[5m])))';
const errors = `${count}{http_response_status_code=~"5.."}`;

export const queries: Readonly<Record<string, string>> = {
  i_up_sum: 'sum(svc_agent_up)',
  i_selector_all_buckets: 'http_server_request_duration_bucket',
  i_sum_by_rate: sumByRate,
  i_hq99: quantile,
  i_topk_flow: topFlows,
  r_sum_by_rate: sumByRate,
  r_hq99: quantile,
  r_topk_flow: topFlows,
  r_error_ratio: `sum by (service_name) (rate(${errors}[5m])) / sum by (service_name) (rate(${count}[5m]))`,
  r_raw_flow: 'ebpf_network_flow_bytes{k8s_node_name="node-3"}',
  r_avg_over_time_1h: 'avg by (k8s_node_name) (avg_over_time(ebpf_network_flow_bytes[1h]))',
  r_subquery: `max_over_time(sum(rate(${count}[5m]))[30m:1m])`,
};
