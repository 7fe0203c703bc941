import type { KubeObject } from '../../api/meta.ts';
import { expectedAgents } from '../../api/agents/expected-agents.ts';
import type { DaemonSetView, ExpectedAgent, NodeView, PodView } from '../../api/agents/expected-agents.ts';
import { nodeRecordName, passedAt, readRecordData } from '../../api/agents/record-text.ts';
import { sightingsOf } from '../../api/agents/sightings.ts';
import type { Sighting } from '../../api/agents/sightings.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { coreResources } from '../../kube/index.ts';
import { oneObject, type Cache, type Informer, type SourceEvent } from '../../runtime/index.ts';
import type { AgentDirectory } from './directory.ts';
import { DepartedNodes } from './departed-nodes.ts';

/** A change of the cluster is evaluated within this time, even without a query. Units: ms. */
const lookMs = 1_000;
/** How long readiness waits for the record of nodes that left, after everything else is synced. Units: ms. */
const recordGraceMs = 10_000;
/** Maximum number of faults of the record in one log line. */
const maxTold = 5;

export interface WatchAgentsOptions {
  readonly namespace: string;
  /** Labels of the DaemonSet and of its pods. */
  readonly labelSelector: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The agents, kept current by watches, and the nodes that left, from the operator's record and from our own
 * observation. Call it before the cache is started.
 * Guarantees: while the API server is unreachable, the last known state answers. A record that cannot be read delays
 * readiness by ten seconds and is reported in the log and in the answers that it affects.
 */
export function watchAgents(cache: Cache, options: WatchAgentsOptions): AgentDirectory {
  const { namespace, labelSelector, clock, logger } = options;
  const nodes = cache.informer({ resource: coreResources.nodes, transform: { name: 'query-node', apply: trimNode } });
  const daemonSets = cache.informer({ resource: coreResources.daemonSets, namespace, labelSelector });
  const pods = cache.informer({ resource: coreResources.pods, namespace, labelSelector });
  const informers = [nodes, daemonSets, pods];
  const gone = new DepartedNodes(clock);
  const record = watchRecord(cache, gone, options);
  let known: readonly ExpectedAgent[] | undefined;
  let unnoted: readonly Sighting[] | undefined;
  let othersSyncedAt: number | undefined;
  const isSynced = (): boolean => {
    if (!informers.every((informer) => informer.synced)) return false;
    if (record.synced) {
      gone.isComplete = true;
      return true;
    }
    othersSyncedAt ??= clock.monotonic();
    if (clock.monotonic() - othersSyncedAt < recordGraceMs) return false;
    if (gone.isComplete) {
      gone.isComplete = false;
      logger.warn('the record of nodes that left cannot be read', { configMap: `${namespace}/${nodeRecordName}` });
    }
    return true;
  };
  const agents = (): readonly ExpectedAgent[] => {
    if (known === undefined) {
      const nodeList = nodes.list() as unknown as NodeView[];
      known = expectedAgents(
        nodeList,
        daemonSets.list() as unknown as DaemonSetView[],
        pods.list() as unknown as PodView[],
      );
      unnoted = sightingsOf(known, nodeList);
    }
    // While a list is incomplete, no node counts as departed.
    if (unnoted !== undefined && isSynced()) {
      gone.note(unnoted);
      unnoted = undefined;
    }
    return known;
  };
  let isLookDue = false;
  const look = (): void => {
    isLookDue = false;
    agents();
  };
  for (const informer of [...informers, record]) {
    informer.onEvent((event) => {
      known = undefined;
      // A departure is recorded when it happens, not at the next query.
      if (isLookDue || !mayEndService(event)) return;
      isLookDue = true;
      clock.setTimeout(look, lookMs);
    });
  }
  return {
    get synced() {
      return isSynced();
    },
    agents,
    departed() {
      agents();
      return gone.lacking();
    },
  };
}

/** Follows the ConfigMap that the operator writes. When it is deleted, its last content stays in force. */
function watchRecord(
  cache: Cache,
  gone: DepartedNodes,
  { namespace, clock, logger }: WatchAgentsOptions,
): Pick<Informer, 'synced' | 'onEvent'> {
  const maps = cache.informer(oneObject(coreResources.configMaps, { namespace, name: nodeRecordName }));
  const configMap = `${namespace}/${nodeRecordName}`;
  maps.onEvent(({ type, object }) => {
    if (type === 'deleted') return logger.warn('the record of nodes that left was deleted', { configMap });
    const { record, refused } = readRecordData(object['data'], passedAt(object, clock.now()));
    gone.recorded(record);
    if (refused.length > 0) {
      const faults = refused.slice(0, maxTold);
      logger.error('invalid parts of the record of nodes that left are ignored', {
        configMap,
        faults,
        count: refused.length,
      });
    }
  });
  return maps;
}

/**
 * True for a change after which a node may no longer need an agent. Nodes and pods update their status all the time;
 * the fields that decide whether a node needs an agent change rarely.
 */
function mayEndService({ type, old, object }: SourceEvent<KubeObject>): boolean {
  const facts = ({ metadata, spec, data }: KubeObject): string =>
    JSON.stringify([metadata.uid, metadata.labels, metadata.generation, (spec as NodeView['spec'])?.taints, data]);
  return type !== 'updated' || old === undefined || facts(old) !== facts(object);
}

/** Drops the image list and the addresses, which are most of a node's bytes and are not read here. */
function trimNode(node: KubeObject): KubeObject {
  const { conditions, nodeInfo } = (node as unknown as NodeView).status ?? {};
  const { machineID, systemUUID } = nodeInfo ?? {};
  return { ...node, status: { conditions, nodeInfo: { machineID, systemUUID } } };
}
