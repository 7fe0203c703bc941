import type { KubeObject, ResourceRef } from '../../../api/meta.ts';
import {
  clusterTrafficPolicies,
  group,
  minterDeployments,
  trafficMonitors,
  type ClusterTrafficPolicy,
  type MinterDeployment,
  type TrafficMonitor,
} from '../../../api/v1alpha1/index.ts';
import { errorText, isOperatorError } from '../../../base/errors.ts';
import {
  ApiError,
  coreResources,
  isForbidden,
  isNotFound,
  isUnauthorized,
  listAll,
  type KubeClient,
} from '../../../kube/index.ts';
import type { NodeObject } from '../../../controllers/capture/facts.ts';
import { names } from '../../../render/index.ts';
import type { PodWithStatus } from './pod-fault.ts';
import type { ClusterView, Reading } from './view.ts';

export interface ViewOptions {
  readonly client: KubeClient;
  /** The operator's namespace. */
  readonly namespace: string;
  /**
   * The namespace of the MinterDeployments, and of the TrafficMonitors that are listed; all when unset. The monitors of
   * all namespaces are read as far as the user may, because configs are compiled from them.
   */
  readonly objectNamespace?: string | undefined;
  /** If the user may not list the pods and monitors of all namespaces, those of this namespace are read instead. */
  readonly atLeast?: string | undefined;
  /** Wall time, ms since the epoch. */
  readonly now: number;
  /** Lists to leave out: they count as empty. */
  readonly without?: readonly (keyof ClusterView)[];
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads all lists concurrently, each with its own outcome.
 * Errors: only when the API server answers no request at all (no connection, no credentials). If a single list is
 * forbidden, not served or fails, its `fault` has the reason.
 */
export async function readView(options: ViewOptions): Promise<ClusterView> {
  const { client, namespace, objectNamespace, atLeast, now, without = [], signal } = options;
  const read = async <T extends KubeObject>(
    member: keyof ClusterView,
    resource: ResourceRef,
    selection: { namespace?: string | undefined; fieldSelector?: string } = {},
  ): Promise<Reading<T>> => {
    if (without.includes(member)) return { items: [] };
    return readList<T>(client, resource, { ...selection, signal });
  };
  const readMost = async <T extends KubeObject>(
    member: keyof ClusterView,
    resource: ResourceRef,
    least: string | undefined,
  ): Promise<Reading<T>> => {
    const all = await read<T>(member, resource);
    if (all.fault === undefined || all.code !== 'ERR_API_FORBIDDEN' || least === undefined) return all;
    return read<T>(member, resource, { namespace: least });
  };
  await reached(client, signal);
  const crds = async (): Promise<Reading<KubeObject>> => {
    const all = await read<KubeObject>('crds', coreResources.customResourceDefinitions);
    if (all.fault !== undefined) return all;
    return { items: all.items.filter((crd) => crd.metadata.name?.endsWith(`.${group}`)) };
  };
  const own = { namespace };
  const readPods = readMost<PodWithStatus>('pods', coreResources.pods, atLeast);
  const ownPods = async (): Promise<ClusterView['ownPods']> => {
    const all = await readPods;
    if (all.fault !== undefined || all.partial) return read<PodWithStatus>('ownPods', coreResources.pods, own);
    return { items: all.items.filter(({ metadata }) => metadata.namespace === namespace) };
  };
  return settled({
    namespace,
    now,
    objectNamespace,
    crds: crds(),
    pods: readPods,
    monitors: readMost<TrafficMonitor & KubeObject>('monitors', trafficMonitors, objectNamespace ?? atLeast),
    policies: read<ClusterTrafficPolicy & KubeObject>('policies', clusterTrafficPolicies),
    minters: read<MinterDeployment & KubeObject>('minters', minterDeployments, { namespace: objectNamespace }),
    namespaces: read<KubeObject>('namespaces', coreResources.namespaces),
    nodes: read<NodeObject>('nodes', coreResources.nodes),
    ownPods: ownPods(),
    deployments: read<KubeObject>('deployments', coreResources.deployments, own),
    daemonSets: read<KubeObject>('daemonSets', coreResources.daemonSets, own),
    leases: read<KubeObject>('leases', coreResources.leases, own),
    secrets: read<KubeObject>('secrets', coreResources.secrets, own),
    apiServices: read<KubeObject>('apiServices', coreResources.apiServices),
    events: read<KubeObject>('events', coreResources.events, { fieldSelector: 'type=Warning' }),
    operatorEvents: read<KubeObject>('operatorEvents', coreResources.events, {
      ...own,
      fieldSelector: `regarding.kind=Deployment,regarding.name=${names.controller}`,
    }),
  });
}

interface ListSelection {
  readonly namespace?: string | undefined;
  readonly fieldSelector?: string;
  readonly signal?: AbortSignal | undefined;
}

/** One list, or the reason why it could not be read. */
async function readList<T extends KubeObject>(
  client: KubeClient,
  resource: ResourceRef,
  selection: ListSelection,
): Promise<Reading<T>> {
  try {
    const { items } = await listAll<T>(client, resource, selection);
    return { items, ...(selection.namespace === undefined ? {} : { partial: true }) };
  } catch (error) {
    const code = isOperatorError(error) ? error.code : 'ERR_API_REQUEST';
    return { fault: faultOf(resource, selection.namespace, error), code };
  }
}

/** The list of all namespaces; if that cannot be read, the list of one namespace; else the reason. */
export async function readWidest(
  client: KubeClient,
  resource: ResourceRef,
  namespace: string,
  signal: AbortSignal,
): Promise<Reading<KubeObject>> {
  const all = await readList(client, resource, { signal });
  return all.fault === undefined ? all : readList(client, resource, { namespace, signal });
}

/** The object with every promise in it replaced by its value. */
async function settled<T extends object>(members: T): Promise<{ [K in keyof T]: Awaited<T[K]> }> {
  const entries = Object.entries(members).map(async ([name, value]) => [name, (await value) as unknown] as const);
  return Object.fromEntries(await Promise.all(entries)) as { [K in keyof T]: Awaited<T[K]> };
}

/**
 * Makes a request that every user may make: a server that does not answer this one answers none. A refusal counts as an
 * answer, except 401.
 */
async function reached(client: KubeClient, signal: AbortSignal | undefined): Promise<void> {
  try {
    await client.getPath('/version', { signal });
  } catch (error) {
    if (!(error instanceof ApiError) || isUnauthorized(error)) throw error;
  }
}

function faultOf(resource: ResourceRef, namespace: string | undefined, error: unknown): string {
  const where = namespace === undefined ? ' of all namespaces' : ` in namespace ${namespace}`;
  if (isForbidden(error)) return `you may not list ${resource.plural}${resource.namespaced ? where : ''}`;
  if (isNotFound(error)) return `the cluster does not serve ${resource.plural}.${resource.group}`;
  return errorText(error);
}
