import type { KubeObject } from '../../../api/meta.ts';
import { clusterTrafficPolicies, minterDeployments, trafficMonitors } from '../../../api/v1alpha1/index.ts';
import {
  customMetricsApi,
  externalMetricsApi,
  isOurs,
  type ApiServiceObject,
  type MetricsApi,
} from '../../../controllers/platform/metrics-apis.ts';
import { itemsOf, type ClusterView } from '../cluster/view.ts';
import { unread, type Check } from './check.ts';

interface CrdStatus {
  conditions?: { type: string; status: string; reason?: string; message?: string }[] | null;
}

/** Whether the API server serves our kinds. */
export function crdChecks({ crds }: ClusterView): Check[] {
  if (crds.fault !== undefined) return [unread('api', 'customresourcedefinitions', crds.fault)];
  return [trafficMonitors, clusterTrafficPolicies, minterDeployments].map(({ plural, group, version }) => {
    const subject = `${plural}.${group}`;
    const crd = crds.items.find(({ metadata }) => metadata.name === subject);
    const hint = 'kubectl apply --server-side -f crds/, or install again';
    if (!crd) return { section: 'api', subject, state: 'bad', text: 'not there', hint };
    const { versions = [] } = (crd['spec'] ?? {}) as { versions?: { name: string; served: boolean }[] };
    const { conditions } = (crd['status'] ?? {}) as CrdStatus;
    const served = versions.filter((v) => v.served).map((v) => v.name);
    const refused = conditions?.find((c) => c.type === 'NamesAccepted' && c.status === 'False');
    const established = conditions?.some((c) => c.type === 'Established' && c.status === 'True');
    if (!established) {
      return {
        section: 'api',
        subject,
        state: 'bad',
        text: refused?.message ?? 'not established',
        hint: `kubectl describe crd ${subject}`,
      };
    }
    if (!served.includes(version)) {
      return {
        section: 'api',
        subject,
        state: 'bad',
        text: `${version} is not served, only ${served.join(', ')}`,
        hint,
      };
    }
    return { section: 'api', subject, state: 'ok', text: `serves ${served.join(', ')}` };
  });
}

/**
 * The servers of the autoscalers' APIs. Another product's server is left alone and is not a fault; one of ours must
 * answer.
 */
export function metricsApiChecks(view: ClusterView): Check[] {
  if (view.apiServices.fault !== undefined) return [unread('metricsApis', 'apiservices', view.apiServices.fault)];
  return [customMetricsApi, externalMetricsApi].flatMap((api) => apiChecks(api, view));
}

function apiChecks(api: MetricsApi, view: ClusterView): Check[] {
  const section = 'metricsApis' as const;
  const present = itemsOf(view.apiServices).filter(({ metadata }) => api.apiServices.includes(metadata.name ?? ''));
  const group = api.apiServices[0]!.replace(/^[^.]+\./, '');
  if (present.length === 0) {
    return [
      {
        section,
        subject: group,
        state: 'note',
        text: 'it is not registered',
        hint: `the operator's flag ${api.flag} decides`,
      },
    ];
  }
  return present.map((object): Check => {
    const subject = object.metadata.name ?? '';
    const { service } = (object as ApiServiceObject).spec ?? {};
    const available = (object as ApiServiceObject).status?.conditions?.find((c) => c.type === 'Available');
    const ours = isOurs(view.namespace, object as ApiServiceObject & KubeObject);
    if (!ours) {
      const owner = service ? `${service.namespace ?? ''}/${service.name ?? ''}` : 'the API server itself';
      const hint = `nothing, where that is meant; the operator's flag ${api.flag}=force takes it over`;
      return { section, subject, state: 'note', text: `belongs to ${owner}`, hint };
    }
    if (available?.status === 'True') return { section, subject, state: 'ok', text: 'ours, answers' };
    const why = available?.message ?? 'the aggregator has not asked it yet';
    const state = available ? 'bad' : 'progressing';
    return {
      section,
      subject,
      state,
      text: `ours, does not answer: ${why}`,
      hint: `kubectl describe apiservice ${subject}; see Query servers`,
    };
  });
}
