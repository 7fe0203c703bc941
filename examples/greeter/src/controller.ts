import {
  ApplySet,
  conflictText,
  coreResources,
  generationChanged,
  mergeConditions,
  progressConditions,
  StatusWriter,
  throwFailures,
  type ApplyOutcome,
  type ControllerEnvironment,
  type ControllerHandle,
  type KubeObject,
} from 'svc-operator/runtime';
import { greeters, type Greeter } from './kind.ts';

const label = 'app.kubernetes.io/managed-by';

/** What must exist for a Greeter. Pure: the tests of this function need no server. */
export function planGreeter({ metadata, spec }: Greeter): KubeObject[] {
  const namespace = metadata.namespace ?? 'default';
  return spec.audiences.map((audience) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `${metadata.name}-${audience}`, namespace, labels: { [label]: 'greeter' } },
    data: { text: `${spec.greeting}, ${audience}!` },
  }));
}

/** The conditions that tell how the apply went, kstatus-style. Pure. */
export function statusOf(greeter: Greeter, outcome: ApplyOutcome, now: number): object {
  const generation = greeter.metadata.generation ?? 0;
  const [failure] = outcome.failures;
  const message = failure ? `${failure.object}: ${conflictText(failure.error)}` : 'every audience is greeted';
  const reason = outcome.conflicts.length > 0 ? 'Conflict' : failure ? 'ApplyFailed' : 'Greeted';
  const conditions = [
    { type: 'Ready', status: failure ? ('False' as const) : ('True' as const), reason, message },
    ...progressConditions({ stalled: failure ? { reason, message } : undefined }),
  ];
  return {
    observedGeneration: generation,
    conditions: mergeConditions(greeter.status?.conditions, conditions, { generation, now }),
  };
}

/** Registers the controller. Does no I/O: the manager starts it. */
export function setupGreeter(env: ControllerEnvironment): ControllerHandle {
  const informer = env.cache.informer<Greeter>({ resource: greeters });
  const children = env.cache.informer({ resource: coreResources.configMaps, labelSelector: `${label}=greeter` });
  const identity = { fieldManager: 'greeter-operator/greeter', controller: 'greeter' };
  const set = new ApplySet({ ...identity, client: env.client, metrics: env.metrics, children: [children] });
  const status = new StatusWriter({ ...identity, client: env.client, informer });
  return env.addController({
    name: identity.controller,
    for: { source: informer.source, predicates: [generationChanged] },
    owns: [{ source: children.source }],
    concurrency: 2,
    async reconcile({ key, clock, logger, signal }) {
      const greeter = informer.get(key);
      if (!greeter || greeter.metadata.deletionTimestamp) return; // gone: the owner references clean up
      const owner = { object: greeter, resource: greeters };
      const outcome = await set.tryApply({ wanted: planGreeter(greeter), owner, logger, signal });
      await status.write(greeter, statusOf(greeter, outcome, clock.now()), { signal });
      throwFailures(outcome); // retried with back-off
    },
  });
}
