/** Rollouts and evictions under load must lose no request, though a Service still sends to a pod after its SIGTERM. */
import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { until } from '../../src/testing/until.ts';
import { agentEmail, minterUrl } from '../demo/stage.ts';
import type { Check, Stage } from './check.ts';
import { isReady, podsOf, rollout, type Pod } from './product.ts';

const everyMs = 40;

interface Target {
  readonly namespace: string;
  readonly deployment: string;
  /** Labels of its pods. */
  readonly selector: string;
  readonly port: number;
  readonly tls: boolean;
  /** The nth request. */
  readonly request: (stage: Stage, n: number) => Request;
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The status of a request that was served. */
  readonly status: number;
}

/** One request in this many is for a token: a caller gets only so many tokens a minute. */
const mintEvery = 100;

const targets: readonly Target[] = [
  {
    namespace: 'svc-system',
    deployment: 'svc-query',
    selector: 'app.kubernetes.io/component=query',
    port: 9_095,
    tls: true,
    request: () => ({ method: 'GET', path: '/-/healthy', status: 200 }),
  },
  {
    namespace: 'platform-agent',
    deployment: 'minter',
    selector: 'app.kubernetes.io/component=minter',
    port: 8_080,
    tls: false,
    // Not /version: there a terminating minter reports that it is not ready, although it still mints.
    request({ world }, n) {
      const body = JSON.stringify({ org_name: 'acme', repositories: ['gitops'], scope: 'platform-agent-scope' });
      const post = { method: 'POST', path: '/token', body };
      const headers = { 'content-type': 'application/json' };
      if (n % mintEvery > 0) return { ...post, headers, status: 401 };
      const token = world.issuer.token(agentEmail, minterUrl);
      return { ...post, headers: { ...headers, 'x-oidc-token': token }, status: 200 };
    },
  },
];

/** The CA that the product publishes for its callers. */
export async function publishedAuthority(stage: Stage): Promise<string> {
  const path = '/api/v1/namespaces/svc-system/configmaps/svc-ca-bundle';
  return Object.values((await stage.api.request<{ data: Record<string, string> }>('GET', path)).data).join('\n');
}

/** One request on a connection of its own. */
function send(host: string, to: Target, request: Request, ca: string): Promise<void> {
  const { method, path, headers, body, status } = request;
  const options = { host, port: to.port, method, path, headers, agent: false, timeout: 5_000 };
  const servername = `${to.deployment}.${to.namespace}.svc`;
  return new Promise((resolve, reject) => {
    const req = to.tls ? tlsRequest({ ...options, ca, servername }) : plainRequest(options);
    req.once('response', (answer) => {
      answer.resume().once('end', () => {
        if (answer.statusCode === status) resolve();
        else reject(new Error(`status ${answer.statusCode} in place of ${status}`));
      });
      answer.once('error', reject);
    });
    req.once('timeout', () => req.destroy(new Error('no answer in 5 s')));
    req.once('error', reject);
    req.end(body);
  });
}

/** Sends requests at a steady pace until `done`. Resolves to their number, and the errors of lost requests. */
async function load(
  ask: (n: number) => Promise<void>,
  done: Promise<unknown>,
): Promise<{ sent: number; lost: string[] }> {
  const lost: string[] = [];
  const pending = new Set<Promise<void>>();
  let [sent, over] = [0, false];
  const end = done.finally(() => (over = true));
  end.catch(() => {});
  while (!over) {
    const n = sent++;
    const at = new Date().toISOString();
    const one: Promise<void> = ask(n)
      .catch((error: Error & { code?: string }) => void lost.push(`${at} ${error.code ?? error.message}`))
      .finally(() => pending.delete(one));
    pending.add(one);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  await Promise.all(pending);
  await end;
  return { sent, lost };
}

/** Sends requests during `work` and for ten seconds more, in which the last of the old pods drain. */
async function underLoad(stage: Stage, target: Target, what: string, work: () => Promise<string>): Promise<string> {
  const { namespace, deployment } = target;
  const path = `/api/v1/namespaces/${namespace}/services/${deployment}`;
  const { spec } = await stage.api.request<{ spec: { clusterIP: string } }>('GET', path);
  const ca = await publishedAuthority(stage);
  let done = '';
  const working = (async () => {
    done = await work();
    await new Promise((resolve) => setTimeout(resolve, 10_000));
  })();
  const { sent, lost } = await load((n) => send(spec.clusterIP, target, target.request(stage, n), ca), working);
  const seen = `${lost.length} of ${sent} over ${done} ${what}`;
  if (lost.length > 0) throw new Error(`${seen}: ${lost.slice(0, 10).join('; ')}`);
  return seen;
}

/** Evicts each pod of a Deployment as a drain of its node does, one after the other as the disruption budget allows. */
async function evictAll({ api }: Stage, { namespace, selector }: Target): Promise<number> {
  const pods = (): Promise<Pod[]> => podsOf(api, namespace, selector);
  const all = await pods();
  for (const { metadata } of all) {
    const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name}`;
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: metadata.name, namespace } };
    await until(
      'the budget allows it',
      async () => {
        await api.request('POST', `${path}/eviction`, eviction);
        return true;
      },
      { timeoutMs: 120_000 },
    );
  }
  await until('other pods', pods, {
    good: (now) => now.length === all.length && now.every(isReady) && !now.some((pod) => isAmong(pod, all)),
    timeoutMs: 120_000,
  });
  return all.length;
}

const isAmong = (pod: Pod, pods: readonly Pod[]): boolean =>
  pods.some(({ metadata }) => metadata.uid === pod.metadata.uid);

export const rollouts: readonly Check[] = targets.flatMap((target): Check[] => [
  {
    what: `no request to ${target.deployment} is lost while its pods are replaced`,
    run(stage) {
      const { namespace, deployment } = target;
      return underLoad(stage, target, 'rollouts', async () => {
        for (let i = 0; i < stage.orders.rollouts; i++) {
          await stage.kubectl(['-n', namespace, 'rollout', 'restart', `deployment/${deployment}`]);
          await rollout(stage.kubectl, namespace, `deployment/${deployment}`);
        }
        return String(stage.orders.rollouts);
      });
    },
  },
  {
    what: `no request to ${target.deployment} is lost while its pods are evicted as by a drain`,
    run: (stage) => underLoad(stage, target, 'evictions', async () => String(await evictAll(stage, target))),
  },
]);
