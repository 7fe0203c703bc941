/** Upgrades over the objects of this version and of earlier releases, key rotation, and removal. */
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../../src/api/meta.ts';
import { renderMinterRights } from '../../src/render/index.ts';
import { repository } from '../install/tools.ts';
import { until } from '../../src/testing/until.ts';
import { applyRelease, releases } from './releases.ts';
import {
  aMinter,
  aMonitor,
  aPolicy,
  appCredentials,
  minterDeploymentPath,
  monitorPath,
  policyPath,
  startLifeStage,
  type LifeStage,
  type RunningOperator,
} from './stage.ts';

let stage: LifeStage;
let operator: RunningOperator;
const agent = '/apis/apps/v1/namespaces/svc-system/daemonsets/svc-agent';
const query = '/apis/apps/v1/namespaces/svc-system/deployments/svc-query';
const releasedMinter = '/apis/apps/v1/namespaces/platform-agent/deployments/minter';

beforeAll(async () => {
  stage = await startLifeStage();
});
afterAll(() => stage?.stop());

const templateOf = async (path: string): Promise<unknown> =>
  ((await stage.get(path))['spec'] as { template: unknown }).template;
const replicaSets = async (namespace: string): Promise<string[]> =>
  (await stage.kubectl('-n', namespace, 'get', 'replicasets', '-o', 'name')).split('\n').filter(Boolean);

/** Earlier version → the workloads that an upgrade from it restarts. The changelog names each of them. */
const restarts: Readonly<Record<string, readonly string[]>> = {
  'v0.1.0': [agent, query, releasedMinter],
};

describe.each(releases)('what %s left in a cluster', (version) => {
  test('is taken over, and no pod restarts except those that the changelog names', async () => {
    await applyRelease(stage, version);
    // As the upgrade guide says, the operator's rights for minters are granted in each namespace.
    await stage.apply([renderMinterRights('svc-system', 'platform-agent')]);
    const workloads = [agent, query, releasedMinter];
    await until('the ReplicaSets', async () => {
      const sets = await Promise.all([replicaSets('svc-system'), replicaSets('platform-agent')]);
      return sets.every(({ length }) => length > 0);
    });
    const before = await Promise.all(workloads.map(templateOf));
    const sets = await replicaSets('platform-agent');
    operator = await stage.startOperator();
    await stage.until(policyPath, 'Ready', 'True');
    // The operator writes this condition once it has applied everything of the platform.
    await stage.until(policyPath, 'CertificateExpiring', 'False');
    await stage.until(
      '/apis/svc.dev/v1alpha1/namespaces/platform-agent/minterdeployments/minter',
      'AppCredentialsFound',
      'True',
    );
    await operator.stop();
    const after = await Promise.all(workloads.map(templateOf));
    const changed = workloads.filter((_, i) => !isDeepStrictEqual(after[i], before[i]));
    expect(changed).toEqual(restarts[version] ?? []);
    if (!changed.includes(releasedMinter)) expect(await replicaSets('platform-agent')).toEqual(sets);
    // The old objects have an owner now, so they are removed with it.
    const { metadata } = await stage.get(releasedMinter);
    expect(metadata.ownerReferences).toMatchObject([{ kind: 'MinterDeployment', name: 'minter', controller: true }]);
  });
});

