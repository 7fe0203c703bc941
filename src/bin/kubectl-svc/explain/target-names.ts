import { resourceRef, type ResourceRef } from '../../../api/meta.ts';
import { trafficMonitors } from '../../../api/v1alpha1/index.ts';
import { coreResources } from '../../../kube/core-resources.ts';
import type { Complete } from '../command.ts';
import { targetWords } from './target.ts';

const batch = (kind: string, plural: string): ResourceRef =>
  resourceRef({ group: 'batch', version: 'v1', kind, plural, namespaced: true });

const resources: Readonly<Record<string, ResourceRef>> = {
  pod: coreResources.pods,
  deployment: coreResources.deployments,
  statefulset: coreResources.statefulSets,
  daemonset: coreResources.daemonSets,
  replicaset: coreResources.replicaSets,
  job: batch('Job', 'jobs'),
  cronjob: batch('CronJob', 'cronjobs'),
  monitor: trafficMonitors,
  node: coreResources.nodes,
};

/** `pod/…`: kinds until a slash is typed, or names after a kind as a word of its own. */
export const targetNames: Complete = async (session, word, [before, ...rest]) => {
  if (rest.length > 0) return [];
  const [kind = '', name] = before === undefined ? word.split('/') : [before];
  if (before === undefined && name === undefined) return targetWords.map((one) => `${one}/`);
  const resource = resources[kind];
  if (!resource) return [];
  const namespace = resource.namespaced ? await session.namespace() : undefined;
  const client = await session.kube();
  const { items } = await client.list(resource, { namespace, metadataOnly: true, limit: 500, signal: session.signal });
  const names = items.flatMap(({ metadata }) => metadata.name ?? []);
  return before === undefined ? names.map((one) => `${kind}/${one}`) : names;
};
