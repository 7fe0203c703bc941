import { AddressIndex } from '../../src/query/addresses/address-index.ts';
import { cluster, end, namespaceOf } from './topology-data.ts';

/** An address index of a made-up cluster: `pods` pods, a Service for each workload, the nodes. Empty for 0 pods. */
export function topologyIndex(pods: number): AddressIndex {
  const index = new AddressIndex();
  if (pods === 0) return index;
  const address = (start: number, i: number): string => `10.${start + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
  for (let i = 0; i < pods; i++) {
    const workload = i % cluster.workloads;
    const name = `app-${workload}`;
    const hash = { 'pod-template-hash': '7d9f' };
    const identity = { namespace: namespaceOf(workload), name: `${name}-7d9f-${i}`, uid: `pod-${i}` };
    const place = { nodeName: `node-${i % cluster.nodes}`, containers: ['main'], hostNetwork: false };
    const owner = { kind: 'ReplicaSet', name: `${name}-7d9f` };
    const life = { ips: [address(0, i)], fromMs: 0, ended: false };
    index.setPod({ ...identity, ...place, ...life, owner, labels: { app: name, ...hash } }, end);
  }
  for (let workload = 0; workload < cluster.workloads; workload++) {
    const name = `app-${workload}`;
    const service = { namespace: namespaceOf(workload), name, ips: [address(96, workload)], fromMs: 0 };
    index.setService({ ...service, selector: { app: name } }, end);
  }
  for (let i = 0; i < cluster.nodes; i++)
    index.setNode({ name: `node-${i}`, ips: [`192.168.0.${i + 1}`], podCidrs: [`10.0.${i}.0/24`] }, end);
  return index;
}
