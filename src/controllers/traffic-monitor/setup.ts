import type { KubeObject } from '../../api/meta.ts';
import { trafficMonitorConditions, trafficMonitors, type TrafficMonitor } from '../../api/v1alpha1/index.ts';
import {
  findCondition,
  generationChanged,
  keyOf,
  keyText,
  StatusWriter,
  type ControllerEnvironment,
  type ControllerHandle,
} from '../../runtime/index.ts';
import type { CaptureHub } from '../capture/hub.ts';
import { conditionEvents, PacedStatus, pendingStatus } from '../capture/paced-status.ts';
import { eventConditions, monitorStatus } from './status.ts';

type MonitorObject = TrafficMonitor & KubeObject;

/** Time changes a status too (samples age): check again after this. Units: ms. */
const recheckMs = 30_000;
/** When to check again for a compile that includes the newest generation. Units: ms. */
const compileWaitMs = 1_000;

/**
 * Writes the status of TrafficMonitors: the outcome of the compile for each, and the state of its nodes.
 * Flow: an event of the object, or a change in the hub → the hub's outcome for exactly this generation → status.
 * Guarantees: `Ready` exists from the first write on; see `PacedStatus` for how often.
 */
export function setupTrafficMonitors(
  env: ControllerEnvironment,
  hub: CaptureHub,
  operatorNamespace: string,
): ControllerHandle {
  const monitors = env.cache.informer<MonitorObject>({ resource: trafficMonitors });
  const fieldManager = 'svc-controller/traffic-monitor';
  const paced = new PacedStatus<MonitorObject>({
    clock: env.clock,
    writer: new StatusWriter({ client: env.client, fieldManager, informer: monitors }),
    announce: conditionEvents({
      events: env.events,
      eventConditions,
      good: (type) => trafficMonitorConditions[type as keyof typeof trafficMonitorConditions].good,
    }),
  });
  const handle = env.addController({
    name: 'traffic-monitor',
    for: { source: monitors.source, predicates: [generationChanged] },
    concurrency: 4,
    async reconcile({ key, signal, clock }) {
      const object = monitors.get(key);
      if (!object || object.metadata.deletionTimestamp) {
        paced.forget(keyText(key));
        return undefined;
      }
      const outcome = hub.result?.monitors.get(`${key.namespace ?? ''}/${key.name}`);
      if (!outcome || outcome.generation !== object.metadata.generation || outcome.uid !== object.metadata.uid) {
        if (!findCondition(object.status?.conditions, 'Ready')) {
          const why = hub.compileError ?? 'the controller has not judged this object yet';
          await paced.writeFirst(object, pendingStatus(object, clock.now(), why), signal);
        }
        return { requeueAfterMs: compileWaitMs };
      }
      const nodes = outcome.nodes.flatMap((name) => hub.nodes.get(name) ?? []);
      const { waitMs } = await paced.write(
        object,
        monitorStatus({
          object,
          outcome,
          nodes,
          now: clock.now(),
          operatorNamespace,
          secretAbsence: (ref) => hub.secretAbsence(ref),
        }),
        signal,
      );
      return { requeueAfterMs: waitMs ?? recheckMs };
    },
  });
  hub.onChange((change) => {
    for (const monitor of monitors.list()) {
      const path = `${monitor.metadata.namespace}/${monitor.metadata.name}`;
      const nodes = hub.result?.monitors.get(path)?.nodes ?? [];
      if (change.monitors.has(path) || nodes.some((node) => change.nodes.has(node))) handle.trigger(keyOf(monitor));
    }
  });
  return handle;
}
