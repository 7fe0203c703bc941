import type { KubeObject } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import { coreResources } from '../../kube/index.ts';
import type { Cache } from '../../runtime/index.ts';
import type { AgentDirectory, ExpectedAgent } from './directory.ts';
import { DepartedNodes } from './departed-nodes.ts';
import { expectedAgents } from './expected-agents.ts';
import type { DaemonSetView, NodeView, PodView } from './expected-agents.ts';

/**
 * The agents as the API server tells them, kept current by watches. Ask for it before the cache is started.
 * Guarantees: while the API server is away, the last known state answers.
 */
export function watchAgents(
  cache: Cache,
  namespace: string,
  labelSelector: string,
  clock: Pick<Clock, 'monotonic'>,
): AgentDirectory {
  const nodes = cache.informer({ resource: coreResources.nodes, transform: { name: 'query-node', apply: trimNode } });
  const daemonSets = cache.informer({ resource: coreResources.daemonSets, namespace, labelSelector });
  const pods = cache.informer({ resource: coreResources.pods, namespace, labelSelector });
  const informers = [nodes, daemonSets, pods];
  let known: readonly ExpectedAgent[] | undefined;
  for (const informer of informers) informer.onEvent(() => (known = undefined));
  const gone = new DepartedNodes(clock);
  const isSynced = (): boolean => informers.every((informer) => informer.synced);
  const agents = (): readonly ExpectedAgent[] => {
    if (known !== undefined) return known;
    known = expectedAgents(
      nodes.list() as unknown as NodeView[],
      daemonSets.list() as unknown as DaemonSetView[],
      pods.list() as unknown as PodView[],
    );
    // A list that is not complete yet misses nobody.
    if (isSynced()) gone.note(known);
    return known;
  };
  return {
    get synced() {
      return isSynced();
    },
    agents,
    departed(withinMs) {
      agents();
      return gone.within(withinMs);
    },
  };
}

/** A node's image list and addresses are most of its bytes, and nobody here reads them. */
function trimNode(node: KubeObject): KubeObject {
  const { conditions } = (node['status'] ?? {}) as { conditions?: unknown };
  return { ...node, status: { conditions } };
}
