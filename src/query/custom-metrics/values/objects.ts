import type { KubeObject } from '../../../api/meta.ts';
import type { Clock } from '../../../base/clock.ts';
import { listAll, type KubeClient } from '../../../kube/index.ts';
import type { Informer } from '../../../runtime/index.ts';
import { matchesLabels, parseLabelSelector } from '../label-selector.ts';
import type { DescribedResource } from '../resources.ts';

export interface ObjectLookupOptions {
  readonly client: Pick<KubeClient, 'list'>;
  readonly clock: Clock;
  /** Metadata of every pod. */
  readonly pods: Pick<Informer, 'synced' | 'list' | 'byIndex'>;
}

const freshMs = 5_000;
const deadlineMs = 5_000;

/** Name of the pods' index by namespace. */
export const podsByNamespace = 'namespace';

/**
 * The objects that a label selector matches: pods from our own watch, others from the API server, cached for seconds.
 */
export class ObjectLookup {
  readonly #options: ObjectLookupOptions;
  readonly #kept = new Map<string, { until: number; names: Promise<string[]> }>();

  constructor(options: ObjectLookupOptions) {
    this.#options = options;
  }

  /** False while the list of pods is not complete. */
  get ready(): boolean {
    return this.#options.pods.synced;
  }

  /** Errors: ERR_INPUT_INVALID for a selector that cannot be parsed; the error of a list that failed. */
  async names(resource: DescribedResource, namespace: string | undefined, labelSelector: string): Promise<string[]> {
    const requirements = parseLabelSelector(labelSelector, 'labelSelector');
    if (resource.name === 'pods') {
      return this.#options.pods
        .byIndex(podsByNamespace, namespace ?? '')
        .filter((pod) => matchesLabels(requirements, pod.metadata.labels))
        .map(nameOf);
    }
    return this.#listed(resource, namespace, labelSelector);
  }

  #listed(resource: DescribedResource, namespace: string | undefined, labelSelector: string): Promise<string[]> {
    const now = this.#options.clock.monotonic();
    for (const [key, { until }] of this.#kept) if (until <= now) this.#kept.delete(key);
    const key = [resource.name, namespace ?? '', labelSelector].join(' ');
    const kept = this.#kept.get(key);
    if (kept) return kept.names;
    const options = { namespace, labelSelector, metadataOnly: true, deadlineMs };
    const names = listAll(this.#options.client as KubeClient, resource.ref, options).then(({ items }) =>
      items.map(nameOf),
    );
    this.#kept.set(key, { until: now + freshMs, names });
    names.catch(() => this.#kept.delete(key));
    return names;
  }
}

const nameOf = (object: KubeObject): string => object.metadata.name ?? '';
