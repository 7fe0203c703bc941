/** The product's pods, as the kubelet and the runtime run them. */
import { availableParallelism, loadavg } from 'node:os';
import type { Check, Stage } from './check.ts';
import { isReady, podsOf, type Pod } from './product.ts';

const namespaces = ['svc-system', 'platform-agent'];

async function allPods(stage: Stage): Promise<Pod[]> {
  return (await Promise.all(namespaces.map((namespace) => podsOf(stage.api, namespace)))).flat();
}

/** The kernel's status of a process that `kubectl exec` starts in a container. */
async function processStatus(stage: Stage, pod: Pod, container: string): Promise<Map<string, string>> {
  const text = await stage.kubectl([
    ...['-n', pod.metadata.namespace, 'exec', pod.metadata.name, '-c', container, '--'],
    ...['node', '-e', 'process.stdout.write(require("fs").readFileSync("/proc/self/status","utf8"))'],
  ]);
  return new Map(text.split('\n').map((line) => line.split(/:\s*/, 2) as [string, string]));
}

interface EventList {
  items: { type: string; reason: string; message: string; involvedObject: { namespace?: string; name: string } }[];
}

export const pods: readonly Check[] = [
  {
    what: 'every pod is Ready, and no container was restarted',
    async run(stage) {
      const found = await allPods(stage);
      const unready = found.filter((pod) => !isReady(pod)).map((pod) => pod.metadata.name);
      if (unready.length > 0) throw new Error(`not ready: ${unready.join(', ')}`);
      const restarts = found.flatMap((pod) =>
        (pod.status.containerStatuses ?? []).map((c) => ({
          name: `${pod.metadata.name}/${c.name}`,
          n: c.restartCount,
        })),
      );
      const restarted = restarts.filter(({ n }) => n > 0);
      if (restarted.length > 0) throw new Error(restarted.map(({ name, n }) => `${name} ${n}`).join(', '));
      return `${found.length} pods, ${restarts.length} containers`;
    },
  },
  {
    what: 'the processes of operator, query, agent and minter have no capability, cannot gain one, and are not root',
    async run(stage) {
      const targets: [string, string, string][] = [
        ['svc-system', 'app.kubernetes.io/component=controller', 'controller'],
        ['svc-system', 'app.kubernetes.io/component=query', 'query'],
        ['svc-system', 'app.kubernetes.io/component=agent', 'agent'],
        ['platform-agent', 'app.kubernetes.io/component=minter', 'minter'],
      ];
      for (const [namespace, selector, container] of targets) {
        const [pod] = await podsOf(stage.api, namespace, selector);
        if (!pod) throw new Error(`no pod ${selector}`);
        const status = await processStatus(stage, pod, container);
        const seen = ['Uid', 'CapBnd', 'CapEff', 'NoNewPrivs', 'Seccomp'].map((name) => `${name}=${status.get(name)}`);
        const wanted = /^Uid=65532\t.*CapBnd=0{16} CapEff=0{16} NoNewPrivs=1 Seccomp=2$/;
        if (!wanted.test(seen.join(' '))) throw new Error(`${container}: ${seen.join(' ')}`);
      }
      return targets.map(([, , container]) => container).join(', ');
    },
  },
  {
    what: 'the start of the pods left no warnings of startup or liveness probes',
    async run(stage) {
      const lists = await Promise.all(
        namespaces.map((n) => stage.api.request<EventList>('GET', `/api/v1/namespaces/${n}/events`)),
      );
      const warnings = lists
        .flatMap(({ items }) => items)
        .filter(({ type, reason }) => type === 'Warning' && reason === 'Unhealthy')
        .map(({ involvedObject, message }) => `${involvedObject.name}: ${message}`);
      const wrong = warnings.filter((message) => !message.includes('Readiness probe'));
      // The delay before the first probe suits an ordinary node, not a busy one.
      if (wrong.length > 0 && busy()) return `not judged, the machine is busy: ${wrong.join('; ')}`;
      if (wrong.length > 0) throw new Error(wrong.join('; '));
      // During a start, failed readiness probes are normal; the kubelet reports them as warnings all the same.
      return warnings.length === 0 ? 'none of readiness either' : warnings.join('; ');
    },
  },
];

/** More than three processes wait for each processor. */
const busy = (): boolean => loadavg()[0]! > 3 * availableParallelism();
