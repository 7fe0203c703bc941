import { labelsFromObject } from '../../src/tsdb/index.ts';
import type { Store } from '../../src/tsdb/index.ts';

/** Samples every 30 s for half an hour. Units: milliseconds. */
const interval = 30_000;
const samples = 60;

const bounds = ['0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '+Inf'];

/**
 * One agent's series, up to `end`: for each pod eleven buckets of a request duration, their count, and four flows.
 * Units: `end` in milliseconds.
 */
export async function fill(store: Store, series: number, end: number): Promise<void> {
  const rows: { labels: ReturnType<typeof labelsFromObject>; perSample: number }[] = [];
  for (let pod = 0; rows.length + 16 <= series; pod++) {
    const owner = `app-${pod % 40}`;
    const labels = {
      http_request_method: 'GET',
      http_response_status_code: pod % 9 === 0 ? '500' : '200',
      k8s_namespace_name: `ns-${pod % 8}`,
      k8s_pod_name: `${owner}-7d9f-${pod}`,
      service_name: owner,
    };
    for (const [i, le] of bounds.entries()) {
      const bucket = { __name__: 'http_server_request_duration_bucket', ...labels, le };
      rows.push({ labels: labelsFromObject(bucket), perSample: (i + 1) * (1 + (pod % 7)) });
    }
    rows.push({
      labels: labelsFromObject({ __name__: 'http_server_request_duration_count', ...labels }),
      perSample: 11,
    });
    for (let peer = 0; peer < 4; peer++) {
      const flow = { k8s_src_owner_name: owner, k8s_dst_owner_name: `dst-${peer}`, k8s_pod_name: labels.k8s_pod_name };
      rows.push({
        labels: labelsFromObject({ __name__: 'ebpf_network_flow_bytes', ...flow }),
        perSample: 40_000 + pod * 17 + peer,
      });
    }
  }
  const up = labelsFromObject({ __name__: 'svc_agent_up' });
  for (let k = 0; k < samples; k++) {
    const t = end - (samples - 1 - k) * interval;
    const taken = (result: string): void => {
      if (result !== 'appended') throw new Error(`a sample at ${t} was ${result}`);
    };
    taken(store.append(up, t, 1));
    for (const { labels, perSample } of rows) taken(store.append(labels, t, k * perSample + (k % 3)));
    await store.commit();
  }
}
