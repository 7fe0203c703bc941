import type { TrafficMonitor } from '../../../api/v1alpha1/index.ts';
import type { LabelTest, Selection } from '../../instrument-yaml/settings.ts';
import { portsText } from '../../ports.ts';
import type { Judged } from '../check/acceptance.ts';
import { workloadName } from './pods.ts';
import { objectPath } from './precedence.ts';
import { namespacesOf } from './scope.ts';
import { exclusionSelections, monitorSelections } from './selections.ts';
import { matchesGlob } from './selector.ts';
import type { PolicyInForce } from '../settings.ts';
import type { CompileInput, PodFacts } from '../types.ts';

/** The reason why a pod is excluded. `ports` and `executables` are set when only processes with them are excluded. */
export interface PodExclusion {
  /** `ClusterTrafficPolicy/<name>`, `TrafficMonitor/<namespace>/<name>`, or the name of a built-in source. */
  by: string;
  ports?: string;
  executables?: readonly string[];
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

/** The exclusions for a pod's processes by policies of its node, the product and the instrument itself. */
export function policyExclusions(
  onNode: readonly PolicyInForce[],
  { namespaces }: CompileInput,
  pod: PodFacts,
): PodExclusion[] {
  const own = pod.namespace === 'svc-system' ? [{ by: 'the product itself: it never captures svc-system' }] : [];
  const systemNamespaces =
    onNode.find((p) => p.spec.systemNamespaces !== undefined)?.spec.systemNamespaces ?? 'Inherit';
  const inherited = systemNamespaces === 'Inherit' && instrumentsOwn.some((glob) => matchesGlob(glob, pod.namespace));
  const byPolicies = onNode.flatMap((p) => {
    const within = namespacesOf(p, namespaces);
    return (p.spec.exclusions ?? [])
      .flatMap((exclusion) => exclusionSelections(exclusion, within))
      .filter((selection) => matchesSelection(selection, pod))
      .map((selection) => exclusionOf(`ClusterTrafficPolicy/${p.name}`, selection));
  });
  const byInstrument = inherited
    ? [{ by: "the instrument's own list of system namespaces (systemNamespaces: Inherit)" }]
    : [];
  return [...own, ...byInstrument, ...byPolicies];
}

/** The exclusions by monitors of its namespace. */
export function monitorExclusions(monitors: readonly Judged<TrafficMonitor>[], pod: PodFacts): PodExclusion[] {
  return monitors.flatMap(({ object, inForce: spec }) => {
    if (spec?.mode !== 'Exclude' || spec.suspend) return [];
    return monitorSelections(pod.namespace, spec)
      .filter((selection) => matchesSelection(selection, pod))
      .map((selection) => exclusionOf(`TrafficMonitor/${objectPath(object.metadata)}`, selection));
  });
}

function exclusionOf(by: string, { ports, executables }: Selection): PodExclusion {
  return { by, ...(ports ? { ports: portsText(ports) } : {}), ...(executables ? { executables } : {}) };
}

/** Judged by the pod alone: the instrument judges what a process is and where it listens. */
function matchesSelection({ namespaces, podLabels, workload, containers }: Selection, pod: PodFacts): boolean {
  if (namespaces && !namespaces.some((glob) => matchesGlob(glob, pod.namespace))) return false;
  if (!Object.entries(podLabels ?? {}).every(([key, test]) => passes(test, pod.labels[key]))) return false;
  if (containers && !containers.some((glob) => pod.containers.some((name) => matchesGlob(glob, name)))) return false;
  if (!workload) return true;
  const name = workloadName(pod, workload.kind);
  return name !== undefined && matchesGlob(workload.name, name);
}

function passes(test: LabelTest, value: string | undefined): boolean {
  if (value === undefined) return false;
  if ('in' in test) return test.in.includes(value);
  return 'glob' in test ? matchesGlob(test.glob, value) : true;
}
