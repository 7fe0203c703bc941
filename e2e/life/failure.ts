import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { KubeObject } from '../../src/api/meta.ts';
import { grantMinters, grantSecret } from '../../src/controllers/grants.ts';
import { repository } from '../install/tools.ts';
import { until } from '../../src/testing/until.ts';
import { createAuthority, issueLeaf } from '../cluster/pki.ts';
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
let operator: RunningOperator;
const merge = { contentType: 'application/merge-patch+json' };
const change = (path: string, body: object): Promise<KubeObject> =>
  stage.cluster.api.request('PATCH', path, body, merge);

/** Checks that other objects are still reconciled: the operator observes a new generation of the monitor. */
async function othersGoOn(): Promise<void> {
  await change(monitorPath, { spec: { priority: Math.floor(Math.random() * 900) + 1 } });
  await until('the monitor judged anew', async () => {
    const { metadata, ...rest } = await stage.get(monitorPath);
    return (rest['status'] as { observedGeneration?: number }).observedGeneration === metadata.generation;
  });
}

/** Runs the commands of a condition's message, which are joined by `&&`. */
async function run(commands: string): Promise<void> {
  for (const command of commands.split(' && ')) await stage.kubectl(...command.split(' ').slice(1));
}

/** Waits for an Event with this reason, about any object. */
const told = (reason: string): Promise<boolean> =>
  until(`an Event ${reason}`, async () => (await stage.events(reason)).length > 0);

/**
 * Each failure around the operator becomes a condition with a reason of its own, and an Event. Other objects are still
 * reconciled. The operator recovers without a restart once the cause is removed.
 */
