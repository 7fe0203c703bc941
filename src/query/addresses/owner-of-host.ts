import { isIP } from 'node:net';
import type { AddressIndex, AddressOwner } from './address-index.ts';

const unknown: AddressOwner = { kind: 'unknown' };

/**
 * Names that do not identify a host: what the instrument writes when it does not know the other end, and the names by
 * which every machine calls itself.
 */
const noNames: ReadonlySet<string> = new Set(['', 'outgoing', 'incoming', 'unknown', 'localhost', '__overflow__']);

/** Who sent a request, when, and who asks about it. */
export interface HostContext {
  /** The namespace of the pod that sent the request; '' for an unknown sender. */
  readonly namespace: string;
  /** Units: ms since the epoch. */
  readonly timeMs: number;
  /** The namespaces whose pods the reader may see; undefined: all. */
  readonly visible?: ReadonlySet<string> | undefined;
}

/**
 * Resolves the host of a request: an address, the DNS name of a Service or pod of the cluster
 * (`10-0-0-1.namespace.pod`), the name of a workload, with its namespace when that is not the sender's, or a name
 * outside the cluster. The sender chooses this text freely. So a bare name is only looked up in the sender's namespace,
 * an address with dashes must belong to the namespace beside it, and a name of a namespace that the reader may not see
 * is external, whether it exists or not.
 */
export function ownerOfHost(index: AddressIndex, host: string, context: HostContext): AddressOwner {
  const { timeMs, visible } = context;
  if (isIP(host) !== 0) return index.at(host, timeMs);
  const name = host.toLowerCase().replace(/\.$/, '');
  if (noNames.has(name)) return unknown;
  const [first = '', second, third, fourth] = name.split('.');
  const namespace = (fourth === 'svc' ? third : second) ?? context.namespace;
  if (visible?.has(namespace) === false) return { kind: 'external', name };
  const service = third === undefined || third === 'svc' ? index.service(namespace, first) : undefined;
  if (service) return { kind: 'service', service };
  if (fourth === 'svc') {
    const pod = index.pod(namespace, first);
    if (pod) return { kind: 'pod', pod, workload: index.workloadOf(pod) };
  }
  if (third === 'pod' || fourth === 'svc') {
    const address = ['.', ':'].map((point) => first.replaceAll('-', point)).find((text) => isIP(text) !== 0);
    if (address !== undefined) return inNamespace(index.at(address, timeMs), namespace);
  }
  if (third === undefined) {
    const workload = index.workloadNamed(first, namespace);
    if (workload) return { kind: 'workload', workload };
  }
  const isOfCluster = second === undefined || third === 'svc' || fourth === 'svc';
  return isOfCluster ? unknown : { kind: 'external', name };
}

function inNamespace(owner: AddressOwner, namespace: string): AddressOwner {
  const own = owner.kind === 'pod' ? owner.pod : owner.kind === 'service' ? owner.service : undefined;
  return own?.namespace === namespace ? owner : unknown;
}
