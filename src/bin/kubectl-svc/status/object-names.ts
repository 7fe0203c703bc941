import type { ResourceRef } from '../../../api/meta.ts';
import { clusterTrafficPolicies, minterDeployments, trafficMonitors } from '../../../api/v1alpha1/index.ts';
import { coreResources } from '../../../kube/core-resources.ts';
import type { Complete } from '../command.ts';
import { statusParts, type PartName } from './parts.ts';

const resources: Readonly<Record<PartName, ResourceRef>> = {
  trafficmonitors: trafficMonitors,
  clustertrafficpolicies: clusterTrafficPolicies,
  minterdeployments: minterDeployments,
  nodes: coreResources.nodes,
};

/** Names of the objects of the kind typed before; the kinds themselves are a fixed set. */
export const objectNames: Complete = async (session, _word, [kind = '', ...rest]) => {
  const which = statusParts.get(kind);
  if (!which || rest.length > 0) return [];
  const resource = resources[which];
  const namespace = resource.namespaced ? await session.namespace() : undefined;
  const client = await session.kube();
  const { items } = await client.list(resource, { namespace, metadataOnly: true, limit: 500, signal: session.signal });
  return items.flatMap(({ metadata }) => metadata.name ?? []);
};
