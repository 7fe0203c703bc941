/**
 * The pods of a team. They run the product's own image, serve requests and send some, and their traffic is captured.
 */
import type { Kubectl } from '../cluster/kubectl.ts';

const server = `require('http').createServer((q, a) => a.end('hello')).listen(8080)`;

/** Labels and spec of a pod that serves. */
export const serverPod = (name: string): { metadata: object; spec: object } => ({
  metadata: { labels: { app: name } },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name, image: 'svc-operator:0.1.0', command: ['node', '-e', server] }],
  },
});

function pod(namespace: string, name: string): object {
  const { metadata, spec } = serverPod(name);
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, namespace, name }, spec };
}

/** Makes a namespace, if there is none, and pods in it; resolves when they are Ready. */
export async function runPods(kubectl: Kubectl, namespace: string, ...names: string[]): Promise<void> {
  const space = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
  const items = [space, ...names.map((name) => pod(namespace, name))];
  await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) });
  const wanted = names.map((name) => `pod/${name}`);
  await kubectl(['-n', namespace, 'wait', '--for=condition=Ready', '--timeout=60s', ...wanted], { timeoutMs: 70_000 });
}

/**
 * Applies a monitor of the pods `app=web`, and a policy that lets capture restart every second, so that edits hardly
 * wait.
 */
export async function watchWeb(kubectl: Kubectl): Promise<void> {
  const policy = {
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'ClusterTrafficPolicy',
    metadata: { name: 'default' },
    spec: { rollout: { minInterval: '1s', maxUnavailable: 1 } },
  };
  const monitor = {
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'TrafficMonitor',
    metadata: { namespace: 'shop', name: 'web' },
    spec: { selector: { matchLabels: { app: 'web' } }, ports: [{ port: 8_080 }] },
  };
  const list = { apiVersion: 'v1', kind: 'List', items: [policy, monitor] };
  await kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { stdin: JSON.stringify(list) });
}

/** Runs a Node module in a pod; resolves to its output. */
export function runIn(kubectl: Kubectl, namespace: string, name: string, script: string): Promise<string> {
  return kubectl(['-n', namespace, 'exec', name, '--', 'node', '--input-type=module', '-e', script]);
}

/**
 * Sends a request from inside a pod. Resolves to status and the beginning of the body, or `error CODE`.
 * Shape: `ca` is PEM; without `ca` the certificate is not verified.
 */
export async function ask(
  kubectl: Kubectl,
  from: { namespace: string; name: string },
  url: string,
  options: { headers?: Readonly<Record<string, string>>; ca?: string } = {},
): Promise<string> {
  const script = `
    import http from 'node:http';
    import https from 'node:https';
    const url = ${JSON.stringify(url)};
    const ca = ${JSON.stringify(options.ca ?? null)};
    const settings = { headers: ${JSON.stringify(options.headers ?? {})}, timeout: 3000, agent: false,
      ...(ca === null ? { rejectUnauthorized: false } : { ca }) };
    const request = (url.startsWith('https') ? https : http).get(url, settings, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part) => (text += part)).on('end', () => console.log(answer.statusCode + ' ' + text.slice(0, 2000)));
    });
    request.on('timeout', () => request.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })));
    request.on('error', (error) => console.log('error ' + (error.code ?? error.message)));`;
  return (await runIn(kubectl, from.namespace, from.name, script)).trim();
}