describe('the next version', () => {
  beforeAll(async () => {
    operator = await stage.startOperator();
    await stage.apply([appCredentials, aMinter(), aPolicy(), aMonitor()]);
    await until('the minter', () => stage.find(minterDeploymentPath));
    await stage.until(policyPath, 'Ready', 'True');
  });

  test('changes no pod template of this version, and removes what is no longer rendered', async () => {
    const before = await Promise.all([agent, query, minterDeploymentPath].map(templateOf));
    const sets = [await replicaSets('agents'), await replicaSets('svc-system')];
    await operator.stop();
    // What an earlier version left behind: an object and a label that are no longer rendered.
    const labels = {
      'app.kubernetes.io/name': 'svc-operator',
      'app.kubernetes.io/managed-by': 'svc-controller',
      'app.kubernetes.io/component': 'agent',
    };
    const old: KubeObject = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'svc-agent-old', namespace: 'svc-system', labels },
      ...{ spec: { ports: [{ port: 1 }], selector: { app: 'none' } } },
    };
    await stage.apply([old], '--server-side', '--field-manager=svc-controller/platform');
    await stage.kubectl(
      '-n',
      'svc-system',
      'label',
      'service',
      'svc-agent',
      'svc.dev/version=old',
      '--field-manager=svc-controller/platform',
    );
    operator = await stage.startOperator({ logLevel: 'info' });
    await until(
      'the pruning',
      async () => (await stage.find('/api/v1/namespaces/svc-system/services/svc-agent-old')) === undefined,
    );
    await stage.until(policyPath, 'Ready', 'True');
    expect(await Promise.all([agent, query, minterDeploymentPath].map(templateOf))).toEqual(before);
    expect([await replicaSets('agents'), await replicaSets('svc-system')]).toEqual(sets);
  });

  test('with a new image, rolls out the workloads that run it, and no minter', async () => {
    const minter = await templateOf(minterDeploymentPath);
    const sets = await replicaSets('agents');
    await operator.stop();
    operator = await stage.startOperator({ svcImage: 'svc-operator:0.2.0' });
    await until('the new image', async () =>
      (await Promise.all([agent, query].map(templateOf))).every((template) =>
        JSON.stringify(template).includes('svc-operator:0.2.0'),
      ),
    );
    expect(await templateOf(minterDeploymentPath)).toEqual(minter);
    expect(await replicaSets('agents')).toEqual(sets);
  });

  test('finds no object stored in an API version that is not served', async () => {
    for (const name of ['trafficmonitors', 'clustertrafficpolicies', 'minterdeployments']) {
      const crd = await stage.get(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}.svc.dev`);
      expect((crd['status'] as { storedVersions: string[] }).storedVersions).toEqual(['v1alpha1']);
    }
  });

  test('rotates the minter’s key: nextKeyVersion is only checked, a new keyVersion is used by the pods', async () => {
    const key = 'projects/p/locations/global/keyRings/r/cryptoKeys/k/cryptoKeyVersions';
    const patch = (kms: object): Promise<string> =>
      stage.kubectl('-n', 'agents', 'patch', 'md', 'minter', '--type=merge', '-p', JSON.stringify({ spec: { kms } }));
    const env = async (): Promise<Record<string, string>> => {
      const template = (await templateOf(minterDeploymentPath)) as {
        spec: { containers: { env: { name: string; value: string }[] }[] };
      };
      return Object.fromEntries(template.spec.containers[0]!.env.map((e) => [e.name, e.value]));
    };
    await patch({ nextKeyVersion: `${key}/2` });
    await until('the check', async () => (await env())['KMS_NEXT_KEY_VERSION'] === `${key}/2`);
    expect(await env()).toMatchObject({ KMS_KEY_VERSION: `${key}/1` });
    await patch({ keyVersion: `${key}/2`, nextKeyVersion: null });
    await until('the promotion', async () => (await env())['KMS_KEY_VERSION'] === `${key}/2`);
    expect(await env()).not.toHaveProperty('KMS_NEXT_KEY_VERSION');
  });
});

describe('removal', () => {
  test('a deleted MinterDeployment removes all its objects, and the Secret that a user made stays', async () => {
    await stage.kubectl('-n', 'agents', 'delete', 'md', 'minter', '--wait');
    await until('nothing of it', async () => {
      const kinds =
        'deployments,replicasets,pods,services,configmaps,serviceaccounts,networkpolicies,poddisruptionbudgets';
      const left = await stage.kubectl(
        '-n',
        'agents',
        'get',
        kinds,
        '-l',
        'app.kubernetes.io/component=minter',
        '-o',
        'name',
      );
      return left.trim() === '';
    });
    expect(await stage.find('/api/v1/namespaces/agents/secrets/vcs-app-credentials')).toBeDefined();
  });

  test('deleted monitors and policies are gone immediately, with or without an operator', async () => {
    await stage.kubectl('-n', 'shop', 'delete', 'tm', 'checkout', '--timeout=10s');
    expect(await stage.find(monitorPath)).toBeUndefined();
    await operator.stop();
    await stage.kubectl('delete', 'ctp', 'default', '--timeout=10s');
    expect(await stage.find(policyPath)).toBeUndefined();
  });

  test('a deleted installation leaves nothing behind', async () => {
    await stage.kubectl('delete', '--wait', '--timeout=100s', '-f', join(repository, 'manifests/install.yaml'));
    // Rights in single namespaces are removed by whoever granted them, as the guide says.
    await stage.kubectl('delete', 'rolebindings', '-A', '-l', 'app.kubernetes.io/name=svc-operator');
    await until(
      'nothing of it in the cluster',
      async () => {
        const kinds =
          'namespaces,crds,clusterroles,clusterrolebindings,priorityclasses,apiservices,validatingwebhookconfigurations,mutatingwebhookconfigurations';
        const everywhere = await stage.kubectl('get', kinds, '-o', 'name');
        const inside = await stage.kubectl(
          'get',
          'all,configmaps,secrets,rolebindings,roles',
          '-A',
          '-l',
          'app.kubernetes.io/name=svc-operator',
          '-o',
          'name',
        );
        const left = `${everywhere}\n${inside}`
          .split('\n')
          .filter((line) =>
            /svc[-.](agent|query|controller|system|metrics|promql|dev|custom|ca)|svc-operator|trafficmonitors|clustertrafficpolicies|minterdeployments|custom\.metrics/.test(
              line,
            ),
          );
        if (left.length > 0) throw new Error(left.join(', '));
        return true;
      },
      { timeoutMs: 60_000 },
    );
  });
});