export function failure(of: () => LifeStage): void {
  beforeAll(async () => {
    stage = of();
    operator = await stage.startOperator();
    await stage.apply([aPolicy(), aMonitor()]);
    await stage.until(policyPath, 'Ready', 'True');
  });

  test('a missing Secret of the App is reported until it exists', async () => {
    await stage.apply([aMinter()]);
    await stage.until(minterPath, 'AppCredentialsFound', 'False', 'SecretNotFound');
    await stage.until(minterPath, 'Stalled', 'True', 'MissingDependency');
    await stage.until(minterPath, 'Ready', 'False', 'SecretNotFound');
    await told('SecretNotFound');
    await othersGoOn();
    await stage.apply([appCredentials]);
    await stage.until(minterPath, 'AppCredentialsFound', 'True', 'Found');
  });

  test('a missing ConfigMap of rules is reported until it exists', async () => {
    await change(minterPath, { spec: { rules: { inline: null, configMapRef: { name: 'my-rules' } } } });
    await stage.until(minterPath, 'RulesValid', 'False', 'ConfigMapNotFound');
    await stage.until(minterPath, 'Stalled', 'True', 'MissingDependency');
    await told('ConfigMapNotFound');
    await othersGoOn();
    await stage.kubectl('-n', 'agents', 'create', 'configmap', 'my-rules', '--from-literal=.yaml=x');
    await stage.until(minterPath, 'RulesValid', 'Unknown', 'NoPodAnswered');
  });

  test('a missing Secret for TLS is reported while the minter names it', async () => {
    await run(grantSecret('agents', 'minter-tls', 'svc-system'));
    await change(minterPath, { spec: { tls: { secretName: 'minter-tls' } } });
    const stalled = await stage.until(minterPath, 'Stalled', 'True', 'MissingDependency');
    expect(stalled.message).toContain('Secret minter-tls');
    await change(minterPath, { spec: { tls: null } });
    await until('no Stalled', async () => (await stage.condition(minterPath, 'Stalled')) === undefined);
  });

  /** Makes the status of the first pod with these labels say that an image cannot be pulled; returns the undo. */
  async function cannotPull(
    namespace: string,
    labels: string,
    container: string,
    image: string,
  ): Promise<() => Promise<unknown>> {
    const pods = `/api/v1/namespaces/${namespace}/pods`;
    const pod = await until('a pod', async () => {
      const list = await stage.get<KubeObject & { items: KubeObject[] }>(`${pods}?labelSelector=${labels}`);
      return list.items[0];
    });
    const waiting = { reason: 'ImagePullBackOff', message: `Back-off pulling image "${image}"` };
    const status = { name: container, image, imageID: '', ready: false, restartCount: 0, state: { waiting } };
    const path = `${pods}/${pod.metadata.name ?? ''}/status`;
    await change(path, { status: { containerStatuses: [status] } });
    return () => change(path, { status: { containerStatuses: [] } });
  }

  // No node here pulls images: the test writes into the pod's status what a kubelet reports.
  describe('a pod whose kubelet reports that its image cannot be pulled', () => {
    test('is reported on the minter', async () => {
      const undo = await cannotPull('agents', '', 'minter', 'svc-minter:0.1.0');
      const stalled = await stage.until(minterPath, 'Stalled', 'True', 'ImagePullFailed');
      expect(stalled.message).toContain('svc-minter:0.1.0');
      await told('ImagePullFailed');
      await othersGoOn();
      await undo();
      await stage.until(minterPath, 'Reconciling', 'True', 'Progressing');
    });

    test('is reported on the policy when the pod belongs to the platform', async () => {
      const labels = encodeURIComponent('app.kubernetes.io/component=query');
      const undo = await cannotPull('svc-system', labels, 'query', 'svc-operator:0.1.0');
      const stalled = await stage.until(policyPath, 'Stalled', 'True', 'ImagePullFailed');
      expect(stalled.message).toContain('svc-operator:0.1.0');
      await until('an Event', async () =>
        (await stage.kubectl('-n', 'svc-system', 'describe', 'deployment', 'svc-controller')).includes(
          'ImagePullFailed',
        ),
      );
      await undo();
      await stage.until(policyPath, 'Ready', 'True');
    });
  });

  test('an exceeded quota is reported until it is deleted', async () => {
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'small', namespace: 'agents' },
      spec: { hard: { services: '0' } },
    };
    await stage.apply([quota]);
    await until('the quota counted', async () => {
      const found = await stage.get('/api/v1/namespaces/agents/resourcequotas/small');
      return (found['status'] as { used?: object }).used !== undefined;
    });
    await stage.kubectl('-n', 'agents', 'delete', 'service', 'minter');
    const stalled = await stage.until(minterPath, 'Stalled', 'True', 'QuotaExceeded');
    expect(stalled.message).toMatch(/Service agents\/minter: .*exceeded quota: small/);
    await stage.until(minterPath, 'Ready', 'False', 'QuotaExceeded');
    await told('QuotaExceeded');
    await othersGoOn();
    await stage.kubectl('-n', 'agents', 'delete', 'resourcequota', 'small');
    await until('the Service', () => stage.find('/api/v1/namespaces/agents/services/minter'), { timeoutMs: 60_000 });
    await stage.until(minterPath, 'Reconciling', 'True', 'Progressing');
  });

  describe('an admission webhook', () => {
    let webhook: Server;
    const name = 'no.example.com';

    beforeAll(async () => {
      const authority = await createAuthority('webhook-ca');
      const leaf = await issueLeaf(authority, { commonName: 'webhook', names: ['127.0.0.1'] });
      webhook = createServer({ cert: leaf.cert, key: leaf.key }, (req, res) => {
        const chunks: Buffer[] = [];
        req.on('data', (chunk: Buffer) => chunks.push(chunk));
        req.once('end', () => {
          const { request } = JSON.parse(Buffer.concat(chunks).toString()) as { request: { uid: string } };
          const response = { uid: request.uid, allowed: false, status: { code: 418, message: 'not on a Friday' } };
          res.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }));
        });
      });
      await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve));
      const { port } = webhook.address() as AddressInfo;
      const hook = {
        name,
        clientConfig: {
          url: `https://127.0.0.1:${port}/`,
          caBundle: Buffer.from(authority.cert).toString('base64'),
        },
        rules: [{ apiGroups: ['apps'], apiVersions: ['v1'], operations: ['*'], resources: ['deployments'] }],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'agents' } },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      };
      await stage.apply([
        {
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'ValidatingWebhookConfiguration',
          metadata: { name },
          webhooks: [hook],
        },
      ]);
    });
    afterAll(() => new Promise((resolve) => webhook.close(resolve)));

    test('that refuses the Deployment of a minter is reported until it is removed', async () => {
      const image = 'svc-minter:0.1.1';
      await change(minterPath, { spec: { image } });
      const stalled = await stage.until(minterPath, 'Stalled', 'True', 'AdmissionDenied');
      expect(stalled.message).toContain('not on a Friday');
      await told('AdmissionDenied');
      await othersGoOn();
      await stage.kubectl('delete', 'validatingwebhookconfiguration', name);
      await until(
        'the new image',
        async () => JSON.stringify(await stage.get(minterDeploymentPath)).includes(`"image":"${image}"`),
        { timeoutMs: 60_000 },
      );
    });
  });

  test('a namespace without rights for the operator: the message has the command that grants them', async () => {
    await stage.kubectl('create', 'namespace', 'elsewhere');
    const there = { name: 'minter', namespace: 'elsewhere' };
    await stage.apply([
      { ...aMinter(), metadata: there },
      { ...appCredentials, metadata: { ...appCredentials.metadata, namespace: 'elsewhere' } },
    ]);
    const path = minterPath.replace('/agents/', '/elsewhere/');
    const ready = await stage.until(path, 'Ready', 'False', 'Forbidden');
    const command = grantMinters('elsewhere', 'svc-system');
    expect(ready.message).toContain(command);
    expect((await stage.until(path, 'AppCredentialsFound', 'Unknown', 'Forbidden')).message).toContain(command);
    await run(command);
    await until('its Deployment', () => stage.find(minterDeploymentPath.replace('/agents/', '/elsewhere/')), {
      timeoutMs: 60_000,
    });
    await stage.until(path, 'AppCredentialsFound', 'True', 'Found');
    await stage.kubectl('delete', 'namespace', 'elsewhere', '--wait=false');
  });

  describe('a right that is taken away', () => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    const ofMinters = `${rbac}/clusterroles/svc-controller-minters`;
    const ofPlatform = `${rbac}/namespaces/svc-system/roles/svc-controller`;
    interface Role extends KubeObject {
      rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
    }
    /** The operator may still read the resource, but not write it. */
    const without = async (role: string, resource: string): Promise<void> => {
      const { rules } = await stage.get<Role>(role);
      const cut = rules.map((r) => (r.resources.includes(resource) ? { ...r, verbs: ['get', 'list', 'watch'] } : r));
      await change(role, { rules: cut });
    };
    const restore = (): Promise<string> =>
      stage.kubectl('apply', '--server-side', '--force-conflicts', '-f', join(repository, 'manifests/install.yaml'));

    test('is reported on the minter whose Deployment cannot be written', async () => {
      await without(ofMinters, 'deployments');
      await change(minterPath, { spec: { image: 'svc-minter:0.1.2' } });
      const stalled = await stage.until(minterPath, 'Stalled', 'True', 'Forbidden');
      expect(stalled.message).toContain('cannot patch resource "deployments"');
      await stage.until(minterPath, 'Ready', 'False', 'Forbidden');
      await told('Forbidden');
      await othersGoOn();
      await restore();
      await stage.until(minterPath, 'Reconciling', 'True', 'Progressing');
    });

    test('is reported on the policy when an object of the platform cannot be written', async () => {
      await without(ofPlatform, 'networkpolicies');
      await stage.kubectl('-n', 'svc-system', 'delete', 'networkpolicy', 'svc-agent-scrape');
      const stalled = await stage.until(policyPath, 'Stalled', 'True', 'Forbidden');
      expect(stalled.message).toContain('networkpolicies');
      await stage.until(policyPath, 'Ready', 'False', 'Forbidden');
      await until('an Event', async () => (await stage.events('Forbidden')).some((n) => n.startsWith('platform: ')));
      await othersGoOn();
      await restore();
      await stage.until(policyPath, 'Ready', 'True');
      expect(await stage.condition(policyPath, 'Stalled')).toBeUndefined();
    });
  });

  test('a removed CRD is reported until it is back', async () => {
    const name = 'trafficmonitors.svc.dev';
    await stage.kubectl('delete', 'crd', name);
    const stalled = await stage.until(policyPath, 'Stalled', 'True', 'MissingDependency');
    expect(stalled.message).toContain(name);
    await until('an Event', async () => (await stage.events('MissingDependency')).some((n) => n.includes(name)));
    await change(minterPath, { spec: { image: 'svc-minter:0.1.3' } });
    await until('others to go on', async () =>
      JSON.stringify(await stage.get(minterDeploymentPath)).includes('svc-minter:0.1.3'),
    );
    await stage.kubectl('apply', '--server-side', '-f', join(repository, 'crds'));
    await stage.until(policyPath, 'Ready', 'True');
    await until('the kind again', () => stage.apply([aMonitor()]));
    await until('its status', async () => (await stage.condition(monitorPath, 'Ready')) !== undefined, {
      timeoutMs: 60_000,
    });
  });

  test('an operator that starts while a kind is missing serves the other kinds', async () => {
    await operator.stop();
    await stage.kubectl('delete', 'crd', 'trafficmonitors.svc.dev');
    operator = await stage.startOperator();
    await change(minterPath, { spec: { image: 'svc-minter:0.1.4' } });
    await until('the new image', async () =>
      JSON.stringify(await stage.get(minterDeploymentPath)).includes('svc-minter:0.1.4'),
    );
    await stage.until(policyPath, 'Stalled', 'True', 'MissingDependency');
    await stage.kubectl('apply', '--server-side', '-f', join(repository, 'crds'));
    await until('the kind again', () => stage.apply([aMonitor()]));
    await until('its status', async () => (await stage.condition(monitorPath, 'Ready')) !== undefined, {
      timeoutMs: 60_000,
    });
  });
}
