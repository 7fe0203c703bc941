import type { KubeObject } from '../../api/meta.ts';
import { isMethodNotAllowed, isNotFound } from '../../kube/index.ts';
import type { ApplyRequest, ApplySet, Informer, Source } from '../../runtime/index.ts';
import { renderedKinds, type PlatformInput } from '../../render/index.ts';

const { PodMonitor, ServiceMonitor } = renderedKinds;

/** Where monitors are watched. Their kinds belong to another product and may come and go. */
export const monitorSources = (namespace: string, labelSelector: string): Source[] =>
  [PodMonitor, ServiceMonitor].map((resource) => ({ resource, namespace, labelSelector, optional: true }));

/** The kinds of the Prometheus Operator that the cluster serves or is about to serve, by its CRDs. */
export function servedMonitors(crds: Informer): NonNullable<PlatformInput['monitors']> | undefined {
  const has = ({ plural, group }: typeof PodMonitor): boolean => {
    const crd = crds.get({ name: `${plural}.${group}` });
    return crd !== undefined && crd.metadata.deletionTimestamp === undefined;
  };
  const [pod, service] = [has(PodMonitor), has(ServiceMonitor)];
  return pod || service ? { pod, service } : undefined;
}

export const isMonitor = ({ kind }: KubeObject): boolean => kind === PodMonitor.kind || kind === ServiceMonitor.kind;

/**
 * Applies monitors. None is pruned, because they are removed with their kinds.
 * Errors: the first of an apply, except for a kind that was removed in the meantime: no reader of its monitor is left.
 */
export async function applyMonitors(set: ApplySet, request: Omit<ApplyRequest, 'belongs'>): Promise<void> {
  const { failures } = await set.tryApply({ ...request, belongs: () => false });
  for (const { object, error } of failures) {
    if (!isNotFound(error) && !isMethodNotAllowed(error)) throw error;
    request.logger.info('monitor not applied, its kind is gone', { object });
  }
}
