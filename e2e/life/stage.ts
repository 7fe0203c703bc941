import { join } from 'node:path';
import type { Condition, KubeObject } from '../../src/api/meta.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/logger.ts';
import { readSettings } from '../../src/base/settings.ts';
import { operatorSettingTable, runOperator } from '../../src/controllers/index.ts';
import { renderMinterRights } from '../../src/render/index.ts';
import { installCrds } from '../api/install.ts';
import { repository } from '../install/tools.ts';
import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { until } from '../../src/testing/until.ts';
import { createAudit, type Audit } from './audit.ts';

/**
 * A real control plane without nodes, and the real operator in this process with exactly the rights of the rendered
 * role. Pods stay pending, which is enough for tests about objects.
 */
export interface LifeStage {
  cluster: Cluster;
  audit: Audit;
  kubectl(...args: string[]): Promise<string>;
  apply(objects: readonly object[], ...flags: string[]): Promise<string>;
  get<T extends KubeObject = KubeObject>(path: string): Promise<T>;
  find(path: string): Promise<KubeObject | undefined>;
  /** The condition of an object; undefined while it is not there. */
  condition(path: string, type: string): Promise<Condition | undefined>;
  /** Waits for a condition with this status, and with this reason if one is given. */
  until(path: string, type: string, status: string, reason?: string): Promise<Condition>;
  /** Notes of all Events with this reason. */
  events(reason: string): Promise<string[]>;
  startOperator(flags?: Record<string, string>): Promise<RunningOperator>;
  stop(): Promise<void>;
}

export interface RunningOperator {
  lines: Record<string, unknown>[];
  /** Stops the operator. Rejects if the operator ended with an error. */
  stop(): Promise<void>;
}

export const operatorUser = 'system:serviceaccount:svc-system:svc-controller';
export const minterPath = '/apis/svc.dev/v1alpha1/namespaces/agents/minterdeployments/minter';
export const minterDeploymentPath = '/apis/apps/v1/namespaces/agents/deployments/minter';

export async function startLifeStage(): Promise<LifeStage> {
  const audit = createAudit();
  const cluster = await startCluster({ nodes: 0, apiServerFlags: audit.flags });
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(args);
  const running = new Set<RunningOperator>();
  const get = <T extends KubeObject = KubeObject>(path: string): Promise<T> => cluster.api.request<T>('GET', path);
  const find = (path: string): Promise<KubeObject | undefined> =>
    get(path).catch((error: { status?: number }) => {
      if (error.status !== 404) throw error;
      return undefined;
    });
  const condition = async (path: string, type: string): Promise<Condition | undefined> => {
    const status = (await find(path))?.['status'] as { conditions?: Condition[] } | undefined;
    return status?.conditions?.find((c) => c.type === type);
  };
  await installCrds(cluster);
  // The garbage collector of the controller manager discovers new kinds every 30 s. Until then it cannot look up the
  // owners of our children, and retries with back-off. A restart discovers our kinds immediately.
  await cluster.controllerManager.restart();
  await kubectl('apply', '--server-side', '-f', join(repository, 'manifests/install.yaml'));
  // The operator's own Deployment would never get a running pod here: only its role and account are needed.
  await kubectl('-n', 'svc-system', 'scale', 'deployment', 'svc-controller', '--replicas=0');
  await kubectl('create', 'namespace', 'agents');
  await kubectl('create', 'namespace', 'shop');
  await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(renderMinterRights('svc-system', 'agents')) });
  const before = process.env['KUBECONFIG'];
  process.env['KUBECONFIG'] = await cluster.kubeconfigFor(operatorUser, [
    'system:serviceaccounts',
    'system:serviceaccounts:svc-system',
    'system:authenticated',
  ]);
  return {
    cluster,
    audit,
    kubectl,
    get,
    find,
    condition,
    apply: (objects, ...flags) =>
      cluster.kubectl(['apply', ...flags, '-f', '-'], { stdin: objects.map((o) => JSON.stringify(o)).join('\n') }),
    until: (path, type, status, reason) =>
      until(`${type}=${status}${reason ? `/${reason}` : ''} on ${path.split('/').at(-1) ?? ''}`, async () => {
        const found = await condition(path, type);
        if (found?.status === status && (reason === undefined || found.reason === reason)) return found;
        throw new Error(`it is ${JSON.stringify(found)}`);
      }),
    async events(reason) {
      const { items } = await cluster.api.request<{ items: { reason: string; note?: string }[] }>(
        'GET',
        '/apis/events.k8s.io/v1/events',
      );
      return items.filter((e) => e.reason === reason).map((e) => e.note ?? '');
    },
    async startOperator(flags = {}) {
      const lines: Record<string, unknown>[] = [];
      const abort = new AbortController();
      const settings = readSettings(operatorSettingTable, {
        flags: { bindAddress: '127.0.0.1', metricsPort: '0', leaderElect: 'false', ...flags },
        env: {},
        prefix: 'SVC_',
      });
      const logger = createLogger({ write: (line) => void lines.push(JSON.parse(line) as never) });
      const ended = runOperator(settings, { logger, clock: systemClock, signal: abort.signal });
      ended.catch(() => {});
      const operator: RunningOperator = {
        lines,
        async stop() {
          running.delete(operator);
          abort.abort();
          await ended;
        },
      };
      running.add(operator);
      return operator;
    },
    async stop() {
      for (const operator of running) await operator.stop().catch(() => {});
      if (before === undefined) delete process.env['KUBECONFIG'];
      else process.env['KUBECONFIG'] = before;
      await cluster.stop();
      audit.remove();
    },
  };
}

const email = 'agent@proj.iam.gserviceaccount.com';

/** A MinterDeployment as a person writes it; `spec` is merged over it, one level deep. */
export function aMinter(spec: object = {}): KubeObject {
  return {
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'MinterDeployment',
    metadata: { name: 'minter', namespace: 'agents' },
    spec: {
      image: 'svc-minter:0.1.0',
      vcs: { org: 'acme', repository: 'gitops' },
      kms: { keyVersion: 'projects/p/locations/global/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1' },
      rules: { inline: { scopes: [{ name: 'main', emails: [email], permissions: { contents: 'write' } }] } },
      ...spec,
    },
  };
}

export const appCredentials = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'vcs-app-credentials', namespace: 'agents' },
  stringData: { 'app-id': '12345' },
};
export const aPolicy = (spec: object = {}): KubeObject => ({
  apiVersion: 'svc.dev/v1alpha1',
  kind: 'ClusterTrafficPolicy',
  metadata: { name: 'default' },
  spec,
});
export const aMonitor = (spec: object = { selector: { matchLabels: { app: 'checkout' } } }): KubeObject => ({
  apiVersion: 'svc.dev/v1alpha1',
  kind: 'TrafficMonitor',
  metadata: { name: 'checkout', namespace: 'shop' },
  spec,
});
export const policyPath = '/apis/svc.dev/v1alpha1/clustertrafficpolicies/default';
export const monitorPath = '/apis/svc.dev/v1alpha1/namespaces/shop/trafficmonitors/checkout';
