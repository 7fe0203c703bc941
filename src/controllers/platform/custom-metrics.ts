import type { KubeObject } from '../../api/meta.ts';
import type { ConditionInput } from '../../runtime/index.ts';
import { customMetricsApiServices, names, type CustomMetricsMode } from '../../render/index.ts';

/** A registration with the API server's aggregator. */
export interface ApiServiceObject extends KubeObject {
  spec?: { service?: { name?: string; namespace?: string } | null };
  status?: { conditions?: { type: string; status: string; reason?: string; message?: string }[] };
}

export interface CustomMetricsPlan {
  /** Our server offers the API at all. */
  serve: boolean;
  /** The registrations are ours to write. */
  register: boolean;
  /** Undefined where the API is not offered: nothing is missing then. */
  condition: ConditionInput | undefined;
}

/** The Deployment of the query server, as far as it decides here. */
export interface QueryDeployment extends KubeObject {
  status?: { conditions?: { type: string; status: string; message?: string }[] };
}

/** Whether the query server has enough replicas that answer, by its Deployment's own word. */
export function isAvailable({ status }: QueryDeployment): boolean {
  return status?.conditions?.some((c) => c.type === 'Available' && c.status === 'True') ?? false;
}

/** Whether a registration leads to our query server. Labels do not count: an edit by others keeps them. */
export function isOurs(namespace: string, { spec }: ApiServiceObject): boolean {
  return spec?.service?.name === names.query && spec.service.namespace === namespace;
}

/**
 * What to do about the custom metrics API. A cluster has one; when any version of it belongs to another server, `auto`
 * leaves all of them alone, because autoscalers prefer the newest version and would be taken away from that server.
 * Pure.
 */
export function planCustomMetrics(
  mode: CustomMetricsMode,
  namespace: string,
  apiServices: readonly ApiServiceObject[],
  query: QueryDeployment | undefined,
): CustomMetricsPlan {
  if (mode === 'off') return { serve: false, register: false, condition: undefined };
  const present = apiServices.filter((api) => customMetricsApiServices.includes(api.metadata.name ?? ''));
  const foreign = present.find((api) => !isOurs(namespace, api));
  if (foreign && mode === 'auto') {
    const { service } = foreign.spec ?? {};
    const owner = service ? `Service ${service.namespace ?? ''}/${service.name ?? ''}` : 'the API server itself';
    return {
      serve: true,
      register: false,
      condition: {
        type: 'CustomMetricsAvailable',
        status: 'False',
        reason: 'ForeignAPIService',
        message: `APIService ${foreign.metadata.name ?? ''} belongs to ${owner} and is left alone; remove it, or set --custom-metrics=force`,
      },
    };
  }
  const registered = present.some((api) => isOurs(namespace, api));
  if (!registered && !(query && isAvailable(query))) return unregisteredYet('CustomMetricsAvailable');
  return { serve: true, register: true, condition: availability(present) };
}

/** The plan until the query server answers for the first time. */
export function unregisteredYet(type: ConditionInput['type']): CustomMetricsPlan {
  const message = `the API is registered once Deployment ${names.query} is available`;
  return { serve: true, register: false, condition: { type, status: 'False', reason: 'Unavailable', message } };
}

function availability(present: readonly ApiServiceObject[]): ConditionInput {
  const type = 'CustomMetricsAvailable';
  const states = customMetricsApiServices.map((name) => {
    const api = present.find((candidate) => candidate.metadata.name === name);
    return { name, available: api?.status?.conditions?.find((c) => c.type === 'Available') };
  });
  const bad = states.find(({ available }) => available?.status !== 'True');
  if (!bad) return { type, status: 'True', reason: 'Available', message: '' };
  const why = bad.available?.message ?? 'the aggregator has not asked it yet';
  return { type, status: 'False', reason: 'Unavailable', message: `APIService ${bad.name}: ${why}` };
}
