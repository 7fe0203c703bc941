import type { KubeObject } from '../../api/meta.ts';
import { clusterTrafficPolicies, type ClusterTrafficPolicy } from '../../api/v1alpha1/index.ts';
import { declaredPorts } from '../../capture/explain/index.ts';
import { lastingContainers, policiesByStatus, type LastingContainers } from '../../capture/index.ts';
import type { Clock } from '../../base/clock.ts';
import { coreResources } from '../../kube/index.ts';
import type { Cache, Informer } from '../../runtime/index.ts';
import { AddressIndex, type IndexedNode, type IndexedPod, type IndexedService } from './address-index.ts';

interface ContainerShape {
  name?: string;
  ports?: { containerPort?: number; protocol?: string }[];
}

interface PodShape extends KubeObject {
  spec?: LastingContainers<ContainerShape> & { nodeName?: string; hostNetwork?: boolean };
  status?: { phase?: string; startTime?: string; podIP?: string; podIPs?: { ip?: string }[] };
}

interface ServiceShape extends KubeObject {
  spec?: {
    clusterIP?: string;
    clusterIPs?: string[];
    externalIPs?: string[];
    selector?: Record<string, string>;
  };
  status?: { loadBalancer?: { ingress?: { ip?: string }[] } };
}

interface NodeShape extends KubeObject {
  spec?: { podCIDR?: string; podCIDRs?: string[] };
  status?: { addresses?: { type?: string; address?: string }[] };
}

/** The index of the cluster's addresses, and whether it contains the initial lists of all kinds. */
export interface Addresses {
  readonly index: AddressIndex;
  readonly synced: boolean;
}

/**
 * Keeps an index of the cluster's addresses up to date by watches. Call it before the cache is started.
 * Guarantees: only the fields that the index reads are kept of each pod, Service and node. While the API server is
 * unreachable, the last known state answers; a kind that this process may not list leaves its addresses unnamed but
 * causes no failure.
 */
export function watchAddresses(cache: Cache, clock: Pick<Clock, 'now'>): Addresses {
  const index = new AddressIndex();
  const pods = cache.informer({
    resource: coreResources.pods,
    transform: { name: 'query-address-pod', apply: slimPod },
  });
  const services = cache.informer({
    resource: coreResources.services,
    transform: { name: 'query-address-service', apply: slimService },
  });
  const nodes = cache.informer({
    resource: coreResources.nodes,
    transform: { name: 'query-address-node', apply: slimNode },
  });
  const policies = cache.informer<ClusterTrafficPolicy & KubeObject>({ resource: clusterTrafficPolicies });
  pods.onEvent(({ type, object }) => {
    const pod = indexedPod(object);
    if (type === 'deleted') index.deletePod(pod, clock.now());
    else index.setPod(pod, clock.now());
  });
  services.onEvent(({ type, object }) => {
    const service = indexedService(object);
    if (type === 'deleted') index.deleteService(service, clock.now());
    else index.setService(service, clock.now());
  });
  nodes.onEvent(({ type, object }) => {
    const node = indexedNode(object);
    if (type === 'deleted') index.deleteNode(node.name, clock.now());
    else index.setNode(node, clock.now());
  });
  policies.onEvent(() => {
    const blocks = policiesByStatus(policies.list()).flatMap(({ spec }) => spec.network?.cidrs ?? []);
    index.setNamedBlocks(blocks.flatMap(({ cidr, name }) => (name === undefined ? [] : [{ cidr, name }])));
  });
  const informers: readonly Informer[] = [pods, services, nodes];
  return {
    index,
    get synced() {
      return informers.every((informer) => informer.synced);
    },
  };
}

