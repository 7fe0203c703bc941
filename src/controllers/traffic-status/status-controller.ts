import type { Condition, KubeObject } from '../../api/meta.ts';
import type { CompileResult } from '../../capture/index.ts';
import {
  findCondition,
  generationChanged,
  keyText,
  mergeConditions,
  StatusWriter,
  type ConditionInput,
  type ControllerEnvironment,
  type ControllerHandle,
  type EventRecorder,
  type Informer,
  type ObjectKey,
} from '../../runtime/index.ts';
import { fieldManagerOf } from '../apply-set.ts';
import type { CaptureHub } from '../capture/hub.ts';
import type { NodeState } from '../capture/node-state.ts';
import { PacedStatus, type PacedStatusOptions } from '../capture/paced-status.ts';

/** What the compilation of the nodes' capture configs found for one object. */
interface Outcome {
  readonly uid: string;
  readonly generation: number;
  /** The nodes that the object concerns. */
  readonly nodes: readonly string[];
}

interface Status {
  conditions?: Condition[];
}

export interface StatusControllerSpec<T extends KubeObject, O extends Outcome> {
  readonly name: string;
  readonly informer: Informer<T>;
  /** The condition types, with the good status of each. */
  readonly conditions: Readonly<Record<string, { readonly good: 'True' | 'False' }>>;
  /** Condition types whose change becomes an Event. */
  readonly eventConditions: readonly string[];
  readonly concurrency?: number;
  /** The status is computed again after this time. Units: ms. */
  readonly recheckMs: number;
  readonly outcome: (result: CompileResult, key: ObjectKey) => O | undefined;
  readonly status: (object: T, outcome: O, nodes: readonly NodeState[], now: number) => Status;
}

/** Interval of checks for a compilation that includes the newest generation of an object. Units: ms. */
const compileWaitMs = 1_000;

/**
 * Writes the statuses of one kind from what the capture loop found: the outcome of the compile, and the nodes' states.
 * Flow: an event of the object, or a change in the hub (what the capture loop knows) → the hub's outcome for exactly
 * this generation → status.
 * Guarantees: `Ready` exists from the first write on; `PacedStatus` decides how often a status is written.
 */
export function addStatusController<T extends KubeObject & { status?: Status }, O extends Outcome>(
  env: ControllerEnvironment,
  hub: CaptureHub,
  spec: StatusControllerSpec<T, O>,
): ControllerHandle {
  const { name, informer } = spec;
  const fieldManager = fieldManagerOf(name);
  const paced = new PacedStatus<T>({
    clock: env.clock,
    writer: new StatusWriter({ client: env.client, fieldManager, informer }),
    announce: conditionEvents(env.events, spec),
  });
  return env.addController({
    name,
    for: { source: informer.source, predicates: [generationChanged] },
    ...(spec.concurrency === undefined ? {} : { concurrency: spec.concurrency }),
    async reconcile({ key, signal, clock }) {
      const object = informer.get(key);
      if (!object || object.metadata.deletionTimestamp) {
        paced.forget(keyText(key));
        return undefined;
      }
      const outcome = hub.result ? spec.outcome(hub.result, key) : undefined;
      if (!outcome || outcome.generation !== object.metadata.generation || outcome.uid !== object.metadata.uid) {
        if (!findCondition(object.status?.conditions, 'Ready')) {
          const why = hub.compileError ?? 'the controller has not judged this object yet';
          await paced.writeFirst(object, pendingStatus(object, clock.now(), why), signal);
        }
        return { requeueAfterMs: compileWaitMs };
      }
      const nodes = outcome.nodes.flatMap((node) => hub.nodes.get(node) ?? []);
      const { waitMs } = await paced.write(object, () => spec.status(object, outcome, nodes, clock.now()), signal);
      return { requeueAfterMs: waitMs ?? spec.recheckMs };
    },
  });
}

/** The status before the first compile. Without a `Ready` condition, tools would consider the object ready. */
function pendingStatus<S extends { conditions?: Condition[] }>(
  object: { metadata: { generation?: number }; status?: S },
  now: number,
  reason: string,
): S & { observedGeneration: number; conditions: Condition[] } {
  const generation = object.metadata.generation ?? 0;
  const ready: ConditionInput = { type: 'Ready', status: 'Unknown', reason: 'Pending', message: reason };
  return {
    ...(object.status as S),
    observedGeneration: generation,
    conditions: mergeConditions(object.status?.conditions, [ready], { generation, now }),
  };
}

/** An Event for each listed condition whose status or reason changed. */
function conditionEvents<T extends KubeObject>(
  events: EventRecorder,
  { eventConditions, conditions: known }: Pick<StatusControllerSpec<T, Outcome>, 'eventConditions' | 'conditions'>,
): PacedStatusOptions<T>['announce'] {
  return (object, before, conditions) => {
    for (const type of eventConditions) {
      const [old, next] = [findCondition(before, type), findCondition(conditions, type)];
      if (!next || next.status === 'Unknown' || (old?.status === next.status && old.reason === next.reason)) continue;
      const good = next.status === known[type]?.good;
      // The first status of a healthy object is not an Event.
      if (!old && good) continue;
      events.record(object, {
        type: good || quiet.includes(next.reason) ? 'Normal' : 'Warning',
        reason: next.reason,
        message: next.message || `${type} is ${next.status}`,
      });
    }
  };
}

/** Reasons that are no faults: something is on its way, or somebody wants it so. */
const quiet: readonly string[] = [
  'RollingOut',
  'RestartsLimited',
  'RestartBackOff',
  'NoTraffic',
  'NoMatchingPods',
  'Excluded',
];
