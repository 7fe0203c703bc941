/** What `/api/v1/metadata` says about a metric. */
export interface MetricMetadata {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly unit: string;
}

const histogramOf = (what: string, unit: string): MetricMetadata => ({ type: 'histogram', help: what, unit });

/** The metrics every agent serves under fixed names. Others are listed by name alone, with no metadata. */
export const knownMetrics: Readonly<Record<string, MetricMetadata>> = {
  ebpf_network_flow_bytes: {
    type: 'counter',
    help: 'Bytes sent between two workloads, as the kernel saw them.',
    unit: '',
  },
  http_server_request_body_size: histogramOf('Size of HTTP request bodies.', 'bytes'),
  http_server_request_duration: histogramOf('Time from an HTTP request to the end of its answer.', 'seconds'),
  http_server_response_body_size: histogramOf('Size of HTTP response bodies.', 'bytes'),
  svc_agent_up: { type: 'gauge', help: '1 while the agent of a node runs.', unit: '' },
  svc_capture_events_total: {
    type: 'counter',
    help: 'Events the instrument handed to the agent, by kind and module.',
    unit: '',
  },
};
