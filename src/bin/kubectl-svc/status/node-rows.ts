import { compile, type CompileResult } from '../../../capture/index.ts';
import { isReadyNode, runsAgents } from '../../../controllers/capture/facts.ts';
import { instrumentFault } from '../../../controllers/capture/failures/instrument-fault.ts';
import { compileInput } from '../cluster/compile-input.ts';
import { operatorEnvironment } from '../cluster/operator-environment.ts';
import { isReadyPod, podFault, type PodWithStatus } from '../cluster/pod-fault.ts';
import { isWhole, itemsOf, listedMonitors, type ClusterView } from '../cluster/view.ts';
import { about, type Check, type CheckState } from './check.ts';
import { leftOut, podsOf, wantsAgent } from './components.ts';
import { nodeWayOut } from './hints.ts';

/** The state of capture on one node. */
export interface NodeRow {
  readonly name: string;
  readonly ready: boolean;
  /** The agent's pod; undefined when the node has none. */
  readonly agent?: string;
  readonly state: CheckState;
  /**
   * In one word: `Running`, `Unknown`, `NoAgent`, `AgentNotReady`, `NotReady`, `LeftOut`, or the reason of a failure.
   */
  readonly reason: string;
  readonly message: string;
  /** Number of TrafficMonitors that match a pod on the node; null when not all inputs could be read. */
  readonly monitors: number | null;
  /** Policies that cover the node, the strongest first. */
  readonly policies: readonly string[];
  /** Prefix of the hash of the instrument's file that the node should run; empty when unknown. */
  readonly file: string;
}

/** One row for each node that should have an agent, by name. */
export function nodeRows(view: ClusterView): NodeRow[] {
  const compiled = compileView(view);
  const failures = failedNodes(view);
  const agents = new Map<string, PodWithStatus>();
  for (const pod of podsOf(view, 'agent')) {
    const node = pod.spec?.nodeName;
    // During an update two pods may be on one node: the ready one counts.
    if (node && (!agents.has(node) || isReadyPod(pod))) agents.set(node, pod);
  }
  return itemsOf(view.nodes)
    .filter(runsAgents)
    .map((node): NodeRow => {
      const name = node.metadata.name ?? '';
      const agent = agents.get(name);
      const desired = compiled?.nodes.get(name);
      return {
        name,
        ready: isReadyNode(node),
        ...(agent?.metadata.name ? { agent: agent.metadata.name } : {}),
        ...(agent || wantsAgent(view, node)
          ? stateOf(isReadyNode(node), view.ownPods.fault, agent, failures.get(name))
          : { state: 'note', reason: 'LeftOut', message: leftOut }),
        monitors: desired?.config.monitors.length ?? null,
        policies: compiled
          ? [...compiled.policies.values()].filter((p) => p.inForce && p.nodes.includes(name)).map((p) => p.name)
          : [],
        file: desired?.yamlHash.slice('sha256:'.length, 'sha256:'.length + 12) ?? '',
      };
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

type NodeState = Pick<NodeRow, 'state' | 'reason' | 'message'>;

function stateOf(
  ready: boolean,
  unread: string | undefined,
  agent: PodWithStatus | undefined,
  failure: Failure | undefined,
): NodeState {
  if (!ready)
    return { state: 'note', reason: 'NotReady', message: 'the node is not Ready, so its agent is not expected' };
  if (unread !== undefined)
    return failure ? { state: 'bad', ...failure } : { state: 'unknown', reason: 'Unknown', message: unread };
  if (!agent) return { state: 'bad', reason: 'NoAgent', message: 'no agent pod on this node' };
  const fault = podFault(agent);
  const instrument = instrumentFault(agent.status?.containerStatuses);
  if (fault !== null) {
    const reason = fault.includes('container instrument') && instrument ? instrument.reason : 'AgentNotReady';
    return { state: 'bad', reason, message: fault };
  }
  if (failure) return { state: 'bad', ...failure };
  return { state: 'ok', reason: 'Running', message: '' };
}

interface Failure {
  reason: string;
  message: string;
}

/**
 * The failing nodes that the statuses of policies and listed monitors name. Each status names at most sixteen; only its counts
 * are complete.
 */
function failedNodes(view: ClusterView): Map<string, Failure> {
  const rows = [...itemsOf(view.policies), ...itemsOf(listedMonitors(view))].flatMap(
    (object) => object.status?.failedNodes ?? [],
  );
  return new Map(rows.map(({ name, reason, message }) => [name, { reason, message: message ?? '' }]));
}

/** What the operator compiles from the objects read; undefined when they do not compile or part of them is unknown. */
function compileView(view: ClusterView): CompileResult | undefined {
  const { environment } = operatorEnvironment(view);
  if (!isWhole(view)) return undefined;
  try {
    return compile(compileInput(view, environment));
  } catch {
    return undefined;
  }
}

/**
 * A check for each node whose agent is missing or not ready. The checks are listed under Agents, because the counts of
 * a DaemonSet name no nodes.
 */
export function agentNodeChecks(rows: readonly NodeRow[], namespace: string): Check[] {
  return rows.filter(lacksAgent).map(({ name, agent, message }) => {
    const hint = agent
      ? `kubectl -n ${namespace} describe pod ${agent}; kubectl -n ${namespace} logs ${agent} --all-containers`
      : `kubectl -n ${namespace} describe daemonset svc-agent: taints, node selectors and quotas keep pods away`;
    return about('agents', `node ${name}`)('bad', message, hint);
  });
}

const lacksAgent = ({ state, reason }: NodeRow): boolean =>
  state === 'bad' && (reason === 'NoAgent' || reason === 'AgentNotReady');

/** One check with the nodes counted by reason, then one for each node with a ready agent but failing capture. */
export function captureChecks(rows: readonly NodeRow[], nodesFault: string | undefined): Check[] {
  const are = about('nodes', 'nodes');
  if (nodesFault !== undefined) return [are('unknown', nodesFault)];
  const counts = Map.groupBy(rows, ({ reason }) => reason);
  const text = [...counts].map(([reason, members]) => `${members.length} ${reason}`).join(', ') || 'no nodes';
  const bad = rows.filter(({ state }) => state === 'bad');
  const all =
    bad.length > 0
      ? are('bad', text, 'kubectl svc status nodes')
      : are(rows.some(({ state }) => state === 'unknown') ? 'unknown' : 'ok', text);
  return [all, ...bad.filter((row) => !lacksAgent(row)).map((row) => nodeCheck(row, `node ${row.name}`))];
}

/** The state of one node. */
export function nodeCheck({ name, state, reason, message }: NodeRow, subject: string): Check {
  const text = message === '' ? reason : `${reason}: ${message}`;
  return about('nodes', subject)(state, text, state === 'bad' ? nodeWayOut(reason, name) : undefined);
}
