import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeKms, privatePem, testKey } from '../../src/testing/minter-world/index.ts';
import { startCluster } from '../cluster/cluster.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { until } from '../../src/testing/until.ts';
import { findHelm } from '../helm/programs.ts';
import { chart, repository, run, runWell, svc, type Outcome } from './tools.ts';

/** Installs and uninstalls on a real cluster: what the commands report is what happens. */

let cluster: Cluster;
let helm: string;
const env = (): Record<string, string> => ({ KUBECONFIG: cluster.kubeconfig });
const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(args);

beforeAll(async () => {
  ({ helm } = await findHelm());
  cluster = await startCluster({ nodes: 1 });
}, 900_000);
afterAll(() => cluster?.stop());

/** Our cluster-wide objects of the kinds that an installation or the operator makes, and our roles in kube-system. */
async function traces(): Promise<string[]> {
  const kinds = 'namespaces,customresourcedefinitions,clusterroles,clusterrolebindings,priorityclasses,apiservices';
  const wide = await kubectl('get', kinds, '-o', 'name');
  const inside = await kubectl('get', 'roles,rolebindings', '-n', 'kube-system', '-o', 'name');
  return `${wide}\n${inside}`.split('\n').filter((name) => /svc-|svc\.dev|(custom|external)[-.]metrics/.test(name));
}

async function expectWell(outcome: Promise<Outcome>): Promise<Outcome> {
  const { code, stdout, stderr } = await outcome;
  if (code !== 0) throw new Error(`exit ${code}\n${stdout}\n${stderr}`);
  return { code, stdout, stderr };
}

