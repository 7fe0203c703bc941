import { isIP } from 'node:net';
import type { AddressIndex, AddressOwner } from './address-index.ts';

const unknown: AddressOwner = { kind: 'unknown' };

/**
 * Names that do not identify a host: what the instrument writes when it does not know the other end, and the names by
 * which every machine calls itself.
 */
const noNames: ReadonlySet<string> = new Set(['', 'outgoing', 'incoming', 'unknown', 'localhost', '__overflow__']);

/**
 * Resolves the host of a request that a pod of `namespace` sent: an address, the DNS name of a Service or pod of the
 * cluster (`10-0-0-1.namespace.pod`), the name of a workload as the agent of its node reports it, or a name outside the
 * cluster.
 */
export function ownerOfHost(index: AddressIndex, host: string, namespace: string, timeMs: number): AddressOwner {
  if (isIP(host) !== 0) return index.at(host, timeMs);
  const name = host.toLowerCase().replace(/\.$/, '');
  if (noNames.has(name)) return unknown;
  const [first = '', second, third, fourth] = name.split('.');
  const service = index.service(second ?? namespace, first);
  const isOfCluster = second === undefined || third === 'svc' || fourth === 'svc';
  if (service && (third === undefined || third === 'svc')) return { kind: 'service', service };
  if (fourth === 'svc') {
    const pod = index.pod(third!, first);
    if (pod) return { kind: 'pod', pod, workload: index.workloadOf(pod) };
  }
  if (third === 'pod' || fourth === 'svc') {
    const address = ['.', ':'].map((point) => first.replaceAll('-', point)).find((text) => isIP(text) !== 0);
    if (address !== undefined) return index.at(address, timeMs);
  }
  if (second === undefined) {
    const workload = index.workloadNamed(first, namespace);
    if (workload) return { kind: 'workload', workload };
  }
  return isOfCluster ? unknown : { kind: 'external', name };
}
