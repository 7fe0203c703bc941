import { ApplySet, type ControllerEnvironment, type Informer } from '../runtime/index.ts';

/** The field manager of a controller. Each has its own, so the API server can tell their fields apart. */
export const fieldManagerOf = (controller: string): string => `svc-controller/${controller}`;

/**
 * An ApplySet for the children of a controller: it applies them under the controller's own field manager, with metrics
 * and Events.
 */
export function applySetOf(
  { client, metrics, events }: ControllerEnvironment,
  controller: string,
  children: readonly Informer[],
): ApplySet {
  return new ApplySet({ client, fieldManager: fieldManagerOf(controller), controller, metrics, events, children });
}
