/** Access to the product through the names, certificates, tokens and tunnels of a real cluster. */
import { join } from 'node:path';
import { until } from '../../src/testing/until.ts';
import { repository, runWell } from '../install/tools.ts';
import { publishedAuthority } from './check-rollouts.ts';
import type { Check, Stage } from './check.ts';
import { podsOf } from './product.ts';
import { ask, runPods } from './shop.ts';

/** The namespace that may scrape the agents by default. */
export const collectorNamespace = 'gmp-system';
const client = { namespace: 'shop', name: 'client' };
const collector = { namespace: collectorNamespace, name: 'collector' };

/** `kubectl svc …` from the sources, as cluster-admin. */
async function plugin(stage: Stage, args: readonly string[]): Promise<string> {
  const program = join(repository, 'src/bin/kubectl-svc.ts');
  const env = { KUBECONFIG: stage.plane.adminKubeconfig };
  return (await runWell(process.execPath, [program, ...args], env)).stdout;
}

export const access: readonly Check[] = [
  {
    what: 'a pod finds svc-query by name, and the published authority vouches for the name',
    async run(stage) {
      await runPods(stage.kubectl, client.namespace, 'web', client.name);
      const ca = await publishedAuthority(stage);
      for (const host of ['svc-query.svc-system.svc', 'svc-query.svc-system.svc.cluster.local']) {
        const answer = await ask(stage.kubectl, client, `https://${host}:9095/-/healthy`, { ca });
        if (!answer.startsWith('200 ')) throw new Error(`${host}: ${answer}`);
      }
      const stranger = await ask(stage.kubectl, client, 'https://svc-query.svc-system:9095/-/healthy', {
        ca: stage.plane.ca.cert,
      });
      if (!stranger.startsWith('error ')) throw new Error(`another authority vouches for it too: ${stranger}`);
    },
  },
  {
    what: 'agent, query server and operator are scraped with the token of the collector, not with another or none',
    async run(stage) {
      const { kubectl } = stage;
      await runPods(kubectl, collector.namespace, collector.name);
      const accounts = { [collector.namespace]: 'collector', [client.namespace]: 'stranger' };
      for (const [namespace, name] of Object.entries(accounts)) {
        const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name } };
        await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(account) });
      }
      const token = async (namespace: string): Promise<string> =>
        (await kubectl(['-n', namespace, 'create', 'token', accounts[namespace]!])).trim();
      const bearers = [undefined, await token(client.namespace), await token(collector.namespace)];
      for (const [component, port] of Object.entries({ agent: 9_090, query: 9_096, controller: 8_080 })) {
        const [pod] = await podsOf(stage.api, 'svc-system', `app.kubernetes.io/component=${component}`);
        const seen: string[] = [];
        for (const bearer of bearers) {
          const headers: Record<string, string> = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
          const answer = await ask(kubectl, collector, `http://${pod!.status.podIP}:${port}/metrics`, { headers });
          seen.push(answer.split(' ')[0]!);
        }
        if (seen.join() !== '401,403,200') throw new Error(`${component}: ${seen.join()}`);
      }
      return 'none 401, of another 403, its own 200';
    },
  },
  {
    what: 'kubectl svc queries through a port-forward of the kubelet',
    async run(stage) {
      const answer = await plugin(stage, ['query', '--output', 'json', 'sum(svc_agent_up)']);
      if (!/"1"/.test(answer) || /"degraded":\s*true/.test(answer)) throw new Error(answer);
      const status = await plugin(stage, ['status']);
      return status.trim().split('\n')[0];
    },
  },
  {
    what: 'the API server serves custom metrics from svc-query',
    async run({ kubectl }) {
      const list = await until('the API is served', () =>
        kubectl(['get', '--raw', '/apis/custom.metrics.k8s.io/v1beta2']),
      );
      return (JSON.parse(list) as { kind: string }).kind;
    },
  },
];
