import { expectedAgents, type DaemonSetView, type NodeView, type PodView } from '../../api/agents/expected-agents.ts';
import { emptyRecord, noted, type NodeRecord } from '../../api/agents/node-record.ts';
import { nodeRecordName, passedAt, readRecordData, recordData, type RecordData } from '../../api/agents/record-text.ts';
import { sightingsOf } from '../../api/agents/sightings.ts';
import type { KubeObject } from '../../api/meta.ts';
import { builtinRetention } from '../../capture/index.ts';
import { coreResources } from '../../kube/index.ts';
import { objectLabels, selectorText } from '../../render/index.ts';
import {
  allOf,
  changed,
  generationChanged,
  oneObject,
  toKey,
  type ControllerEnvironment,
  type ControllerHandle,
  type ReconcileContext,
  type ReconcileResult,
} from '../../runtime/index.ts';
import { LastingTime } from '../../tsdb/lasting-time.ts';
import { fieldManagerOf } from '../apply-set.ts';
import {
  agentPodsIn,
  isAgentPod,
  nodeTransform,
  podTransform,
  type NodeObject,
  type PodObject,
} from '../capture/facts.ts';
import { departedNodesGauge } from './metrics.ts';

const controllerName = 'departed-nodes';
/** Changes of the record within this time become one write. Units: ms. */
const quietMs = 1_000;
/** Departed nodes whose data would have expired are removed from the record at most this often. Units: ms. */
const tidyMs = 3_600_000;
/** Most faults in one log line. */
const maxTold = 5;

export interface DepartedNodesOptions {
  /** The namespace of operator and agents. */
  readonly namespace: string;
  /** Retention that the policies in force set for a node's agent; undefined when it is not known yet. Units: ms. */
  readonly keepMs: (node: string) => number | undefined;
  /** Adds a listener that is called when a retention may have changed. */
  readonly onKeepChange: (listener: () => void) => unknown;
}

/**
 * Keeps the record of nodes that had an agent and left, in a ConfigMap that query servers follow. An answer about a
 * time in which such a node was part of the cluster lacks the node's data and says so, whichever replica gives the
 * answer and whenever that replica started.
 *
 * Flow: nodes, DaemonSet, agents' pods and the current record → the new record → one apply if it differs.
 * Guarantees: a node that leaves while no operator runs is noticed by the next operator, since the record also lists
 * the nodes that have an agent. The record is written at most once a second, and only on a change; it never exceeds the
 * size of a ConfigMap. An invalid entry is logged and left out of the next write. A deleted record, or a member that
 * cannot be read, is restored from this process's last state. A departure that a clock ahead of time wrote is kept,
 * and a clock that is ahead for less than an hour removes none.
 */
export function setupDepartedNodes(env: ControllerEnvironment, options: DepartedNodesOptions): ControllerHandle {
  const { namespace, keepMs } = options;
  const name = { namespace, name: nodeRecordName };
  const nodes = env.cache.informer<NodeObject>({ resource: coreResources.nodes, transform: nodeTransform });
  const pods = env.cache.informer<PodObject>({ resource: coreResources.pods, transform: podTransform });
  const agentPods = agentPodsIn(pods, namespace);
  const daemonSets = env.cache.informer({
    resource: coreResources.daemonSets,
    namespace,
    labelSelector: selectorText('agent'),
  });
  const records = env.cache.informer(oneObject(coreResources.configMaps, name));
  let known: NodeRecord = emptyRecord;
  let writtenAt = -Infinity;
  // No reading counts at once: the clock may be ahead when this process starts.
  const lasting = new LastingTime(env.clock, 0);

  const reconcile = async ({ clock, client, logger, signal }: ReconcileContext): Promise<ReconcileResult> => {
    const restMs = writtenAt + quietMs - clock.monotonic();
    if (restMs > 0) return { requeueAfterMs: restMs };
    const nowMs = clock.now();
    const live = records.get(name);
    const { record, refused } = readRecordData(live?.['data'], live ? passedAt(live, nowMs) : nowMs);
    if (refused.length > 0) {
      const faults = refused.slice(0, maxTold);
      logger.error('invalid parts of the record of nodes that left are ignored', { faults, count: refused.length });
    }
    // A missing or unreadable member keeps its last value: a mistake must not erase departed nodes.
    const before = { ...known, ...record };
    const nodeList = nodes.list() as unknown as NodeView[];
    const agents = expectedAgents(
      nodeList,
      daemonSets.list() as unknown as DaemonSetView[],
      agentPods() as unknown as PodView[],
    );
    known = noted(before, sightingsOf(agents, nodeList), {
      nowMs,
      lastedMs: lasting.now(),
      keepMs,
      defaultKeepMs: builtinRetention.metrics.timeMs,
    });
    const { data, leftOut } = recordData(known);
    if (leftOut > 0) logger.warn('the record has no room for all nodes that serve', { leftOut });
    const ends = [...known.departed, ...(known.earlier ? [known.earlier] : [])].map(({ untilMs }) => untilMs - nowMs);
    const next = ends.length === 0 ? undefined : { requeueAfterMs: Math.max(tidyMs, Math.min(...ends)) };
    if (live === undefined ? known.serving.length + ends.length === 0 : isSame(data, live['data'])) return next;
    const wanted = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...name, labels: objectLabels('controller') },
      data,
    };
    const fieldManager = fieldManagerOf(controllerName);
    records.wrote(
      await client.apply<KubeObject>(coreResources.configMaps, wanted, { fieldManager, force: true, signal }),
    );
    writtenAt = clock.monotonic();
    const departedBefore = new Set(before.departed);
    for (const one of known.departed) {
      if (departedBefore.has(one)) continue;
      const { node, untilMs } = one;
      logger.info('node left: the data of its agent is gone', {
        node,
        until: new Date(untilMs).toISOString(),
      });
    }
    return next;
  };

  departedNodesGauge(env.registry, () => known.departed.length + (known.earlier?.count ?? 0));
  const key = { name: controllerName };
  const map = toKey(key);
  const handle = env.addController({
    name: controllerName,
    initialKeys: [key],
    watches: [
      {
        source: nodes.source,
        map,
        predicates: [
          changed<NodeObject>(({ metadata, spec, status }) => [metadata.uid, metadata.labels, spec, status?.nodeInfo]),
        ],
      },
      {
        source: pods.source,
        map,
        predicates: [
          allOf<PodObject>(
            ({ object }) => object.metadata.namespace === namespace && isAgentPod(object),
            changed(({ spec, status }) => [spec?.nodeName, status?.phase, status?.podIP]),
          ),
        ],
      },
      { source: daemonSets.source, map, predicates: [generationChanged] },
      { source: records.source, map },
    ],
    reconcile,
  });
  options.onKeepChange(() => {
    const isOther = known.serving.some((one) => (keepMs(one.node) ?? one.keepMs) !== one.keepMs);
    if (isOther) handle.trigger(key);
  });
  return handle;
}

/** Whether the live object has these members already; members of other managers are ignored. */
function isSame(data: RecordData, live: unknown): boolean {
  const there = (live ?? {}) as Partial<RecordData>;
  return Object.entries(data).every(([member, text]) => there[member as keyof RecordData] === text);
}
