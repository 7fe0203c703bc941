import type { TrafficMonitorSpec } from '../../../api/v1alpha1/index.ts';
import { ownValue } from '../../../base/collections/own-value.ts';
import { ownNamespace } from '../../instrument-yaml/builtin.ts';
import type { LabelTest, Selection } from '../../instrument-yaml/settings.ts';
import { portsText } from '../../ports.ts';
import { first, type PolicyInForce } from '../settings.ts';
import type { CompileEnvironment, NamedLabels, PodFacts } from '../types.ts';
import { workloadName } from './pods.ts';
import { policiesOf } from './scope.ts';
import { exclusionSelections, monitorSelections } from './selections.ts';
import { matchesGlob } from './selector.ts';

/** A selection whose processes are not captured. */
export interface NamedExclusion {
  /** `ClusterTrafficPolicy/<name>`, `TrafficMonitor/<namespace>/<name>`, or the name of a built-in source. */
  by: string;
  selection: Selection;
}

/** An exclusion of a pod. Other members than `by` are set when only processes with them are excluded. */
export interface PodExclusion {
  by: string;
  ports?: string;
  executables?: readonly string[];
  /** Names of containers of the pod. */
  containers?: readonly string[];
}

/** Namespaces that the instrument excludes by itself unless a policy says `systemNamespaces: None`. */
const instrumentsOwn = [
  'kube-system',
  'kube-node-lease',
  'local-path-storage',
  'cert-manager',
  'monitoring',
  'gke-*',
  'gatekeeper-system',
];

/**
 * The exclusions in one namespace, on nodes under these policies: by the product, the instrument itself, the policies,
 * and the monitors of the namespace.
 */
export function exclusionsIn(
  namespace: NamedLabels,
  onNode: readonly PolicyInForce[],
  monitors: readonly { readonly key: string; readonly spec: TrafficMonitorSpec }[],
  environment: CompileEnvironment,
): NamedExclusion[] {
  const { name } = namespace;
  const product = ownNamespace(environment);
  const systemNamespaces = first(onNode, (spec) => spec.systemNamespaces) ?? 'Inherit';
  const inherited = systemNamespaces === 'Inherit' && instrumentsOwn.some((glob) => matchesGlob(glob, name));
  const own = [
    ...(name === product ? [`the product itself: it never captures ${product}`] : []),
    ...(inherited ? ["the instrument's own list of system namespaces (systemNamespaces: Inherit)"] : []),
  ];
  const byPolicies = policiesOf(onNode, namespace.labels).flatMap((p) =>
    (p.spec.exclusions ?? [])
      .flatMap((exclusion) => exclusionSelections(exclusion, [name]))
      .map((selection) => ({ by: `ClusterTrafficPolicy/${p.name}`, selection })),
  );
  const byMonitors = monitors.flatMap(({ key, spec }) =>
    spec.mode === 'Exclude' && !spec.suspend
      ? monitorSelections(name, spec).map((selection) => ({ by: `TrafficMonitor/${key}`, selection }))
      : [],
  );
  return [...own.map((by) => ({ by, selection: { namespaces: [name] } })), ...byPolicies, ...byMonitors];
}

/** Those of its namespace's exclusions that exclude the pod, or some of its processes. */
export function exclusionsOf(pod: PodFacts, exclusions: readonly NamedExclusion[]): PodExclusion[] {
  return exclusions.flatMap(({ by, selection }) => {
    if (!matchesSelection(selection, pod)) return [];
    const { ports, executables } = selection;
    const containers = containersOf(selection, pod);
    const parts = {
      ...(ports ? { ports: portsText(ports) } : {}),
      ...(executables ? { executables } : {}),
      ...(containers.length < pod.containers.length ? { containers } : {}),
    };
    return [{ by, ...parts }];
  });
}

/** The first that excludes all processes of the pod; undefined for none. */
export function wholeExclusion(exclusions: readonly PodExclusion[]): PodExclusion | undefined {
  return exclusions.find(({ ports, executables, containers }) => !ports && !executables && !containers);
}

/** True for a pod whose processes the selection may match. Only the instrument knows their executables and ports. */
function matchesSelection(selection: Selection, pod: PodFacts): boolean {
  const { podLabels = {}, workload } = selection;
  if (!Object.entries(podLabels).every(([key, test]) => passes(test, ownValue(pod.labels, key)))) return false;
  if (selection.containers && containersOf(selection, pod).length === 0) return false;
  if (!workload) return true;
  const name = workloadName(pod, workload.kind);
  return name !== undefined && matchesGlob(workload.name, name);
}

/** The names of the pod's containers that the selection matches. */
function containersOf({ containers: globs }: Selection, pod: PodFacts): readonly string[] {
  return globs ? pod.containers.filter((name) => globs.some((glob) => matchesGlob(glob, name))) : pod.containers;
}

function passes(test: LabelTest, value: string | undefined): boolean {
  if (value === undefined) return false;
  if ('in' in test) return test.in.includes(value);
  return 'glob' in test ? matchesGlob(test.glob, value) : true;
}
