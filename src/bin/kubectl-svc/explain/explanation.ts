import type { ExplainStep } from '../../../api/page/types.ts';
import { firstNo, no, unknown, yes } from '../../../capture/explain/index.ts';
import { commonSettings, workloadName, type PodSetting } from '../../../capture/index.ts';
import { podFacts } from '../../../controllers/capture/facts.ts';
import type { PodWithStatus } from '../cluster/pod-fault.ts';
import { itemsOf, named, type ClusterView, unreadError } from '../cluster/view.ts';
import { PluginError } from '../errors.ts';
import { explainPod, type Known, type PodExplanation } from './explain-pod.ts';
import { findMonitor, monitorSteps, podsOfMonitor } from './explain-monitor.ts';
import { nodeSteps } from './node-steps.ts';
import type { Target } from './target.ts';

/** The result of `explain`. */
export interface Explanation {
  readonly target: string;
  /** True when no step of the target or of its pods says no. */
  readonly well: boolean;
  /** Steps of the target itself; those of its pods are in `pods`. */
  readonly steps: readonly ExplainStep[];
  readonly pods: readonly PodExplanation[];
  /** The settings, if they are the same for all pods; otherwise see the pods. */
  readonly settings: readonly PodSetting[];
}

/**
 * The pods of a target, according to the objects of the cluster. Pure.
 * Errors: PluginError when the target does not exist, a workload has no pod, or a list could not be read.
 */
export function podsOfTarget(target: Target, namespace: string, view: ClusterView, all: Known): PodWithStatus[] {
  const inside = itemsOf(view.pods).filter(({ metadata }) => metadata.namespace === namespace);
  if (target.type === 'node') return [];
  if (target.type === 'monitor') {
    if (view.monitors.fault !== undefined) throw unreadError(view.monitors, view.monitors.fault);
    const monitor = findMonitor(all, namespace, target.name);
    if (!monitor) throw absent('TrafficMonitor', namespace, target.name, 'kubectl get tm -A');
    const names = new Set(podsOfMonitor(monitor, all));
    return inside.filter(({ metadata }) => names.has(metadata.name ?? ''));
  }
  if (view.pods.fault !== undefined) throw unreadError(view.pods, view.pods.fault);
  if (target.type === 'pod') {
    const pod = named(view.pods, target.name, namespace);
    if (!pod) throw absent('Pod', namespace, target.name, `kubectl -n ${namespace} get pods`);
    return [pod];
  }
  const pods = inside.filter((pod) => {
    const facts = podFacts(pod);
    return facts !== null && workloadName(facts, target.kind) === target.name;
  });
  if (pods.length === 0) {
    const text = `no pod of ${target.kind} ${namespace}/${target.name} is on a node`;
    throw new PluginError('ERR_API_NOT_FOUND', text, {
      hints: [`kubectl -n ${namespace} get ${target.kind.toLowerCase()} ${target.name}`],
    });
  }
  return pods;
}

function absent(kind: string, namespace: string, name: string, look: string): PluginError {
  return new PluginError('ERR_API_NOT_FOUND', `there is no ${kind} ${namespace}/${name}`, { hints: [look] });
}

/** The whole explanation. Pure. */
export function explain(target: Target, namespace: string, pods: readonly PodWithStatus[], all: Known): Explanation {
  const explained = pods.map((pod) => explainPod(pod, all));
  const steps = ownSteps(target, namespace, all);
  return {
    target: targetText(target, namespace),
    well: firstNo(steps) === undefined && explained.every((pod) => firstNo(pod.steps) === undefined),
    steps,
    pods: explained,
    settings: commonSettings(explained),
  };
}

function targetText(target: Target, namespace: string): string {
  if (target.type === 'node') return `node/${target.name}`;
  const kind =
    target.type === 'workload' ? target.kind.toLowerCase() : target.type === 'monitor' ? 'trafficmonitor' : 'pod';
  return `${kind}/${target.name} in namespace ${namespace}`;
}

function ownSteps(target: Target, namespace: string, all: Known): ExplainStep[] {
  if (target.type === 'monitor') return monitorSteps(findMonitor(all, namespace, target.name)!, all);
  if (target.type !== 'node') return [];
  return [...objectSteps(target.name, all), ...nodeSteps({ ...all, node: target.name })];
}

/** What policies and monitors ask of a node. */
function objectSteps(node: string, { compiled }: Known): ExplainStep[] {
  if (!compiled) {
    const fact = 'not everything that a node’s config is compiled from could be read';
    return [unknown('policy', fact), unknown('monitors', fact)];
  }
  const policies = [...compiled.policies.values()].filter((p) => p.inForce && p.nodes.includes(node));
  const paused = policies.find(({ inForce }) => inForce?.paused);
  const policy = paused
    ? no(
        'policy',
        `ClusterTrafficPolicy/${paused.name} pauses capture`,
        `set paused: false on ClusterTrafficPolicy ${paused.name}`,
      )
    : yes(
        'policy',
        policies.map(({ name }) => name).join(', ') || 'no policy applies here: built-in settings are in force',
      );
  const monitors = compiled.nodes.get(node)?.config.monitors ?? [];
  const count = monitors.reduce((sum, rule) => sum + rule.pods.length, 0);
  return [policy, yes('monitors', `${monitors.length} with ${count} matched pods here`)];
}
