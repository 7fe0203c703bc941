import { externalMetricsApiServices, type CustomMetricsMode } from '../../render/index.ts';
import {
  isAvailable,
  isOurs,
  unregisteredYet,
  type ApiServiceObject,
  type CustomMetricsPlan,
  type QueryDeployment,
} from './custom-metrics.ts';

/**
 * What to do about the external metrics API, of which a cluster has one too, often KEDA's. Like the custom metrics API,
 * but for a default of off. Pure.
 */
export function planExternalMetrics(
  mode: CustomMetricsMode,
  namespace: string,
  apiServices: readonly ApiServiceObject[],
  query: QueryDeployment | undefined,
): CustomMetricsPlan {
  if (mode === 'off') return { serve: false, register: false, condition: undefined };
  const [name = ''] = externalMetricsApiServices;
  const present = apiServices.find((api) => api.metadata.name === name);
  const type = 'ExternalMetricsAvailable';
  if (present && mode === 'auto' && !isOurs(namespace, present)) {
    const { service } = present.spec ?? {};
    const owner = service ? `Service ${service.namespace ?? ''}/${service.name ?? ''}` : 'the API server itself';
    const message = `APIService ${name} belongs to ${owner} and is left alone; remove it, or set --external-metrics=force`;
    const condition = { type, status: 'False', reason: 'ForeignAPIService', message } as const;
    return { serve: true, register: false, condition };
  }
  const registered = present !== undefined && isOurs(namespace, present);
  if (!registered && !(query && isAvailable(query))) return unregisteredYet(type);
  const available = present?.status?.conditions?.find((c) => c.type === 'Available');
  if (available?.status === 'True') {
    const condition = { type, status: 'True', reason: 'Available', message: '' } as const;
    return { serve: true, register: true, condition };
  }
  const message = `APIService ${name}: ${available?.message ?? 'the aggregator has not asked it yet'}`;
  return { serve: true, register: true, condition: { type, status: 'False', reason: 'Unavailable', message } };
}
