import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { coreResources, type KubeClient } from '../../kube/index.ts';
import { SharedCache } from '../../runtime/index.ts';
import { podIdentity, slimPod } from './pod-identity.ts';
import type { PodIndex } from './pod-index.ts';

/** How often pods that went are let go of. Units: ms. */
const sweepMs = 10_000;
/** How often it is asked whether the first list has come. Units: ms. */
const firstLookMs = 50;

/**
 * Keeps the index of this node's pods for as long as `signal` lives.
 * Guarantees: resolves once all pods of the node are known, or `signal` aborted. Without an API server the index stays
 * empty and is tried for again with backoff, and one that goes away leaves it as it was.
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
    else pods.upsert(pod);
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
