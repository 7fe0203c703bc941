/** Pods of a team on the node, of the product's own image: a server that is watched, and one to ask from. */
import type { Kubectl } from '../cluster/kubectl.ts';

const server = `require('http').createServer((q, a) => a.end('hello')).listen(8080)`;

function pod(namespace: string, name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels: { app: name } },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [{ name, image: 'svc-operator:0.1.0', command: ['node', '-e', server] }],
    },
  };
}

/** Makes a namespace, if there is none, and pods in it; resolves when they are Ready. */
export async function runPods(kubectl: Kubectl, namespace: string, ...names: string[]): Promise<void> {
  const space = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
  const items = [space, ...names.map((name) => pod(namespace, name))];
  await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) });
  const wanted = names.map((name) => `pod/${name}`);
  await kubectl(['-n', namespace, 'wait', '--for=condition=Ready', '--timeout=60s', ...wanted], { timeoutMs: 70_000 });
}

/** Runs a program of Node in a pod, as a module; resolves with what it printed. */
export function runIn(kubectl: Kubectl, namespace: string, name: string, script: string): Promise<string> {
  return kubectl(['-n', namespace, 'exec', name, '--', 'node', '--input-type=module', '-e', script]);
}

/**
 * A request from inside a pod. Resolves with status and the beginning of the body, or `error CODE`.
 * Shape: `ca` is a PEM text; without one a certificate is not looked at.
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
