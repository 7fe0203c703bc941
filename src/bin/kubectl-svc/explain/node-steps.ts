import type { ExplainStep } from '../../../api/page/types.ts';
import type { Condition } from '../../../api/meta.ts';
import { holds } from '../../../api/statuses.ts';
import { no, note, unknown, yes } from '../../../capture/explain/index.ts';
import { objectOfKey, type CompileResult } from '../../../capture/index.ts';
import { isReadyNode, runsAgents } from '../../../controllers/capture/facts.ts';
import { findCondition } from '../../../runtime/index.ts';
import { instrumentFault } from '../../../controllers/capture/failures/instrument-fault.ts';
import { isReadyPod, podFault } from '../cluster/pod-fault.ts';
import { itemsOf, listedMonitors, named, type ClusterView } from '../cluster/view.ts';
import { leftOut, podsOf, wantsAgent } from '../status/components.ts';
import { nodeWayOut } from '../status/hints.ts';
import { agentConfig, type SeriesFacts } from './series.ts';

/** The known facts about one node, from the operator to the instrument. */
export interface NodeInput {
  readonly view: ClusterView;
  readonly node: string;
  /** What the operator compiles; undefined when not all its inputs could be read. */
  readonly compiled: CompileResult | undefined;
  readonly facts: SeriesFacts;
  /** Restricts the steps to these TrafficMonitors, each as `namespace/name`; undefined for all. */
  readonly monitors?: readonly string[];
  /** Whether there are series of what is explained: then it is captured, whatever an agent reported before. */
  readonly hasData?: boolean;
}

/** The steps of an explanation that concern one node: node, agent, config, kernel and attached. Pure. */
export function nodeSteps(input: NodeInput): ExplainStep[] {
  return [nodeStep(input), agentStep(input), configStep(input), kernelStep(input), ...obstacleSteps(input)];
}

function nodeStep({ view, node }: NodeInput): ExplainStep {
  const asks = 'node';
  if (view.nodes.fault !== undefined) return unknown(asks, view.nodes.fault);
  const object = named(view.nodes, node);
  if (!object) return no(asks, `there is no node ${node}`, 'kubectl get nodes');
  if (!runsAgents(object)) return no(asks, `${node} does not run Linux`, 'nothing can be captured there');
  if (!isReadyNode(object)) return no(asks, `${node} is not Ready`, `kubectl describe node ${node}`);
  return yes(asks, `${node} is Ready`);
}

function agentStep({ view, node }: NodeInput): ExplainStep {
  const asks = 'agent';
  if (view.ownPods.fault !== undefined) return unknown(asks, view.ownPods.fault);
  const pods = podsOf(view, 'agent').filter((pod) => pod.spec?.nodeName === node);
  const pod = pods.find(isReadyPod) ?? pods[0];
  const { namespace } = view;
  const object = named(view.nodes, node);
  if (!pod && object && !wantsAgent(view, object)) {
    return no(asks, leftOut, `kubectl -n ${namespace} get daemonset svc-agent -o yaml`);
  }
  if (!pod)
    return no(
      asks,
      `no agent pod on ${node}`,
      `kubectl -n ${namespace} describe daemonset svc-agent: taints and quotas keep pods away`,
    );
  const name = pod.metadata.name ?? '';
  const fault = podFault(pod);
  if (fault !== null) {
    const instrument = instrumentFault(pod.status?.containerStatuses);
    const way = instrument
      ? nodeWayOut(instrument.reason, node)
      : `kubectl -n ${namespace} describe pod ${name}; kubectl -n ${namespace} logs ${name} --all-containers`;
    return no(asks, `${name} ${fault}`, way);
  }
  return yes(asks, `${name} is ready`);
}

/**
 * Whether the wanted config is in force: from the agent's own metrics if the query server has them, else from the
 * statuses.
 */
