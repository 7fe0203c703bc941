/**
 * The product on the node: installed as the README says, with the samples, and a minter with stand-ins for what it
 * calls outside the cluster.
 */
import { join } from 'node:path';
import type { Api } from '../cluster/api.ts';
import type { Kubectl } from '../cluster/kubectl.ts';
import type { OutsideWorld } from '../demo/outside-world.ts';
import { repository } from '../install/tools.ts';

export interface Product {
  readonly api: Api;
  readonly kubectl: Kubectl;
}

const file = (path: string): string => join(repository, path);

/** Runs the README's commands, and waits until everything that the operator makes is ready. */
export async function install({ kubectl }: Product, log: (line: string) => void): Promise<void> {
  await kubectl(['apply', '--server-side', '-f', file('manifests/install.yaml')]);
  log('manifests/install.yaml is applied');
  await rollout(kubectl, 'svc-system', 'deployment/svc-controller');
  log('the operator is ready');
  for (const workload of ['daemonset/svc-agent', 'deployment/svc-query']) {
    await kubectl(['-n', 'svc-system', 'wait', '--for=create', '--timeout=60s', workload], { timeoutMs: 70_000 });
    await rollout(kubectl, 'svc-system', workload);
    log(`${workload} is ready`);
  }
}

export function rollout(kubectl: Kubectl, namespace: string, workload: string): Promise<string> {
  return kubectl(['-n', namespace, 'rollout', 'status', workload, '--timeout=240s'], { timeoutMs: 250_000 });
}

/** Installs the sample's minter with the addresses of the outside world; resolves when it is Ready. */
export async function installMinter({ kubectl }: Product, world: OutsideWorld): Promise<void> {
  await kubectl(['apply', '-f', file('config/samples/namespaces.yaml'), '-f', file('config/minter/rights.yaml')]);
  await kubectl([
    '-n',
    'platform-agent',
    'create',
    'secret',
    'generic',
    'vcs-app-credentials',
    `--from-literal=app-id=${world.appId}`,
  ]);
  const spec = {
    vcs: { apiBaseURL: world.platform.apiBaseUrl },
    issuer: { url: world.issuer.issuer, jwksURI: world.issuer.jwksUri },
    metrics: { allowedScrapers: { podSelector: { matchLabels: { app: 'prometheus' } } } },
  };
  const sample = file('config/samples/minterdeployment.yaml');
  const minter = await kubectl([
    'patch',
    '--local',
    '-f',
    sample,
    '--type=merge',
    '-o',
    'json',
    '-p',
    JSON.stringify({ spec }),
  ]);
  await kubectl(['apply', '-f', '-'], { stdin: minter });
  await kubectl(['-n', 'platform-agent', 'wait', '--for=condition=Ready', '--timeout=120s', 'md/minter'], {
    timeoutMs: 130_000,
  });
}

export interface Pod {
  readonly metadata: {
    name: string;
    namespace: string;
    uid: string;
    labels?: Record<string, string>;
    deletionTimestamp?: string;
  };
  readonly spec: { containers: { name: string; image?: string }[] };
  readonly status: {
    podIP?: string;
    hostIP?: string;
    conditions?: { type: string; status: string }[];
    containerStatuses?: { name: string; restartCount: number; ready: boolean; state: object; containerID?: string }[];
  };
}

export async function podsOf(api: Api, namespace: string, selector = ''): Promise<Pod[]> {
  const query = selector ? `?labelSelector=${encodeURIComponent(selector)}` : '';
  return (await api.request<{ items: Pod[] }>('GET', `/api/v1/namespaces/${namespace}/pods${query}`)).items;
}

export const isReady = (pod: Pod): boolean =>
  pod.metadata.deletionTimestamp === undefined &&
  (pod.status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false);
