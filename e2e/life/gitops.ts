import type { Condition, KubeObject } from '../../src/api/meta.ts';
import { canonicalJson } from '../../src/base/canonical-json.ts';
import { argoHealth } from '../../src/testing/gitops/argo-health.ts';
import { kstatus } from '../../src/testing/gitops/kstatus.ts';
import { until } from '../../src/testing/until.ts';
import {
  aMinter,
  aMonitor,
  aPolicy,
  appCredentials,
  minterDeploymentPath,
  minterPath,
  monitorPath,
  policyPath,
  type LifeStage,
  type RunningOperator,
} from './stage.ts';

let stage: LifeStage;
let operator: RunningOperator | undefined;

const objects = [aMinter(), aMonitor(), aPolicy({ defaults: { protocols: ['HTTP'] } }), appCredentials];
const paths = [minterPath, monitorPath, policyPath];

/** Ways to apply: server-side as Flux does, or client-side with the annotation, as Argo CD does by default. */
const styles: [string, string[]][] = [
  [
    'by kubectl as Flux does it, server-side',
    ['--server-side', '--force-conflicts', '--field-manager=kustomize-controller'],
  ],
  ['by kubectl as Argo CD does it, client-side', ['--field-manager=argocd-controller']],
  [
    'by kubectl as Argo CD does it, server-side',
    ['--server-side', '--force-conflicts', '--field-manager=argocd-controller'],
  ],
  ['by a person, client-side', []],
];

const children: [string, string][] = [
  ['Deployment', minterDeploymentPath],
  ['Service', '/api/v1/namespaces/agents/services/minter'],
  ['ConfigMap', '/api/v1/namespaces/agents/configmaps/minter-rules'],
  ['NetworkPolicy', '/apis/networking.k8s.io/v1/namespaces/agents/networkpolicies/minter'],
  ['ServiceAccount', '/api/v1/namespaces/agents/serviceaccounts/minter'],
  ['PodDisruptionBudget', '/apis/policy/v1/namespaces/agents/poddisruptionbudgets/minter'],
];

async function allObserved(): Promise<void> {
  for (const path of paths) {
    await until(`a status of ${path.split('/').at(-1) ?? ''}`, async () => {
      const { metadata, ...rest } = await stage.get(path);
      const status = rest['status'] as { observedGeneration?: number; conditions?: unknown[] };
      return status.observedGeneration === metadata.generation && status.conditions !== undefined;
    });
  }
  await until('the Deployment', () => stage.find(minterDeploymentPath));
  await stage.until(policyPath, 'Ready', 'True');
  await stage.until(policyPath, 'CertificateExpiring', 'False');
  await stage.until(minterPath, 'AppCredentialsFound', 'True');
  await stage.until(minterPath, 'Ready', 'False', 'MinimumReplicasUnavailable');
}

/** The children and the conditions that a user sees, without fields that differ each time an object is created. */
async function endState(): Promise<Record<string, unknown>> {
  const state: Record<string, unknown> = {};
  for (const [kind, path] of children) {
    const { metadata, ...rest } = await stage.get(path);
    const { status: _, ...body } = rest as { status?: unknown; spec?: Record<string, unknown> };
    // The API server assigns addresses.
    if (kind === 'Service') for (const name of ['clusterIP', 'clusterIPs']) delete body.spec?.[name];
    state[kind] = JSON.parse(canonicalJson({ labels: metadata.labels, body })) as unknown;
  }
  for (const path of paths) {
    const { status } = (await stage.get(path)) as {
      status?: { conditions?: { type: string; status: string; reason: string }[] };
    };
    const settled = (status?.conditions ?? []).filter(
      (c) => !['Available', 'Progressing', 'CustomMetricsAvailable'].includes(c.type),
    );
    state[path] = settled.map((c) => `${c.type}=${c.status}/${c.reason}`).toSorted();
  }
  return state;
}

const removeAll = async (): Promise<void> => {
  // Deletes as pruning does: in the background, and the children go with their owner.
  await stage.kubectl('delete', '--cascade=background', 'ctp/default');
  await stage.kubectl('-n', 'shop', 'delete', '--cascade=background', 'tm/checkout');
  await stage.kubectl('-n', 'agents', 'delete', '--cascade=background', 'md/minter');
  await stage.kubectl('-n', 'agents', 'delete', 'secret', 'vcs-app-credentials');
  for (const [, path] of children) await until(`${path} gone`, async () => (await stage.find(path)) === undefined);
};

/**
 * Applies objects as GitOps controllers do: by other field managers, client-side and server-side, in any order, pruned
 * and created again. Then reads, as such controllers do, the statuses that the operator wrote. kubectl stands in for
 * the controllers. Our copy of the kstatus rules stands in for the health checks of Flux, and another Lua interpreter
 * stands in for Argo CD's own. `make e2e-peers` runs the real ones.
 */
