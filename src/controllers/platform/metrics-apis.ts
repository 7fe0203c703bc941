import type { KubeObject } from '../../api/meta.ts';
import { conditionOf, holds, type ConditionedStatus } from '../../api/statuses.ts';
import type { ConditionInput } from '../../runtime/index.ts';
import {
  customMetricsApiServices,
  externalMetricsApiServices,
  names,
  type CustomMetricsMode,
} from '../../render/index.ts';

/** A registration with the API server's aggregator. */
export interface ApiServiceObject extends KubeObject {
  spec?: { service?: { name?: string; namespace?: string } | null; insecureSkipTLSVerify?: boolean };
  status?: ConditionedStatus;
}

export interface MetricsApiPlan {
  /** Whether our server offers the API at all. */
  serve: boolean;
  /** Whether we may write the registrations. */
  register: boolean;
  /** Undefined when the API is not offered: nothing is missing then. */
  condition: ConditionInput | undefined;
}

/** The Deployment of the query server, reduced to the fields that matter here. */
export interface QueryDeployment extends KubeObject {
  status?: ConditionedStatus;
}

/** What a first registration waits for. */
export interface QueryServerObjects {
  deployment: QueryDeployment | undefined;
  /** The binding by which the query server may read the CAs of its callers. */
  reader: KubeObject | undefined;
}

/** Whether the query server has enough ready replicas, by its Deployment's status. */
export function isAvailable(deployment: QueryDeployment): boolean {
  return holds(deployment, 'Available');
}

/** What a first registration still waits for; undefined when it waits for nothing. */
function awaitedOf({ deployment, reader }: QueryServerObjects): string | undefined {
  if (!deployment || !isAvailable(deployment)) return `Deployment ${names.query} is available`;
  return reader ? undefined : `RoleBinding kube-system/${names.authReader} exists`;
}

/** Whether a registration points to our query server. Labels are ignored, so that edits by others do not matter. */
export function isOurs(namespace: string, { spec }: ApiServiceObject): boolean {
  return spec?.service?.name === names.query && spec.service.namespace === namespace;
}

/** The server that a registration points to, for messages. */
function ownerOf({ spec }: ApiServiceObject): string {
  const { service } = spec ?? {};
  return service ? `Service ${service.namespace ?? ''}/${service.name ?? ''}` : 'the API server itself';
}

/**
 * Our registration over the live one. A server whose certificate is not verified, as prometheus-adapter by its chart,
 * is registered with a field that the API server refuses beside a CA. An apply only takes over fields that it has.
 */
export function overLive(registration: KubeObject, live: ApiServiceObject | undefined): KubeObject {
  if (live?.spec?.insecureSkipTLSVerify !== true) return registration;
  return { ...registration, spec: { ...(registration['spec'] as object), insecureSkipTLSVerify: false } };
}

/** One of the APIs that autoscalers read. */
export interface MetricsApi {
  condition: ConditionInput['type'];
  /** Names of its registrations, one for each version. */
  apiServices: readonly string[];
  /** The operator's flag for this API. */
  flag: string;
}

export const customMetricsApi: MetricsApi = {
  condition: 'CustomMetricsAvailable',
  apiServices: customMetricsApiServices,
  flag: '--custom-metrics',
};

export const externalMetricsApi: MetricsApi = {
  condition: 'ExternalMetricsAvailable',
  apiServices: externalMetricsApiServices,
  flag: '--external-metrics',
};

/**
 * What to do about a metrics API. Pure.
 * When any version of the API belongs to another server, often prometheus-adapter or KEDA, `auto` leaves all versions
 * alone: autoscalers prefer the newest version and would switch away from that server.
 * A registration whose server does not answer blocks the deletion of every namespace of the cluster, so the first
 * registration waits for the query server, and for its right to read the CAs of its callers: its pods become ready
 * without that right, because they serve more than this API. An existing registration stays while its server is unavailable: autoscalers
 * do not change the number of replicas in that time.
 */
export function planMetricsApi(
  api: MetricsApi,
  mode: CustomMetricsMode,
  namespace: string,
  registrations: readonly ApiServiceObject[],
  query: QueryServerObjects,
): MetricsApiPlan {
  if (mode === 'off') return { serve: false, register: false, condition: undefined };
  const present = registrations.filter(({ metadata }) => api.apiServices.includes(metadata.name ?? ''));
  const unavailable = (reason: string, message: string): ConditionInput => ({
    type: api.condition,
    status: 'False',
    reason,
    message,
  });
  const foreign = present.find((one) => !isOurs(namespace, one));
  if (foreign && mode === 'auto') {
    const message = `APIService ${foreign.metadata.name ?? ''} belongs to ${ownerOf(foreign)} and is left alone; remove it, or set ${api.flag}=force`;
    return { serve: true, register: false, condition: unavailable('ForeignAPIService', message) };
  }
  const registered = present.some((one) => isOurs(namespace, one));
  const awaited = awaitedOf(query);
  if (!registered && awaited !== undefined) {
    const message = `the API is registered once ${awaited}`;
    return { serve: true, register: false, condition: unavailable('Unavailable', message) };
  }
  if (foreign) {
    const message = `APIService ${foreign.metadata.name ?? ''} belongs to ${ownerOf(foreign)} and is not taken over yet`;
    return { serve: true, register: true, condition: unavailable('Unavailable', message) };
  }
  const bad = api.apiServices
    .map((name) => ({
      name,
      available: conditionOf(
        present.find(({ metadata }) => metadata.name === name),
        'Available',
      ),
    }))
    .find(({ available }) => available?.status !== 'True');
  const condition: ConditionInput = bad
    ? unavailable(
        'Unavailable',
        `APIService ${bad.name}: ${bad.available?.message ?? 'the aggregator has not asked it yet'}`,
      )
    : { type: api.condition, status: 'True', reason: 'Available', message: '' };
  return { serve: true, register: true, condition };
}