describe('svc install and uninstall', () => {
  test('a server dry run shows the objects that would be created, and changes nothing', async () => {
    const { stdout, stderr } = await expectWell(svc(['install', '--dry-run=server'], env()));
    expect(stdout).toContain('deployment.apps/svc-controller -n svc-system created (server dry run)');
    expect(stdout).toContain('+          image: svc-operator:0.1.0');
    expect(stderr).toMatch(/\d+ would be created, 0 would be configured, 0 unchanged/);
    expect(await traces()).toEqual([]);
  });

  test('an installation waits until operator, agents and query servers run', async () => {
    const { stderr } = await expectWell(
      svc(['install', '--wait', '--timeout=2m', '--no-diff', '--query-replicas=1'], env()),
    );
    expect(stderr).toContain('daemonset/svc-agent: 1/1 nodes');
    expect(stderr).toContain('deployment/svc-query: 1/1 replicas');
  }, 180_000);

  test('a dry run with the same settings shows no change; another setting shows the changed line', async () => {
    const same = await expectWell(svc(['install', '--dry-run=server', '--query-replicas=1'], env()));
    expect(same.stdout).toBe('');
    expect(same.stderr).toContain('0 would be created, 0 would be configured');
    const other = await expectWell(
      svc(['install', '--dry-run=server', '--query-replicas=1', '--log-level=debug'], env()),
    );
    expect(other.stdout).toMatch(/^-\s+- --log-level=info$/m);
    expect(other.stdout).toMatch(/^\+\s+- --log-level=debug$/m);
  });

  test('fields that others own are taken only with --force-conflicts', async () => {
    await kubectl(
      'apply',
      '--server-side',
      '--force-conflicts',
      '--field-manager=somebody',
      '-f',
      join(repository, 'manifests/install.yaml'),
    );
    const refused = await svc(['install', '--dry-run=server', '--log-level=debug'], env());
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/others own .*somebody.*--force-conflicts/);
    await expectWell(svc(['install', '--dry-run=server', '--log-level=debug', '--force-conflicts'], env()));
  });

  /** The objects that `svc uninstall` lists with this outcome. */
  const named = (stderr: string, verb: string): string[] =>
    stderr.split('\n').flatMap((line) => (line.endsWith(` ${verb}`) ? [line.slice(0, -verb.length - 1)] : []));

  test('svc uninstall --dry-run lists what would be deleted, and deletes nothing', async () => {
    const before = await traces();
    const { stderr } = await expectWell(svc(['uninstall', '--dry-run'], env()));
    const announced = named(stderr, 'would be deleted');
    expect(announced).toContain('namespace/svc-system');
    const names = new Set(announced.map((title) => title.split('/').at(-1)));
    const unnamed = before.map((name) => name.split('/').at(-1)).filter((name) => !names.has(name));
    // The API server itself makes the APIService of our kinds, for as long as their CRDs exist.
    expect(unnamed).toEqual(['v1alpha1.svc.dev']);
    expect(await traces()).toEqual(before);
  });

  const dataFiles = (): string[] =>
    hostFolders()
      .filter((path) => path.endsWith('var/lib/svc-agent'))
      .flatMap((path) => readdirSync(path));

  test('without --delete-data the data on the nodes stays, and nothing else', async () => {
    await kubectl('apply', '-f', join(repository, 'config/samples/namespaces.yaml'));
    await kubectl('apply', '-f', join(repository, 'config/samples/trafficmonitor-checkout.yaml'));
    await until('data of the agent', async () => dataFiles().length > 0);
    const announced = named((await expectWell(svc(['uninstall', '--dry-run'], env()))).stderr, 'would be deleted');
    const { stderr } = await expectWell(svc(['uninstall', '--timeout=2m'], env()));
    expect(stderr).toContain('data on the nodes stays in /var/lib/svc-agent');
    const deleted = named(stderr, 'deleted');
    expect(deleted.filter((title) => !announced.includes(title))).toEqual([]);
    // Kubernetes collects objects whose owner is deleted, sometimes before the command deletes them.
    expect(deleted.length).toBeGreaterThan(announced.length / 2);
    expect(await traces()).toEqual([]);
    expect(dataFiles()).not.toEqual([]);
  }, 180_000);

  describe('with the private key of the App', () => {
    const key = 'projects/p/locations/global/keyRings/minter/cryptoKeys/app';
    let kms: FakeKms;
    let dir: string;
    const install = (...args: string[]): Promise<Outcome> =>
      svc(['install', '--no-diff', '--query-replicas=1', ...args], {
        ...env(),
        VCS_APP_ID: '4711',
        GITOPS_ORG: 'acme',
        GITOPS_REPO: 'gitops',
        VCS_PEM_PATH: join(dir, 'app.pem'),
        KMS_KEY_VERSION: key,
        KMS_API_ENDPOINT: `localhost:${kms.port}`,
        MINTER_CALLERS: 'platform-agent@p.iam.gserviceaccount.com',
      });

    beforeAll(async () => {
      kms = await FakeKms.start();
      dir = mkdtempSync(join(tmpdir(), 'svc-pem-'));
      writeFileSync(join(dir, 'app.pem'), privatePem(testKey('app')));
    });
    afterAll(async () => {
      rmSync(dir, { recursive: true, force: true });
      await kms.stop();
    });

    test('the key is imported, its version signs, and no object has the key', async () => {
      const { stderr } = await expectWell(install('--wait', '--timeout=2m'));
      expect(stderr).toContain(`importing into ${key}`);
      expect(kms.version(`${key}/cryptoKeyVersions/1`)).toMatchObject({ state: 'ENABLED' });
      const minter = await kubectl('-n', 'platform-agent', 'get', 'md', 'minter', '-o', 'yaml');
      expect(minter).toContain(`keyVersion: ${key}/cryptoKeyVersions/1`);
      const everything = await kubectl('get', 'secrets,configmaps,md,deployments', '-A', '-o', 'yaml');
      const [, line = 'none'] = privatePem(testKey('app')).toString().split('\n');
      for (const form of [line, Buffer.from(line).toString('base64').slice(4, -8)])
        expect(everything).not.toContain(form);
    }, 180_000);

    test('installing again imports nothing', async () => {
      const { stderr } = await expectWell(install());
      expect(stderr).toContain('an enabled version exists');
      expect(kms.count('ImportCryptoKeyVersion')).toBe(1);
    });
  });

  test('with --delete-data nothing is left, not even on the nodes', async () => {
    await until('data of the agent', async () => dataFiles().length > 0);
    const { stderr } = await expectWell(svc(['uninstall', '--delete-data', '--timeout=2m'], env()));
    expect(stderr).toContain('data removed: 1/1 nodes');
    expect(await traces()).toEqual([]);
    expect(dataFiles()).toEqual([]);
    const again = await expectWell(svc(['uninstall'], env()));
    expect(again.stderr).not.toContain(' deleted');
  }, 180_000);

  test('a namespace that others made is not changed, and stays with what they put into it', async () => {
    const shared = ['-n', 'shared'];
    await kubectl('create', 'namespace', 'shared');
    await kubectl('create', 'configmap', 'theirs', ...shared);
    const labels = (): Promise<string> => kubectl('get', 'namespace', 'shared', '-o', 'jsonpath={.metadata.labels}');
    const before = await labels();
    const at = '--namespace=shared';
    const installed = await expectWell(
      svc(['install', at, '--wait', '--timeout=2m', '--no-diff', '--query-replicas=1'], env()),
    );
    expect(installed.stderr).toContain('kubectl label namespace shared pod-security.kubernetes.io/enforce=privileged');
    expect(await labels()).toBe(before);
    const removed = await expectWell(svc(['uninstall', at, '--timeout=2m'], env()));
    expect(removed.stderr).toContain('namespace/shared stays: others made it');
    expect(await labels()).toBe(before);
    expect(await traces()).toEqual([]);
    const all = 'all,configmaps,secrets,serviceaccounts,roles,rolebindings,networkpolicies,poddisruptionbudgets,leases';
    const left = await kubectl('get', all, ...shared, '-o', 'name');
    expect(left.trim().split('\n')).toEqual([
      'configmap/kube-root-ca.crt',
      'configmap/theirs',
      'serviceaccount/default',
    ]);
  }, 240_000);

  /** The folders in which the test's nodes, which run pods as plain processes, keep their host paths. */
  function hostFolders(): string[] {
    const nodes = join(cluster.dir, 'nodes');
    const walk = (dir: string, depth: number): string[] =>
      depth === 0 || !existsSync(dir)
        ? []
        : readdirSync(dir, { withFileTypes: true })
            .filter((entry) => entry.isDirectory())
            .flatMap((entry) => [join(dir, entry.name), ...walk(join(dir, entry.name), depth - 1)]);
    return walk(nodes, 6);
  }
});