export function gitops(of: () => LifeStage): void {
  beforeAll(() => void (stage = of()));
  afterAll(async () => {
    await removeAll();
    await operator?.stop();
  });

  describe('the end state is the same', () => {
    let expected: Record<string, unknown>;

    test('when objects exist before the operator', async () => {
      await stage.apply(objects, ...styles[0]![1]);
      // The operator has not seen them yet, and their status says so.
      for (const path of paths) expect(kstatus(await stage.get(path)).status).toBe('InProgress');
      operator = await stage.startOperator();
      await allObserved();
      expected = await endState();
      expect(Object.keys(expected)).toHaveLength(children.length + paths.length);
    });

    test.each(styles)('when they are applied again and again %s', async (_style, flags) => {
      const generations = async (): Promise<(number | undefined)[]> =>
        Promise.all([...paths, minterDeploymentPath].map(async (path) => (await stage.get(path)).metadata.generation));
      const before = await generations();
      await stage.apply(objects, ...flags);
      await stage.apply(objects, ...flags);
      expect(await generations()).toEqual(before);
      expect(await endState()).toEqual(expected);
    });

    test.each([
      ['pruned and made again, in the reverse order', styles[1]![1], objects.toReversed()],
      ['pruned and made again by a person', styles[3]![1], objects],
    ] as const)('when they are %s', async (_what, flags, order) => {
      await removeAll();
      for (const object of order) await stage.apply([object], ...flags);
      await allObserved();
      expect(await endState()).toEqual(expected);
    });

    test('when they change while no operator runs', async () => {
      await operator!.stop();
      await removeAll();
      await stage.apply(objects, ...styles[2]![1]);
      operator = await stage.startOperator();
      await allObserved();
      expect(await endState()).toEqual(expected);
    });
  });

  describe('tools understand the statuses that were written', () => {
    const wait = (...args: string[]): Promise<string> => stage.kubectl('wait', '--timeout=30s', ...args);

    test('kubectl wait', async () => {
      expect(await wait('--for=condition=Ready', 'ctp/default')).toContain('condition met');
      expect(await wait('--for=condition=Ready', '-n', 'shop', 'tm/checkout')).toContain('condition met');
      expect(await wait('--for=condition=AppCredentialsFound', '-n', 'agents', 'md/minter')).toContain('condition met');
      expect(await wait('--for=condition=Available=False', '-n', 'agents', 'md/minter')).toContain('condition met');
      expect(await wait('--for=jsonpath={.status.observedGeneration}=1', '-n', 'shop', 'tm/checkout')).toContain(
        'condition met',
      );
    });

    test('kstatus and our Argo CD script read ready objects as Current, a waiting minter as InProgress', async () => {
      for (const path of [policyPath, monitorPath]) {
        const object = await stage.get(path);
        expect(kstatus(object)).toMatchObject({ status: 'Current' });
        expect(await argoHealth(object)).toMatchObject({ status: 'Healthy' });
      }
      const minter = await stage.get(minterPath);
      expect(kstatus(minter)).toMatchObject({ status: 'InProgress' });
      expect(await argoHealth(minter)).toMatchObject({ status: 'Progressing' });
    });

    test('kstatus and our Argo CD script read a stalled minter as Failed', async () => {
      await stage.kubectl('-n', 'agents', 'delete', 'secret', 'vcs-app-credentials');
      await stage.until(minterPath, 'Stalled', 'True', 'MissingDependency');
      const minter = await stage.get(minterPath);
      expect(kstatus(minter)).toMatchObject({ status: 'Failed' });
      expect(await argoHealth(minter)).toMatchObject({ status: 'Degraded' });
      await stage.apply([appCredentials]);
      await stage.until(minterPath, 'AppCredentialsFound', 'True');
    });

    test('no state between an old and a new generation reads as done', async () => {
      const seen: KubeObject[] = [];
      let done = false;
      const watching = until('the end', async () => {
        seen.push(await stage.get(policyPath));
        return done;
      });
      const { generation = 0 } = (await stage.get(policyPath)).metadata;
      await stage.apply([aPolicy({ defaults: { protocols: ['HTTP', 'GRPC'] } })]);
      await until('the new status', async () => {
        const object = await stage.get(policyPath);
        seen.push(object);
        return kstatus(object).status === 'Current' && object.metadata.generation === generation + 1;
      });
      done = true;
      await watching;
      const asDone = seen.filter((o) => o.metadata.generation === generation + 1 && kstatus(o).status === 'Current');
      expect(asDone).not.toHaveLength(0);
      for (const object of asDone) {
        const { observedGeneration, conditions } = object['status'] as {
          observedGeneration: number;
          conditions: Condition[];
        };
        const ready = conditions.find(({ type }) => type === 'Ready');
        expect([observedGeneration, ready?.observedGeneration]).toEqual([generation + 1, generation + 1]);
      }
    });

    test('the transition time of a condition stays while its status stays', async () => {
      const before = await stage.until(policyPath, 'Accepted', 'True');
      await until('a later second', async () => Date.now() > Date.parse(before.lastTransitionTime) + 1_000);
      await stage.apply([aPolicy({ defaults: { protocols: ['GRPC'] } })]);
      const after = await until('the next generation', async () => {
        const found = await stage.condition(policyPath, 'Accepted');
        const { generation } = (await stage.get(policyPath)).metadata;
        return found?.observedGeneration === generation && stage.condition(policyPath, 'Accepted');
      });
      expect(after).toMatchObject({ status: 'True', observedGeneration: before.observedGeneration! + 1 });
      expect(after!.lastTransitionTime).toBe(before.lastTransitionTime);
    });
  });
}
