import { conditionOf, holds } from '../../../api/statuses.ts';
import { clusterTrafficPolicies, minterDeployments, trafficMonitors } from '../../../api/v1alpha1/index.ts';
import {
  customMetricsApi,
  externalMetricsApi,
  isOurs,
  type ApiServiceObject,
  type MetricsApi,
} from '../../../controllers/platform/metrics-apis.ts';
import { itemsOf, type ClusterView } from '../cluster/view.ts';
import { about, type Check } from './check.ts';

/** Whether the API server serves our kinds. */
export function crdChecks({ crds }: ClusterView): Check[] {
  if (crds.fault !== undefined) return [about('api', 'customresourcedefinitions')('unknown', crds.fault)];
  return [trafficMonitors, clusterTrafficPolicies, minterDeployments].map(({ plural, group, version }) => {
    const subject = `${plural}.${group}`;
    const is = about('api', subject);
    const crd = crds.items.find(({ metadata }) => metadata.name === subject);
    const hint = 'kubectl apply --server-side -f crds/, or install again';
    if (!crd) return is('bad', 'not there', hint);
    const { versions = [] } = (crd['spec'] ?? {}) as { versions?: { name: string; served: boolean }[] };
    const served = versions.filter((v) => v.served).map((v) => v.name);
    if (!holds(crd, 'Established')) {
      const names = conditionOf(crd, 'NamesAccepted');
      const why = names?.status === 'False' ? names.message : undefined;
      return is('bad', why ?? 'not established', `kubectl describe crd ${subject}`);
    }
    if (!served.includes(version)) return is('bad', `${version} is not served, only ${served.join(', ')}`, hint);
    return is('ok', `serves ${served.join(', ')}`);
  });
}

/**
 * Checks the servers that are registered for the metrics APIs of autoscalers. Another product's server is not a fault;
 * a server of ours must answer.
 */
export function metricsApiChecks(view: ClusterView): Check[] {
  if (view.apiServices.fault !== undefined)
    return [about('metricsApis', 'apiservices')('unknown', view.apiServices.fault)];
  return [customMetricsApi, externalMetricsApi].flatMap((api) => apiChecks(api, view));
}

function apiChecks(api: MetricsApi, view: ClusterView): Check[] {
  const present = itemsOf(view.apiServices).filter(({ metadata }) => api.apiServices.includes(metadata.name ?? ''));
  const group = api.apiServices[0]!.replace(/^[^.]+\./, '');
  if (present.length === 0)
    return [about('metricsApis', group)('note', 'it is not registered', `the operator's flag ${api.flag} decides`)];
  return present.map((object: ApiServiceObject): Check => {
    const subject = object.metadata.name ?? '';
    const is = about('metricsApis', subject);
    const { service } = object.spec ?? {};
    const available = conditionOf(object, 'Available');
    if (!isOurs(view.namespace, object)) {
      const owner = service ? `${service.namespace ?? ''}/${service.name ?? ''}` : 'the API server itself';
      const hint = `nothing to do, if this is intended; the operator's flag ${api.flag}=force takes it over`;
      return is('note', `belongs to ${owner}`, hint);
    }
    if (available?.status === 'True') return is('ok', 'ours, answers');
    const why = available?.message ?? 'the aggregator has not asked it yet';
    const hint = `kubectl describe apiservice ${subject}; see Query servers`;
    return is(available ? 'bad' : 'progressing', `ours, does not answer: ${why}`, hint);
  });
}