describe('the chart', () => {
  const release = ['svc-operator', chart];
  const minterIn = (namespace: string): string[] =>
    [
      ...['enabled=true', `namespace=${namespace}`, 'org=acme', 'repository=gitops'],
      'callers[0]=a@p.iam.gserviceaccount.com',
      'kms.keyVersion=projects/p/locations/global/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1',
    ].flatMap((value) => ['--set', `vcsMinter.${value}`]);

  test('says that a new cluster gets a minter in two steps, and makes it so', async () => {
    expect(await traces()).toEqual([]);
    const values = minterIn('agents');
    const refused = await run(helm, ['install', ...release, ...values], env());
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('install with vcsMinter.enabled=false first, then run helm upgrade');
    expect(await traces()).toEqual([]);
    await runWell(helm, ['install', ...release], env());
    await runWell(helm, ['upgrade', ...release, '--reuse-values', ...values], env());
    expect(await kubectl('-n', 'agents', 'get', 'md', '-o', 'name')).toContain('minterdeployment.svc.dev/minter');
    await runWell(helm, ['uninstall', 'svc-operator', '--wait'], env());
    await expectWell(svc(['uninstall'], env()));
    expect(await traces()).toEqual([]);
  }, 180_000);

  test('takes over an installation made by manifest, upgrades it, and keeps the CRDs when it is uninstalled', async () => {
    await kubectl('apply', '--server-side', '-f', join(repository, 'manifests/install.yaml'));
    expect((await run(helm, ['install', ...release], env())).stderr).toContain('cannot be imported');
    const uid = ['get', 'deployment', 'svc-controller', '-n', 'svc-system', '-o', 'jsonpath={.metadata.uid}'];
    const before = await kubectl(...uid);
    const takeOver = ['--install', '--take-ownership', '--force-conflicts'];
    await runWell(helm, ['upgrade', ...takeOver, ...release], env());
    expect(await kubectl(...uid)).toBe(before);
    const labels = await kubectl('get', 'namespace', 'svc-system', '-o', 'jsonpath={.metadata.labels}');
    expect(labels).toContain('"pod-security.kubernetes.io/enforce":"privileged"');
    // Both managers own the fields of equal value. Helm has to force its first change of such a field, and owns the
    // field alone from then on.
    await runWell(helm, ['upgrade', ...release, '--set', 'logLevel=warn', '--force-conflicts'], env());
    await runWell(helm, ['upgrade', ...release, '--set', 'logLevel=debug'], env());
    const args = ['get', 'deployment', 'svc-controller', '-n', 'svc-system', '-o', 'yaml'];
    expect(await kubectl(...args)).toContain('--log-level=debug');
    await runWell(helm, ['uninstall', 'svc-operator', '--wait'], env());
    expect(await kubectl('get', 'crd', '-o', 'name')).toContain('trafficmonitors.svc.dev');
    await until('the end of the namespace', async () => !(await traces()).includes('namespace/svc-system'), {
      timeoutMs: 60_000,
    });
    // The garbage collector removes what the operator made outside its namespace, by owner references.
    await until('nothing but the kinds', async () => (await traces()).every((name) => /svc\.dev$/.test(name)), {
      timeoutMs: 60_000,
    });
  }, 240_000);

  const inside = ['--namespace', 'svc-system'];
  const enforced = '"pod-security.kubernetes.io/enforce":"privileged"';

  test('labels a namespace that Helm made for it', async () => {
    await expectWell(svc(['uninstall'], env()));
    const { stdout } = await runWell(helm, ['install', ...release, ...inside, '--create-namespace'], env());
    expect(stdout).not.toContain('kubectl label');
    expect(await kubectl('get', 'namespace', 'svc-system', '-o', 'jsonpath={.metadata.labels}')).toContain(enforced);
  }, 120_000);

  test('leaves namespaces alone that Helm did not make, and says which label the operator’s own needs', async () => {
    await expectWell(svc(['uninstall'], env()));
    for (const name of ['svc-system', 'theirs']) await kubectl('create', 'namespace', name);
    await kubectl('label', 'namespace', 'theirs', 'team=a');
    const labels = (): Promise<string> =>
      kubectl('get', 'namespaces', 'svc-system', 'theirs', '-o', 'jsonpath={.items[*].metadata.labels}');
    const before = await labels();
    const { stdout } = await runWell(helm, ['install', ...release, ...inside], env());
    expect(stdout).toContain('kubectl label namespace svc-system pod-security.kubernetes.io/enforce=privileged');
    await runWell(helm, ['upgrade', ...release, ...inside, '--reuse-values', ...minterIn('theirs')], env());
    expect(await kubectl('-n', 'theirs', 'get', 'md', '-o', 'name')).toContain('minterdeployment.svc.dev/minter');
    expect(await labels()).toBe(before);
    await runWell(helm, ['uninstall', 'svc-operator', ...inside, '--wait'], env());
    expect(await labels()).toBe(before);
  }, 180_000);
});
