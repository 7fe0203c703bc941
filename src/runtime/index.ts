/**
 * The reconcile framework. It knows none of our kinds and reaches the API server only through `KubeClient`.
 *
 * Vocabulary: a **source** is one list-and-watch; its **informer** is the cache of its objects, shared by all users of
 * equal sources. A **controller** turns events of sources into **keys** in a work queue and calls `reconcile` with
 * one key at a time. A reconcile is level-triggered: it gets a name, never an event. It reads the cache, plans with a
 * pure function, applies the plan and writes the status. A second run must change nothing.
 *
 * How a controller is written:
 *
 * ```ts
 * import { ApplySet, labelsChanged, StatusWriter, toAll, type ControllerEnvironment } from '../../runtime/index.ts';
 *
 * export function setupGreeter(env: ControllerEnvironment): ControllerHandle {
 *   // 1. Name the sources before the manager runs. Equal sources give the same informer.
 *   const greeters = env.cache.informer<Greeter>({ resource: greeterResource });
 *   const configMaps = { resource: coreResources.configMaps, labelSelector: 'app.kubernetes.io/managed-by=greeter' };
 *   const namespaces = { resource: coreResources.namespaces, metadataOnly: true };
 *
 *   return env.addController({
 *     name: 'greeter',                               // field manager: <component>/greeter
 *     for: { source: greeters.source },              // an event of a Greeter enqueues it
 *     owns: [{ source: configMaps }],                // a child that drifts enqueues its owner
 *     watches: [{ source: namespaces, map: toAll(greeters), predicates: [labelsChanged] }],
 *     async reconcile({ key, client, clock, logger, signal }) {
 *       const greeter = greeters.get(key);           // 2. read the cache; objects are shared, never change them
 *       if (!greeter || greeter.metadata.deletionTimestamp) return;   // gone: owner references clean up
 *       const plan = planGreeter(greeter);           // 3. decide, purely
 *       // 4. Write what differs, prune the rest; both need no request when nothing differs.
 *       await applySet.apply({ owner: { object: greeter, resource }, wanted: plan.children, logger, signal });
 *       await statusWriter.write(greeter, plan.status, { signal });   // 5. conditions through mergeConditions()
 *       return { requeueAfterMs: plan.ready ? undefined : 60_000 };
 *     },
 *   });
 * }
 * ```
 *
 * - To fail, throw: the key is retried with backoff (5 ms doubling to 5 min). After a `TerminalError` the key waits for
 *   the next event. `RequeueError(after)` and `{ requeueAfterMs }` run it again after a delay, without a failure.
 * - To enqueue a key from outside a watch (a callback, a timer): `handle.trigger(key)`.
 * - To run a loop outside of the controllers: `env.addRunnable({ name, needsLeader: true, run(signal) {…} })`.
 * - People see `env.events.record(object, { type, reason, message })` in `kubectl describe`.
 * - Tests: `src/testing` is the kit. `FakeApiServer` is an API server on loopback that misbehaves as scripted;
 *   `runController(reconciler, objects, script)` drives controllers on it with a fake clock.
 * - A full walk-through with a working program: `docs/guides/write-a-controller.md` and `examples/greeter`.
 */
export type * from './types.ts';
export { RequeueError, TerminalError } from './control/result.ts';
export { keyOf, keyText, parseKey } from './keys.ts';
export {
  conditionTransitions,
  findCondition,
  isTrue,
  mergeConditions,
  progressConditions,
  rfc3339,
  summarizeReady,
  type ConditionInput,
} from './apply/conditions.ts';
export * from './control/predicates.ts';
export { toAll, toIndexed, toKey, toOwner, toSelf } from './control/mappers.ts';
export { Manager, type ManagerOptions } from './control/manager.ts';
export { preferMemoryToSpeed } from './memory.ts';
export { RuntimeMetrics, type RuntimeMetricsOptions } from './metrics.ts';
export { oneObject } from './watch/one-object.ts';
export { SharedCache } from './watch/shared-cache.ts';
export {
  ApplySet,
  conflictText,
  throwFailures,
  type ApplyFailure,
  type ApplyOutcome,
  type ApplyRequest,
} from './apply/apply-set.ts';
export { controllerReference, type Owner } from './apply/owner.ts';
export { StatusWriter } from './apply/status-writer.ts';
export { handleFinalizer, patchFinalizers, runCleanups } from './apply/finalizer.ts';
export { Health, healthText, type CheckReport } from './health.ts';
export { probeHandler, type ProbeParts } from './probes.ts';
export { openTracing, SpanPerRun, type RunAttributes, type RunSpan, type RunTracer, type Tracing } from './tracing.ts';
export { microTime } from './micro-time.ts';
export { ownsExactly } from './apply/managed-fields.ts';
