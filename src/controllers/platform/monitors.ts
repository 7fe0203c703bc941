import type { KubeObject } from '../../api/meta.ts';
import { getIfExists, isNotFound } from '../../kube/index.ts';
import { keyOf, ownsExactly, type Informer, type ReconcileContext } from '../../runtime/index.ts';
import { renderedKinds, type PlatformInput } from '../../render/index.ts';

const { PodMonitor, ServiceMonitor } = renderedKinds;

/** Which kinds of the Prometheus Operator the cluster serves now, by the CRDs that it has. */
export function servedMonitors(crds: Informer): NonNullable<PlatformInput['monitors']> | undefined {
  const has = ({ plural, group }: typeof PodMonitor) => crds.get({ name: `${plural}.${group}` }) !== undefined;
  const [pod, service] = [has(PodMonitor), has(ServiceMonitor)];
  return pod || service ? { pod, service } : undefined;
}

export const isMonitor = ({ kind }: KubeObject): boolean => kind === PodMonitor.kind || kind === ServiceMonitor.kind;

/**
 * Applies monitors. They are read each time instead of watched: their kinds come and go with somebody else's product,
 * and a watch on a kind that is gone would make the operator look sick.
 */
export async function applyMonitors(
  monitors: readonly KubeObject[],
  fieldManager: string,
  { client, signal, logger }: ReconcileContext,
): Promise<void> {
  for (const object of monitors) {
    const resource = object.kind === PodMonitor.kind ? PodMonitor : ServiceMonitor;
    try {
      const live = await getIfExists<KubeObject>(client, resource, keyOf(object), { signal });
      if (live && ownsExactly(live, object, fieldManager)) continue;
      await client.apply(resource, object, { fieldManager, force: true, signal });
    } catch (error) {
      // The CRD went away in between: there is nobody left to read a monitor.
      if (!isNotFound(error)) throw error;
      logger.info('monitor not applied, its kind is gone', { object: object.metadata.name });
    }
  }
}
