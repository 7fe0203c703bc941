import { parseQuantity } from '../../../src/base/quantity.ts';
import type { Container, FieldRef, Pod, ResourceFieldRef } from '../types.ts';

/** Facts of a pod that its API object does not have yet when its containers start. */
export interface PodAddresses {
  podIP: string;
  hostIP: string;
}

/** The node's capacity, which is the value of each limit that a container does not set. */
const nodeCapacity: Readonly<Record<string, string>> = { cpu: '8', memory: '16Gi', 'ephemeral-storage': '100Gi' };

/**
 * The value of a `fieldRef`, as text.
 * Errors: the path is not one of the downward API's; the error names it.
 */
export function fieldValue(pod: Pod, addresses: PodAddresses, ref: FieldRef): string {
  const { metadata, spec } = pod;
  const indexed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(ref.fieldPath);
  if (indexed) return metadata[indexed[1] as 'labels' | 'annotations']?.[indexed[2] ?? ''] ?? '';
  switch (ref.fieldPath) {
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace;
    case 'metadata.uid':
      return metadata.uid;
    case 'metadata.labels':
      return lines(metadata.labels);
    case 'metadata.annotations':
      return lines(metadata.annotations);
    case 'spec.nodeName':
      return spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? 'default';
    case 'status.podIP':
    case 'status.podIPs':
      return addresses.podIP;
    case 'status.hostIP':
    case 'status.hostIPs':
      return addresses.hostIP;
    default:
      throw new Error(`fieldRef ${ref.fieldPath} is not supported`);
  }
}

/** The value of a `resourceFieldRef`: the limit (or request), divided and rounded up. */
export function resourceValue(pod: Pod, container: Container | undefined, ref: ResourceFieldRef): string {
  const named = ref.containerName ?? container?.name;
  const from = pod.spec.containers.find((c) => c.name === named) ?? container;
  const [kind = '', ...rest] = ref.resource.split('.');
  const resource = rest.join('.');
  const set = kind === 'requests' ? from?.resources?.requests?.[resource] : from?.resources?.limits?.[resource];
  const value = set ?? (kind === 'limits' ? (nodeCapacity[resource] ?? '0') : '0');
  const divisor = ref.divisor === undefined || ref.divisor === '0' ? 1 : quantity(ref.divisor);
  return String(Math.ceil(quantity(value) / divisor));
}

function quantity(text: string): number {
  const found = parseQuantity(text);
  if (found === undefined) throw new Error(`"${text}" is not a quantity`);
  return found;
}

const lines = (map: Readonly<Record<string, string>> | undefined): string =>
  Object.entries(map ?? {})
    .map(([k, v]) => `${k}=${JSON.stringify(v)}`)
    .sort()
    .join('\n');
