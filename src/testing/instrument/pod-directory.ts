import type { KubeObject } from '../../api/meta.ts';
import { systemClock } from '../../base/clock.ts';
import { within } from '../../base/time-limit.ts';
import type { KubeClient } from '../../kube/client.ts';
import { resourceRef } from '../../api/meta.ts';

const pods = resourceRef({ group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true });
const replicaSets = resourceRef({
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  plural: 'replicasets',
  namespaced: true,
});

/** The facts about a pod, like those in the informer of the real instrument. */
export interface PodFacts {
  readonly uid: string;
  readonly namespace: string;
  readonly node: string;
  readonly startTime: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The names of the pod's owners, nearest first. Each key is a selector's field for such owners: `k8s_job_name`. */
  readonly owners: Readonly<Record<string, string>>;
}

const ownerFields: Readonly<Record<string, string>> = {
  Deployment: 'k8s_deployment_name',
  ReplicaSet: 'k8s_replicaset_name',
  StatefulSet: 'k8s_statefulset_name',
  DaemonSet: 'k8s_daemonset_name',
  Job: 'k8s_job_name',
  CronJob: 'k8s_cronjob_name',
};

const reuseMs = 30_000;
const missReuseMs = 2_000;

/** Looks pods and their owners up at the API server. The facts of a pod are cached for 30 s, a miss for 2 s. */
export class PodDirectory {
  readonly #client: Pick<KubeClient, 'list'>;
  readonly #now: () => number;
  readonly #cache = new Map<string, { until: number; facts: Promise<PodFacts | null> }>();

  constructor(client: Pick<KubeClient, 'list'>, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  /**
   * Facts of a pod; null for a pod that the API server does not know. When the API server does not answer: the last
   * known facts, else null. With an empty namespace, the pod is found by its name only.
   */
  find(namespace: string, pod: string): Promise<PodFacts | null> {
    const key = `${namespace}/${pod}`;
    const cached = this.#cache.get(key);
    if (cached && cached.until > this.#now()) return cached.facts;
    const entry = {
      until: this.#now() + reuseMs,
      facts: this.#read(namespace, pod).catch(() => cached?.facts ?? null),
    };
    this.#cache.set(key, entry);
    void entry.facts.then((facts) => {
      if (!facts) entry.until = this.#now() + missReuseMs;
    });
    return entry.facts;
  }

  async #read(namespace: string, name: string): Promise<PodFacts | null> {
    const pod = await this.#get(pods, namespace, name);
    if (!pod) return null;
    namespace = pod.metadata.namespace ?? '';
    const owners: Record<string, string> = {};
    const owner = note(owners, pod);
    if (owner?.kind === 'ReplicaSet') {
      const parent = await this.#get(replicaSets, namespace, owner.name);
      if (parent) note(owners, parent);
    }
    // An instrument has no right to read Jobs, so the CronJob is derived from the Job's name, which consists of the
    // CronJob's name and the minute.
    const cronJob = owner?.kind === 'Job' ? /^(.+)-[0-9]{8,}$/.exec(owner.name)?.[1] : undefined;
    if (cronJob !== undefined) owners['k8s_cronjob_name'] = cronJob;
    const status = pod['status'] as { startTime?: string } | undefined;
    return {
      uid: pod.metadata.uid ?? '',
      namespace,
      node: (pod['spec'] as { nodeName?: string } | undefined)?.nodeName ?? '',
      startTime: status?.startTime ?? '',
      labels: pod.metadata.labels ?? {},
      owners,
    };
  }

  /** Reads by a list request, because an instrument may only list and watch. */
  async #get(resource: typeof pods, namespace: string, name: string): Promise<KubeObject | null> {
    const at = namespace === '' ? {} : { namespace };
    const fieldSelector = `metadata.name=${name}`;
    const { items } = await within(systemClock, 5_000, (signal) =>
      this.#client.list(resource, { ...at, fieldSelector, signal }),
    );
    return items[0] ?? null;
  }
}

/** Adds the controlling owner of `object` to `owners`, under the selector field of the owner's kind. */
function note(owners: Record<string, string>, object: KubeObject): { kind: string; name: string } | undefined {
  const owner = object.metadata.ownerReferences?.find((o) => o.controller);
  const field = owner && ownerFields[owner.kind];
  if (field) owners[field] = owner.name;
  return owner;
}
