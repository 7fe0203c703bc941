import type { AdapterOffer } from '../fallback/adapter-discovery.ts';
import type { OfferedMetric } from '../fallback/read-names.ts';
import type { MetricName } from '../providers/provider.ts';
import { customGroup, customVersions, externalGroup, type CustomVersion } from './paths.ts';

/**
 * The metrics that our custom and external metrics APIs offer. If `external` is undefined, the external metrics API is
 * off. `passedOn` has the metrics of a second adapter, to which requests for them are passed on.
 */
export interface Offer {
  readonly custom: readonly MetricName[];
  readonly external: readonly string[] | undefined;
  readonly passedOn?: AdapterOffer | undefined;
}

interface GroupVersions {
  readonly group: string;
  /** The preferred version first. */
  readonly versions: readonly string[];
}

const groupsOf = (offer: Offer): GroupVersions[] => [
  { group: customGroup, versions: customVersions.toReversed() },
  ...(offer.external ? [{ group: externalGroup, versions: ['v1beta1'] }] : []),
];

/** Media types of the aggregated discovery with the API version of each, newest first. */
const aggregatedTypes = [
  { type: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList', version: 'v2' },
  { type: 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList', version: 'v2beta1' },
] as const;

/** A discovery document and its media type. */
export interface DiscoveryDocument {
  readonly type: string;
  readonly body: unknown;
}

/** The document of a discovery path; undefined for other paths. */
export function discoveryDocument(path: string, accept: string, offer: Offer): DiscoveryDocument | undefined {
  const json = (body: unknown): DiscoveryDocument => ({ type: 'application/json', body });
  if (path === '/apis') {
    const wanted = aggregatedTypes.find(({ type }) => accept.replaceAll(' ', '').includes(type));
    if (wanted) return { type: wanted.type, body: aggregated(offer, wanted.version) };
    return json({ kind: 'APIGroupList', apiVersion: 'v1', groups: groupsOf(offer).map(apiGroup) });
  }
  for (const group of groupsOf(offer)) {
    if (path === `/apis/${group.group}`) return json({ kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(group) });
    for (const version of group.versions) {
      if (path === `/apis/${group.group}/${version}`) return json(resourceList(group.group, version, offer));
    }
  }
  return undefined;
}

function apiGroup({ group, versions }: GroupVersions): Record<string, unknown> {
  const named = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: named, preferredVersion: named[0] };
}

function resourceList(group: string, version: string, offer: Offer): unknown {
  const isCustom = group === customGroup;
  const entry = (name: string, namespaced: boolean): unknown => ({
    name,
    singularName: '',
    namespaced,
    kind: isCustom ? 'MetricValueList' : 'ExternalMetricValueList',
    verbs: ['get'],
  });
  const resources = isCustom
    ? customMetrics(offer, version).map((one) => entry(`${one.resource}/${one.metric}`, one.namespaced))
    : externalMetrics(offer).map((metric) => entry(metric, true));
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${group}/${version}`, resources };
}

/**
 * The metrics of an API version, sorted by resource and name. A metric of our own takes precedence over one of the
 * second adapter with the same resource and name.
 */
function customMetrics({ custom, passedOn }: Offer, version: string): OfferedMetric[] {
  const ours = custom.map(({ resource, metric }) => {
    const { namespaced } = resource.ref;
    return { resource: resource.name, metric, namespaced };
  });
  const others = passedOn?.custom[version as CustomVersion] ?? [];
  if (others.length === 0) return ours;
  const key = ({ resource, metric }: OfferedMetric): string => `${resource}/${metric}`;
  const all = new Map(others.map((one) => [key(one), one]));
  for (const one of ours) all.set(key(one), one);
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

function externalMetrics({ external = [], passedOn }: Offer): readonly string[] {
  const others = passedOn?.external ?? [];
  return others.length === 0 ? external : [...new Set([...external, ...others])].sort();
}

/** All groups in one document: metrics are subresources of the resources that they describe. */
function aggregated(offer: Offer, version: 'v2' | 'v2beta1'): unknown {
  const items = groupsOf(offer).map(({ group, versions }) => ({
    metadata: { name: group, creationTimestamp: null },
    versions: versions.map((v) => ({
      version: v,
      resources:
        group === customGroup
          ? describedSubresources(customMetrics(offer, v), v)
          : externalResources(externalMetrics(offer)),
      freshness: 'Current',
    })),
  }));
  return { kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {}, items };
}

function describedSubresources(names: readonly OfferedMetric[], version: string): unknown[] {
  const responseKind = { group: customGroup, version, kind: 'MetricValueList' };
  return [...Map.groupBy(names, ({ resource }) => resource)].map(([resource, metrics]) => ({
    resource,
    scope: metrics[0]!.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: '',
    verbs: [],
    subresources: metrics.map(({ metric }) => ({ subresource: metric, responseKind, verbs: ['get'] })),
  }));
}

const externalResources = (names: readonly string[]): unknown[] =>
  names.map((resource) => ({
    resource,
    responseKind: { group: externalGroup, version: 'v1beta1', kind: 'ExternalMetricValueList' },
    scope: 'Namespaced',
    singularResource: '',
    verbs: ['get'],
  }));