/** The fields that `indexedPod` reads. Sidecars become containers like any other. */
export function slimPod(pod: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, spec, status } = pod as PodShape;
  const { name, namespace, uid, labels, ownerReferences, resourceVersion, creationTimestamp } = metadata;
  const owners = ownerReferences?.filter(({ controller }) => controller);
  const slim = {
    ...{ apiVersion, kind },
    metadata: { name, namespace, uid, labels, ownerReferences: owners, resourceVersion, creationTimestamp },
    spec: {
      nodeName: spec?.nodeName,
      hostNetwork: spec?.hostNetwork,
      containers: lastingContainers(spec).map(slimContainer),
    },
    status: {
      phase: status?.phase,
      startTime: status?.startTime,
      podIP: status?.podIP,
      podIPs: (status?.podIPs?.length ?? 0) > 1 ? status?.podIPs : undefined,
    },
  };
  return slim as unknown as KubeObject;
}

function slimContainer({ name, ports }: ContainerShape) {
  return { name, ports: ports?.map(({ containerPort, protocol }) => ({ containerPort, protocol })) };
}

function slimService(service: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, spec, status } = service as ServiceShape;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const { clusterIP, clusterIPs, externalIPs, selector } = spec ?? {};
  const slim = {
    ...{ apiVersion, kind },
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { clusterIP, clusterIPs, externalIPs, selector },
    status: { loadBalancer: status?.loadBalancer },
  };
  return slim as unknown as KubeObject;
}

function slimNode(node: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, spec, status } = node as NodeShape;
  const { name, uid, resourceVersion } = metadata;
  const slim = {
    ...{ apiVersion, kind, metadata: { name, uid, resourceVersion } },
    spec: { podCIDR: spec?.podCIDR, podCIDRs: spec?.podCIDRs },
    status: { addresses: status?.addresses },
  };
  return slim as unknown as KubeObject;
}

/** The facts that the index keeps of a pod. Pure. */
export function indexedPod(object: KubeObject): IndexedPod {
  const { metadata, spec, status } = object as PodShape;
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  const containers = lastingContainers(spec);
  const ports = declaredPorts(containers);
  const ips = [status?.podIP, ...(status?.podIPs ?? []).map(({ ip }) => ip)];
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    labels: metadata.labels ?? {},
    nodeName: spec?.nodeName ?? '',
    ...(owner ? { owner: { kind: owner.kind, name: owner.name } } : {}),
    containers: containers.map(({ name }) => name ?? ''),
    ...(ports.length > 0 ? { ports } : {}),
    ips: [...new Set(ips.filter((ip) => ip !== undefined && ip !== ''))] as string[],
    hostNetwork: spec?.hostNetwork === true,
    fromMs: timeOf(status?.startTime ?? metadata.creationTimestamp),
    ended: status?.phase === 'Succeeded' || status?.phase === 'Failed',
  };
}

/** The facts that the index keeps of a Service. Pure. */
export function indexedService(object: KubeObject): IndexedService {
  const { metadata, spec, status } = object as ServiceShape;
  const own = addressesOf([spec?.clusterIP, ...(spec?.clusterIPs ?? [])]);
  const outer = (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    ips: own,
    claimedIps: addressesOf([...(spec?.externalIPs ?? []), ...outer]).filter((ip) => !own.includes(ip)),
    selector: spec?.selector ?? null,
    fromMs: timeOf(metadata.creationTimestamp),
  };
}

function addressesOf(texts: readonly (string | undefined)[]): string[] {
  return [...new Set(texts)].filter((ip) => ip !== undefined && ip !== '' && ip !== 'None') as string[];
}

function indexedNode(object: KubeObject): IndexedNode {
  const { metadata, spec, status } = object as NodeShape;
  const addresses = (status?.addresses ?? []).filter(({ type }) => type === 'InternalIP' || type === 'ExternalIP');
  return {
    name: metadata.name ?? '',
    ips: addresses.flatMap(({ address }) => address ?? []),
    podCidrs: [...new Set([...(spec?.podCIDRs ?? []), ...(spec?.podCIDR ? [spec.podCIDR] : [])])],
  };
}

/** A missing or invalid time counts as the beginning of time. Units: ms since the epoch. */
function timeOf(text: string | undefined): number {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? -Infinity : ms;
}
