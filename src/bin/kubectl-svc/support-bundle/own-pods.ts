import { containersOf } from '../../../api/statuses.ts';
import { ports } from '../../../render/names.ts';
import { itemsOf, type ClusterView } from '../cluster/view.ts';
import { isReadyPod, type PodWithStatus } from '../cluster/pod-fault.ts';

/** A pod of the product. */
export interface OwnPod {
  readonly namespace: string;
  readonly name: string;
  readonly component: string;
  readonly pod: PodWithStatus;
}

const nameLabel = 'app.kubernetes.io/name';
const componentLabel = 'app.kubernetes.io/component';

/**
 * The pods of operator, query servers, minters and agents, in this order; in each group, unready pods come first. Pure.
 */
export function ownPods(view: ClusterView): OwnPod[] {
  const seen = new Set<string>();
  return [...itemsOf(view.ownPods), ...itemsOf(view.pods)]
    .flatMap((pod): OwnPod[] => {
      const { namespace = '', name = '', labels = {} } = pod.metadata;
      const path = `${namespace}/${name}`;
      if (labels[nameLabel] !== 'svc-operator' || seen.has(path)) return [];
      seen.add(path);
      return [{ namespace, name, component: labels[componentLabel] ?? 'other', pod }];
    })
    .toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}

const order = ['controller', 'query', 'minter', 'agent'];

function rank({ component, pod }: OwnPod): number {
  const at = order.indexOf(component);
  return (at < 0 ? order.length : at) * 2 + (isReadyPod(pod) ? 1 : 0);
}

/** Where each component serves its own metrics, over plain HTTP. */
export const metricsPorts: Readonly<Record<string, number | undefined>> = {
  controller: ports.controllerMetrics,
  query: ports.queryHealth,
  minter: ports.minterAdmin,
  agent: ports.scrape,
};

/** Containers of a pod, and whether each was restarted, so that it has a previous log. Pure. */
export function loggedContainers({ spec, status }: PodWithStatus): { name: string; restarted: boolean }[] {
  const { containers = [], initContainers = [] } = (spec ?? {}) as Record<string, { name: string }[] | undefined>;
  const statuses = containersOf(status);
  return [...initContainers, ...containers].map(({ name }) => {
    const of = statuses.find((s) => s.name === name);
    return { name, restarted: of?.lastState?.terminated !== undefined || (of?.restartCount ?? 0) > 0 };
  });
}
