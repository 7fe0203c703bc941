import { sortedLabels, type Labels } from '../../src/promql/index.ts';
import { Random } from '../../src/testing/promql/random.ts';

/**
 * The times of the generated data: 720 samples of each series, 30 s apart, the last at 2026-11-21T06:00:00Z. Units:
 * milliseconds.
 */
export const interval = 30_000;
export const samples = 720;
export const end = Date.UTC(2026, 10, 21, 6);
export const start = end - (samples - 1) * interval;

/** One generated series. */
export interface BenchSeries {
  readonly labels: Labels;
  readonly values: Float64Array;
}

const bounds = ['0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '+Inf'];
const outcomes = [
  ['GET', '200'],
  ['POST', '200'],
  ['GET', '404'],
  ['GET', '500'],
] as const;

/** 465 series for each node: metrics of its agent, and request durations, body sizes and flows of five pods. */
export function generate(nodes: number): BenchSeries[] {
  const random = new Random(42);
  const found: BenchSeries[] = [];
  const add = (name: string, labels: Record<string, string>, values: Float64Array): void => {
    found.push({ labels: sortedLabels(Object.entries({ __name__: name, ...labels })), values });
  };
  for (let node = 0; node < nodes; node++) {
    const onNode = { k8s_node_name: `node-${node}` };
    add('svc_agent_up', onNode, new Float64Array(samples).fill(1));
    for (const kind of ['metric', 'trace']) {
      for (const module of ['http1', 'tcp']) {
        add('svc_capture_events_total', { ...onNode, kind, module }, counter(random, 200, false));
      }
    }
    for (let pod = 0; pod < 5; pod++) addPod(random, node, pod, onNode, add);
  }
  return found;
}

type Add = (name: string, labels: Record<string, string>, values: Float64Array) => void;

function addPod(random: Random, node: number, pod: number, onNode: Record<string, string>, add: Add): void {
  const owner = `dep-${(node + pod) % 8}`;
  const namespace = `ns-${pod % 3}`;
  for (const [method, status] of outcomes) {
    const labels = {
      ...onNode,
      http_request_method: method,
      http_response_status_code: status,
      k8s_container_name: 'app',
      k8s_deployment_name: owner,
      k8s_namespace_name: namespace,
      k8s_pod_name: `${owner}-7d9f-${node}`,
      k8s_replicaset_name: `${owner}-7d9f`,
      service_name: owner,
    };
    addDurations(random, labels, add);
    for (const direction of ['request', 'response']) {
      add(`http_server_${direction}_body_size_count`, labels, counter(random, 20, false));
      add(`http_server_${direction}_body_size_sum`, labels, counter(random, 20_000, false));
    }
  }
  for (let flow = 0; flow < 24; flow++) {
    const labels = {
      ...onNode,
      direction: flow < 12 ? 'request' : 'response',
      k8s_dst_namespace: `ns-${flow % 3}`,
      k8s_dst_owner_name: `dst-${flow % 12}`,
      k8s_dst_owner_type: 'Deployment',
      k8s_src_namespace: namespace,
      k8s_src_owner_name: owner,
      k8s_src_owner_type: 'Deployment',
    };
    add('ebpf_network_flow_bytes', labels, counter(random, 80_000, false));
  }
}

function addDurations(random: Random, labels: Record<string, string>, add: Add): void {
  const perSample = 1 + random.below(40);
  let shares = bounds.map(() => random.next());
  const total = shares.reduce((a, b) => a + b);
  shares = shares.map((share) => share / total);
  const columns = bounds.map(() => new Float64Array(samples));
  const counts = bounds.map(() => 0);
  for (let i = 0; i < samples; i++) {
    let sum = 0;
    bounds.forEach((_, b) => {
      counts[b]! += Math.floor(random.next() * 2 * perSample * shares[b]! + random.next());
      sum += counts[b]!;
      columns[b]![i] = sum;
    });
  }
  bounds.forEach((le, b) => add('http_server_request_duration_bucket', { ...labels, le }, columns[b]!));
  add('http_server_request_duration_count', labels, columns.at(-1)!);
  add('http_server_request_duration_sum', labels, counter(random, perSample / 10, true));
}

function counter(random: Random, perSample: number, fraction: boolean): Float64Array {
  let total = random.below(1_000_000);
  return Float64Array.from({ length: samples }, () => {
    const more = random.next() * 2 * perSample;
    total += fraction ? more : Math.floor(more);
    return total;
  });
}
