import type { KubeObject } from '../../../api/meta.ts';
import type { ClusterTrafficPolicy, MinterDeployment, TrafficMonitor } from '../../../api/v1alpha1/index.ts';
import type { ErrorCode } from '../../../base/errors.ts';
import type { NodeObject } from '../../../controllers/capture/facts.ts';
import { PluginError } from '../errors.ts';
import type { PodWithStatus } from './pod-fault.ts';

/** A list, or why it could not be read: a command goes on with the other lists when a user may not read one. */
export type Reading<T> =
  | {
      readonly items: readonly T[];
      readonly fault?: undefined;
      /** True when not all namespaces were read: configs compiled from the list may differ from the operator's. */
      readonly partial?: boolean;
    }
  | Unread;

/** A list that could not be read. */
export interface Unread {
  /** Why, as text. */
  readonly fault: string;
  /** What kind of error it was: only ERR_API_FORBIDDEN is a matter of rights. */
  readonly code: ErrorCode;
}

/** The objects of a cluster that show the state of the product, read once. All checks are functions of this view. */
export interface ClusterView {
  /** The operator's namespace. */
  readonly namespace: string;
  /** Wall time, ms since the epoch. */
  readonly now: number;
  /** The namespace whose monitors are listed and explained; all when unset. */
  readonly objectNamespace?: string | undefined;
  readonly crds: Reading<KubeObject>;
  /** Of all namespaces, because configs are compiled from them; see `listedMonitors`. */
  readonly monitors: Reading<TrafficMonitor & KubeObject>;
  readonly policies: Reading<ClusterTrafficPolicy & KubeObject>;
  readonly minters: Reading<MinterDeployment & KubeObject>;
  readonly namespaces: Reading<KubeObject>;
  readonly nodes: Reading<NodeObject>;
  readonly pods: Reading<PodWithStatus>;
  /** Pods of the operator's namespace. The next four lists are of that namespace, too. */
  readonly ownPods: Reading<PodWithStatus>;
  readonly deployments: Reading<KubeObject>;
  readonly daemonSets: Reading<KubeObject>;
  readonly leases: Reading<KubeObject>;
  readonly secrets: Reading<KubeObject>;
  readonly apiServices: Reading<KubeObject>;
  /** Events that are warnings, of all namespaces. */
  readonly events: Reading<KubeObject>;
  /** Events of any type about the operator's Deployment. */
  readonly operatorEvents: Reading<KubeObject>;
}

/** Whether every list that the operator compiles configs from was read, and in all namespaces. */
export function isWhole({ monitors, policies, nodes, namespaces, pods }: ClusterView): boolean {
  return [monitors, policies, nodes, namespaces, pods].every((list) => list.fault === undefined && !list.partial);
}

/** The monitors that a command speaks of. They are partial when those of other namespaces are left out. */
export function listedMonitors({ monitors, objectNamespace }: ClusterView): ClusterView['monitors'] {
  if (objectNamespace === undefined || monitors.fault !== undefined) return monitors;
  return { items: monitors.items.filter(({ metadata }) => metadata.namespace === objectNamespace), partial: true };
}

/** The members of a list; none when it could not be read. */
export function itemsOf<T>(reading: Reading<T>): readonly T[] {
  return reading.fault === undefined ? reading.items : [];
}

/** The error of a command that cannot do without a list. `rights` helps a user who may not read it. */
export function unreadError({ code }: Unread, message: string, rights: readonly string[] = []): PluginError {
  return new PluginError(code, message, { hints: code === 'ERR_API_FORBIDDEN' ? rights : [] });
}

/** The object with a name in a list; undefined when there is none, or the list could not be read. */
export function named<T extends KubeObject>(reading: Reading<T>, name: string, namespace?: string): T | undefined {
  return itemsOf(reading).find(
    ({ metadata }) => metadata.name === name && (namespace === undefined || metadata.namespace === namespace),
  );
}
