import { labelsFromObject } from '../../src/tsdb/index.ts';
import type { Labels, Store } from '../../src/tsdb/index.ts';
import type { BenchSeries } from '../promql/data.ts';

/** Each series has a sample every 30 s for half an hour. Units: milliseconds. */
const interval = 30_000;
const samples = 60;

const bounds = ['0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '+Inf'];

/** The time of sample k of series that end at `end`. Units: milliseconds. */
export function timeOf(k: number, end: number): number {
  return end - (samples - 1 - k) * interval;
}

/**
 * One agent's series: for each pod eleven buckets of a request duration, their count, and four flows; and one series of
 * the agent itself. The labels do not name the node.
 */
export function agentSeries(series: number): BenchSeries[] {
  const rows: BenchSeries[] = [{ labels: up, values: new Float64Array(samples).fill(1) }];
  let pods = 0;
  // Each third sample grows by one more than the others, so that not all samples are equally easy to encode.
  const add = (labels: Labels, perSample: number): void => {
    rows.push({ labels, values: Float64Array.from({ length: samples }, (_, k) => k * perSample + Math.floor(k / 3)) });
  };
  for (; 16 * pods + 16 <= series; pods++) addPod(pods, add);
  return rows;
}

const up = labelsFromObject({ __name__: 'svc_agent_up' });

function addPod(pod: number, add: (labels: Labels, perSample: number) => void): void {
  const owner = `app-${pod % 40}`;
  const labels = {
    http_request_method: 'GET',
    http_response_status_code: pod % 9 === 0 ? '500' : '200',
    k8s_namespace_name: `ns-${pod % 8}`,
    k8s_pod_name: `${owner}-7d9f-${pod}`,
    service_name: owner,
  };
  const perBucket = 1 + (pod % 7);
  for (const [i, le] of bounds.entries()) {
    const bucket = { __name__: 'http_server_request_duration_bucket', ...labels, le };
    add(labelsFromObject(bucket), (i + 1) * perBucket);
  }
  const count = { __name__: 'http_server_request_duration_count', ...labels };
  add(labelsFromObject(count), bounds.length * perBucket);
  for (let peer = 0; peer < 4; peer++) {
    const flow = { k8s_src_owner_name: owner, k8s_dst_owner_name: `dst-${peer}`, k8s_pod_name: labels.k8s_pod_name };
    add(labelsFromObject({ __name__: 'ebpf_network_flow_bytes', ...flow }), 40_000 + pod * 17 + peer);
  }
}

/** Appends an agent's series to its store; their last sample is at `end`. Units: `end` in milliseconds. */
export async function fill(store: Store, series: number, end: number): Promise<void> {
  const rows = agentSeries(series);
  for (let k = 0; k < samples; k++) {
    const t = timeOf(k, end);
    for (const { labels, values } of rows) {
      const result = store.append(labels, t, values[k]!);
      if (result !== 'appended') throw new Error(`a sample at ${t} was ${result}`);
    }
    await store.commit();
  }
}
