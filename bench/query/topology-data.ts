import type { Labels } from '../../src/promql/index.ts';
import { labelsFromObject } from '../../src/tsdb/index.ts';
import type { Store } from '../../src/tsdb/index.ts';

/** The time of the last sample of the data that this process makes. Units: milliseconds. */
export const end = Math.floor(Date.now() / 60_000) * 60_000;

/** A cluster for topologies: 500 workloads with two pods each. Every workload calls four others. */
export const cluster = { workloads: 500, nodes: 50, callees: 4, namespaces: 20 } as const;

/**
 * Each series has a sample every 30 s for an hour, which is the time for which `/api/v1/services` asks. Units:
 * milliseconds.
 */
const interval = 30_000;
const samples = 120;
const bounds = [
  '0.005',
  '0.01',
  '0.025',
  '0.05',
  '0.075',
  '0.1',
  '0.25',
  '0.5',
  '0.75',
  '1',
  '2.5',
  '5',
  '7.5',
  '10',
  '+Inf',
];
const routes = ['/', '/items', '/items/:id'];

/** How many workloads have a pod on a node. Half of them have the other pod on the next node. */
const local = (2 * cluster.workloads) / cluster.nodes;
/**
 * Values of labels before `relabelTopology`. `@app:3` and `@ns:3` stand for the name and namespace of a node's workload
 * 3; `@app:3:1` stands for the name of the second workload that it calls.
 */
const template = (what: string, workload: number, peer?: number): string =>
  `@${what}:${workload}${peer === undefined ? '' : `:${peer}`}`;

/** Writes one node's series, with template values for names; `relabelTopology` turns them into those of any node. */
export async function fillTopology(store: Store): Promise<void> {
  const rows: { labels: Labels; perSample: number }[] = [];
  const histogram = (metric: string, own: Record<string, string>, perSample: number): void => {
    for (const [i, le] of bounds.entries()) {
      const labels = { __name__: `${metric}_bucket`, ...own, le };
      rows.push({ labels: labelsFromObject(labels), perSample: (perSample * (i + 1)) / bounds.length });
    }
    rows.push({ labels: labelsFromObject({ __name__: `${metric}_count`, ...own }), perSample });
  };
  for (let workload = 0; workload < local; workload++) {
    const subject = {
      k8s_namespace_name: template('ns', workload),
      k8s_owner_name: template('app', workload),
      k8s_kind: 'Deployment',
      k8s_pod_name: template('pod', workload),
      http_request_method: 'GET',
    };
    for (const status of ['200', '500']) {
      const perSample = status === '200' ? 300 : 3;
      for (const http_route of routes)
        histogram(
          'http_server_request_duration',
          { ...subject, http_route, http_response_status_code: status },
          perSample,
        );
      for (let peer = 0; peer < cluster.callees; peer++) {
        const server_address = template('host', workload, peer);
        histogram(
          'http_client_request_duration',
          { ...subject, server_address, http_response_status_code: status },
          perSample,
        );
      }
    }
    for (let peer = 0; peer < cluster.callees; peer++) {
      for (const direction of ['request', 'response']) {
        const [src, dst] = direction === 'request' ? ['src', 'dst'] : ['dst', 'src'];
        const labels = {
          __name__: 'ebpf_network_flow_bytes',
          direction,
          [`k8s_${src}_namespace`]: template('ns', workload),
          [`k8s_${src}_owner_name`]: template('app', workload),
          [`k8s_${src}_owner_type`]: 'Deployment',
          [`k8s_${dst}_namespace`]: template('ns', workload, peer),
          [`k8s_${dst}_owner_name`]: template('app', workload, peer),
          [`k8s_${dst}_owner_type`]: 'Deployment',
        };
        rows.push({ labels: labelsFromObject(labels), perSample: 40_000 });
      }
    }
  }
  const up = labelsFromObject({ __name__: 'svc_agent_up' });
  for (let k = 0; k < samples; k++) {
    const t = end - (samples - 1 - k) * interval;
    store.append(up, t, 1);
    for (const { labels, perSample } of rows) store.append(labels, t, k * perSample);
    await store.commit();
  }
}

/** The labels as node number `node` has them. Pure. */
export function relabelTopology(labels: Labels, node: number): Labels {
  return labels.map(([name, value]) => [name, value.startsWith('@') ? resolved(value, node) : value] as const);
}

function resolved(value: string, node: number): string {
  const [, what, workload, peer] = /^@(\w+):(\d+)(?::(\d+))?$/.exec(value)!;
  const own = node * (local / 2) + Number(workload);
  // A workload calls its neighbour and three that are far away, all of them different.
  const number = (peer === undefined ? own : own + 1 + Number(peer) * 37) % cluster.workloads;
  if (what === 'ns') return namespaceOf(number);
  if (what === 'host') return `app-${number}.${namespaceOf(number)}`;
  return what === 'pod' ? `app-${number}-7d9f-${node}` : `app-${number}`;
}

export const namespaceOf = (workload: number): string => `ns-${workload % cluster.namespaces}`;
