import type { KubeObject } from '../../api/meta.ts';
import { trafficMonitorConditions, trafficMonitors, type TrafficMonitor } from '../../api/v1alpha1/index.ts';
import { keyOf, type ControllerEnvironment, type ControllerHandle } from '../../runtime/index.ts';
import type { CaptureHub } from '../capture/hub.ts';
import { eventConditions, monitorStatus } from './monitor-status.ts';
import { addStatusController } from './status-controller.ts';

/** A status also changes with time, because samples age: it is computed again after this time. Units: ms. */
const recheckMs = 30_000;

/**
 * Writes the status of each TrafficMonitor: what the compilation of configs found for it, and the state of its nodes.
 */
export function setupTrafficMonitors(
  env: ControllerEnvironment,
  hub: CaptureHub,
  operatorNamespace: string,
): ControllerHandle {
  const monitors = env.cache.informer<TrafficMonitor & KubeObject>({ resource: trafficMonitors });
  const handle = addStatusController(env, hub, {
    name: 'traffic-monitor',
    informer: monitors,
    conditions: trafficMonitorConditions,
    eventConditions,
    concurrency: 4,
    recheckMs,
    outcome: (result, { namespace, name }) => result.monitors.get(`${namespace ?? ''}/${name}`),
    status: (object, outcome, nodes, now) =>
      monitorStatus({
        object,
        outcome,
        nodes,
        now,
        operatorNamespace,
        secretAbsence: (ref) => hub.secretAbsence(ref),
      }),
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