function configStep(input: NodeInput): ExplainStep {
  const asks = 'config';
  const { view, node, compiled, facts } = input;
  const unread = [view.policies, view.monitors].find((list) => list.fault !== undefined)?.fault;
  const failed = concerned(input)
    .flatMap(({ status }) => status?.failedNodes ?? [])
    .find(({ name }) => name === node);
  if (failed)
    return no(asks, `${failed.reason}: ${failed.message ?? ''}`.replace(/: $/, ''), nodeWayOut(failed.reason, node));
  const desired = compiled?.nodes.get(node);
  const held = facts.fault === undefined ? agentConfig(facts.series, node) : undefined;
  const generations = generationsText(desired?.config.generations, input);
  if (held && desired) {
    if (held.hash === desired.hash) {
      const fact = `${short(held.hash)}, ${held.phase}${generations}`;
      if (held.phase === 'Running') return yes(asks, fact);
      if (held.phase === 'Failed')
        return no(
          asks,
          fact,
          `kubectl -n ${view.namespace} logs of the agent on ${node}, containers agent and instrument`,
        );
      return note(asks, fact, 'the instrument has not restarted for it yet: wait, or see rollout of the policy');
    }
    return note(
      asks,
      `the agent has ${short(held.hash)} (${held.phase}), the operator wants ${short(desired.hash)}${generations}`,
      'wait: a change is on its way, or rollout of the policy paces it',
    );
  }
  const behind = concerned(input).find((object) => !holds(object, 'Programmed'));
  const condition = findCondition(behind?.status?.conditions, 'Programmed');
  if (behind) {
    const text = condition ? `${condition.reason}, ${condition.message}` : 'not judged yet';
    return note(asks, `${behind.kind} ${behind.metadata.name ?? ''}: ${text}`, 'kubectl svc status nodes');
  }
  if (unread !== undefined) return unknown(asks, unread);
  if (concerned(input).length === 0)
    return unknown(asks, 'no policy or monitor applies here: the agent runs its built-in config');
  return yes(asks, `all objects are programmed${desired ? `, ${short(desired.hash)}` : ''}${generations}`);
}

const short = (hash: string): string => hash.slice(0, 'sha256:'.length + 12);

function generationsText(generations: Readonly<Record<string, number>> | undefined, { monitors }: NodeInput): string {
  const named = Object.entries(generations ?? {}).map(([key, n]) => [objectOfKey(key), n] as const);
  const shown = named.filter(
    ([ref]) =>
      monitors === undefined ||
      ref.startsWith('ClusterTrafficPolicy/') ||
      monitors.includes(ref.slice('TrafficMonitor/'.length)),
  );
  if (shown.length === 0) return '';
  const more = shown.length > 5 ? ` and ${shown.length - 5} more` : '';
  return ` (${shown
    .slice(0, 5)
    .map(([ref, n]) => `${ref.replace(/^[^/]+\//, '')} generation ${n}`)
    .join(', ')}${more})`;
}

interface Concerned {
  kind: string;
  metadata: { name?: string };
  status?: {
    conditions?: Condition[];
    failedNodes?: { name: string; reason: string; message?: string }[];
  };
}

/** Policies that cover the node, and the monitors in `monitors` (by default, all listed monitors on the node). */
function concerned({ view, node, compiled, monitors }: NodeInput): Concerned[] {
  const policies = itemsOf(view.policies).filter(
    (p) => compiled?.policies.get(p.metadata.name ?? '')?.nodes.includes(node) ?? true,
  );
  const paths =
    monitors ??
    [...(compiled?.monitors.values() ?? [])]
      .filter((m) => m.nodes.includes(node))
      .map((m) => `${m.namespace}/${m.name}`);
  const own = itemsOf(listedMonitors(view)).filter(({ metadata }) =>
    paths.includes(`${metadata.namespace}/${metadata.name}`),
  );
  return [...policies, ...own] as Concerned[];
}

/** The obstacles that the agent of this node reports, from the monitors' conditions that name the node. */
function obstacles(input: NodeInput): { reason: string; message: string }[] {
  return concerned(input).flatMap((object) => {
    const found = findCondition(object.status?.conditions, 'Capturing');
    return found?.status === 'False' && found.message.startsWith(`${input.node}: `)
      ? [{ reason: found.reason, message: found.message.slice(input.node.length + 2) }]
      : [];
  });
}

function kernelStep(input: NodeInput): ExplainStep {
  const asks = 'kernel';
  if (input.hasData) return yes(asks, 'requests of this node are captured');
  const found = obstacles(input).find(({ reason }) => reason === 'KernelUnsupported');
  if (found) return no(asks, found.message, nodeWayOut(found.reason, input.node));
  if (requestsOf(input) > 0) return yes(asks, 'requests of this node are captured');
  return unknown(asks, 'no agent complains, and no request of this node is in the store');
}

function obstacleSteps(input: NodeInput): ExplainStep[] {
  const asks = 'attached';
  if (input.hasData) return [yes(asks, 'the instrument sees its processes')];
  const found = obstacles(input).find(({ reason }) => reason !== 'KernelUnsupported');
  if (found) return [no(asks, `${found.reason}: ${found.message}`, nodeWayOut(found.reason, input.node))];
  if (requestsOf(input) > 0) return [yes(asks, 'the instrument sees processes of this node')];
  return [unknown(asks, 'the agent names no obstacle (it looks a minute after a start, at monitors without data)')];
}

/** Number of request series from this node. */
function requestsOf({ facts, node }: NodeInput): number {
  return facts.fault === undefined ? (facts.requests.get(node) ?? 0) : 0;
}
