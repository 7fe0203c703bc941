import { Pace } from '../../base/turns/turns.ts';
import { TurnWatch } from '../../testing/turn-watch.ts';
import { AddressIndex } from '../addresses/address-index.ts';
import { assembleTopology, type RateRow } from './assemble.ts';
import { assembleServices } from './services.ts';

/** The longest that a process may compute without a turn for other work, in ms of CPU time. */
const longestCpuMs = 100;
const many = 6_000;
const endMs = 1_700_000_000_000;

/** Callers that each send requests to a host of their own, and one flow of each caller. */
const rows: RateRow[] = Array.from({ length: many }, (_, i) => {
  const subject = { k8s_namespace_name: 'shop', k8s_owner_name: `app-${i}`, k8s_kind: 'Deployment' };
  const [caller, target] = [`app-${i}`, `app-${(i * 7 + 1) % many}`];
  const flow = {
    ...{ svc_part: 'flows', direction: 'request', k8s_node_name: 'node-1', k8s_src_node_name: 'node-1' },
    ...{ k8s_src_namespace: 'shop', k8s_src_owner_name: caller, k8s_src_owner_type: 'Deployment' },
    ...{ k8s_dst_namespace: 'shop', k8s_dst_owner_name: target, k8s_dst_owner_type: 'Deployment' },
  };
  return [
    {
      labels: { svc_part: 'http_client', ...subject, server_address: `${target}.shop` },
      ...{ bounds: ['+Inf', '0.1', '1'], values: Float64Array.of(3, 1, 2) },
    },
    { labels: flow, bounds: [''], values: Float64Array.of(1_000) },
  ];
}).flat();

const index = new AddressIndex();
for (let i = 0; i < many; i++) {
  const owner = { kind: 'ReplicaSet', name: `app-${i}-x` };
  const labels = { 'pod-template-hash': 'x' };
  const pod = { namespace: 'shop', name: `app-${i}-x-1`, uid: `${i}`, nodeName: 'node-1', labels, owner };
  index.setPod({ ...pod, containers: [], hostNetwork: false, ips: [], fromMs: 0, ended: false }, endMs);
}

const inputs = {
  topology: (pace: Pace) =>
    assembleTopology(pace, rows, {
      ...{ index, by: 'workload', endMs, windowMs: 300_000, maxEdges: 5_000 },
      ...{ visible: undefined, namespace: undefined },
    }).then(({ topology: { edges } }) => edges.length),
  services: (pace: Pace) =>
    assembleServices(pace, {
      ...{ index, rows, series: [], startMs: endMs - 60_000, stepMs: 1_000, steps: 60 },
      ...{ pods: undefined, monitors: () => [], missing: () => undefined },
    }).then(({ length }) => length),
};

test.each([
  ['topology', 5_000],
  ['services', many],
] as const)('assembling %s of many rows yields to other work, and ends when its request does', async (what, count) => {
  const watch = new TurnWatch();
  expect(await inputs[what](new Pace(undefined, watch))).toBe(count);
  watch.look();
  expect(watch.turns).toBeGreaterThan(100);
  expect(watch.longestMs).toBeLessThan(longestCpuMs);
  const stop = new AbortController();
  const cut = new TurnWatch((turns) => turns === 50 && stop.abort(new Error('gone')));
  await expect(inputs[what](new Pace(stop.signal, cut))).rejects.toThrow('gone');
  expect(cut.turns).toBe(50);
});
