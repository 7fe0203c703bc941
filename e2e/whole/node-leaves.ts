import { getJson, type QueryAnswer } from '../demo/query-client.ts';
import { readyPods, type Stage } from '../demo/stage.ts';
import { until } from '../../src/testing/until.ts';

/** A node that is about to leave, and what the product reports about it. */
export interface NodeLeaves {
  readonly lost: {
    readonly name: string;
    /** Kills the node's processes and deletes its Node and pods, as if a machine were switched off and taken out. */
    leave(): Promise<void>;
  };
  /** The answers of both replicas of the query server to an instant query. Rejects unless two replicas are ready. */
  answers(query: string, lookback?: string): Promise<QueryAnswer['body'][]>;
  /** Names of the nodes in one list of the operator's record of nodes. */
  recorded(list: 'serving' | 'departed'): Promise<string[]>;
  /** Replaces the pods of both replicas of the query server. */
  restartQueries(): Promise<void>;
  stopOperator(): Promise<void>;
  startOperator(): Promise<void>;
}

const inSystem = ['-n', 'svc-system'];
const queries = 'app.kubernetes.io/component=query';

/** Prepares an account that may read answers. The node stays until `leave`. */
export async function nodeLeaves({ cluster, queryTarget }: Stage): Promise<NodeLeaves> {
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(args);
  const account = ['serviceaccount', 'bystander'];
  await kubectl('-n', 'shop', 'create', ...account);
  const token = (await kubectl('-n', 'shop', 'create', 'token', 'bystander')).trim();
  const role = ['--clusterrole=svc-promql-reader', '--serviceaccount=shop:bystander'];
  await kubectl('create', 'clusterrolebinding', 'bystander-promql', ...role);
  const replicas = async (): Promise<{ name: string; ip: string }[]> => {
    const pods = await readyPods(cluster, 'svc-system', queries);
    if (pods.length !== 2) throw new Error(`ready: ${pods.map(({ name }) => name).join()}`);
    return pods;
  };
  const scale = (count: number): Promise<string> =>
    kubectl(...inSystem, 'scale', 'deployment/svc-controller', `--replicas=${count}`);
  const lost = cluster.nodes.at(-1)!;
  return {
    lost: {
      name: lost.name,
      async leave() {
        await lost.kill();
        await kubectl('delete', 'node', lost.name);
        const there = ['-A', `--field-selector=spec.nodeName=${lost.name}`];
        await kubectl('delete', 'pods', ...there, '--force', '--grace-period=0', '--wait=false');
      },
    },
    async answers(query, lookback) {
      const params = new URLSearchParams({ query, ...(lookback ? { lookback_delta: lookback } : {}) });
      const ask = ({ ip }: { ip: string }): Promise<QueryAnswer> =>
        getJson({ host: ip, port: 9095, ca: queryTarget.ca, token }, `/api/v1/query?${params}`);
      const all = await Promise.all((await replicas()).map(ask));
      return all.map(({ body }) => body);
    },
    async recorded(list) {
      const path = `jsonpath={.data.${list}\\.json}`;
      const text = await kubectl(...inSystem, 'get', 'configmap', 'svc-departed-nodes', '-o', path);
      return (JSON.parse(text) as { node: string }[]).map(({ node }) => node);
    },
    async restartQueries() {
      const before = (await replicas()).map(({ name }) => name);
      await kubectl(...inSystem, 'delete', 'pods', '-l', queries, '--grace-period=1', '--wait=false');
      await until('other query pods', replicas, { good: (pods) => pods.every(({ name }) => !before.includes(name)) });
    },
    async stopOperator() {
      await scale(0);
      const pods = [...inSystem, 'get', 'pods', '-l', 'app.kubernetes.io/component=controller', '-o', 'name'];
      await until('the operator to be gone', () => kubectl(...pods), { good: (text) => text.trim() === '' });
    },
    async startOperator() {
      await scale(2);
    },
  };
}
