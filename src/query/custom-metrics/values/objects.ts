import type { KubeObject } from '../../../api/meta.ts';
import type { Clock } from '../../../base/clock.ts';
import { RecentAnswers } from '../../../base/recent-answers.ts';
import { listAll, type KubeClient } from '../../../kube/index.ts';
import type { Informer } from '../../../runtime/index.ts';
import { matchesLabels, parseLabelSelector } from '../label-selector.ts';
import type { DescribedResource } from '../../../api/described-resources.ts';

export interface ObjectLookupOptions {
  readonly client: Pick<KubeClient, 'list'>;
  readonly clock: Clock;
  /** Metadata of every pod. */
  readonly pods: Pick<Informer, 'synced' | 'list' | 'byIndex'>;
}

const freshMs = 5_000;
const deadlineMs = 5_000;
const maxKept = 1_000;

/** Name of the pods' index by namespace. */
export const podsByNamespace = 'namespace';

/**
 * The objects that a label selector matches: pods come from our own watch, other kinds from lists of the API server,
 * which are cached for seconds.
 */
export class ObjectLookup {
  readonly #options: ObjectLookupOptions;
  readonly #lists: RecentAnswers<string[]>;

  constructor(options: ObjectLookupOptions) {
    this.#options = options;
    this.#lists = new RecentAnswers({ clock: options.clock, keptMs: freshMs, most: maxKept });
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
    const options = { namespace, labelSelector, metadataOnly: true, deadlineMs };
    return this.#lists.get([resource.name, namespace ?? '', labelSelector].join(' '), async () => {
      const { items } = await listAll(this.#options.client as KubeClient, resource.ref, options);
      return items.map(nameOf);
    });
  }
}

const nameOf = (object: KubeObject): string => object.metadata.name ?? '';
