import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { coreResources, type KubeClient } from '../../kube/index.ts';
import { SharedCache } from '../../runtime/index.ts';
import { podIdentity, slimPod } from './pod-identity.ts';
import type { PodIndex } from './pod-index.ts';

/** How often deleted pods are removed from the index. Units: ms. */
const sweepMs = 10_000;
/** How often to check whether the first list has arrived. Units: ms. */
const firstLookMs = 50;

/**
 * Keeps the index of this node's pods up to date until `signal` aborts.
 * Guarantees: resolves once all pods of the node are known, or `signal` has aborted. Without an API server the index
 * stays empty and the list is retried with back-off; when the API server goes away later, the index stays as it is.
 */
export function watchPods(options: {
  readonly node: string;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pods: PodIndex;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { node, client, clock, logger, pods, signal } = options;
  const cache = new SharedCache({ client, clock, logger });
  const informer = cache.informer({
    resource: coreResources.pods,
    fieldSelector: `spec.nodeName=${node}`,
    transform: { name: 'agent-identity', apply: slimPod },
  });
  informer.onEvent(({ type, object }) => {
    const pod = podIdentity(object);
    if (type === 'deleted') pods.deleted(pod, clock.monotonic());
    else pods.upsert(pod, clock.monotonic());
  });
  cache.start(signal);
  const known = Promise.withResolvers<void>();
  const sweep = (): void => {
    if (signal.aborted) return;
    if (informer.synced) {
      pods.markSynced();
      known.resolve();
    }
    pods.sweep(clock.monotonic());
    cancel = clock.setTimeout(sweep, pods.synced ? sweepMs : firstLookMs);
  };
  let cancel = clock.setTimeout(sweep, 0);
  const end = (): void => {
    cancel();
    known.resolve();
  };
  signal.addEventListener('abort', end, { once: true });
  return known.promise;
}
