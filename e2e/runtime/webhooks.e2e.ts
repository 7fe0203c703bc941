import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCa, issueLeaf, type KeyPairPem } from '../../src/net/ca.ts';
import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { until } from '../../src/testing/until.ts';
import { installCrds } from '../api/install.ts';
import { startOperator as startAnyOperator, type RunningOperator } from './running-operator.ts';

/** Admission called by a real API server: its TLS, its reviews, its failure policy. */

let cluster: Cluster;
let dir: string;
/** The authority that signs the API server's client certificate for webhooks. */
let clients: KeyPairPem;
const before = process.env['KUBECONFIG'];
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'webhooks-'));
  clients = await createCa({ commonName: 'webhook-clients', now: Date.now() });
  cluster = await startCluster({
    apiServerFlags: [`--admission-control-config-file=${await admissionConfiguration(await signed('kube-apiserver'))}`],
  });
  process.env['KUBECONFIG'] = cluster.kubeconfig;
});
afterAll(async () => {
  if (before === undefined) delete process.env['KUBECONFIG'];
  else process.env['KUBECONFIG'] = before;
  await cluster.stop();
  await rm(dir, { recursive: true });
});

const signed = (commonName: string): Promise<KeyPairPem> =>
  issueLeaf(clients, { commonName, dnsNames: [] }, { now: Date.now() });

/** Writes the admission configuration of docs/guides/admission.md. Returns its path. */
async function admissionConfiguration({ cert, key }: KeyPairPem): Promise<string> {
  const base64 = (pem: string): string => Buffer.from(pem).toString('base64');
  const user = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) };
  const kubeConfigFile = join(dir, 'webhooks.kubeconfig');
  await writeFile(kubeConfigFile, JSON.stringify({ apiVersion: 'v1', kind: 'Config', users: [{ name: '*', user }] }));
  const apiVersion = 'apiserver.config.k8s.io/v1';
  const configuration = { apiVersion, kind: 'WebhookAdmissionConfiguration', kubeConfigFile };
  const plugins = [{ name: 'ValidatingAdmissionWebhook', configuration }];
  const file = join(dir, 'admission.json');
  await writeFile(file, JSON.stringify({ apiVersion, kind: 'AdmissionConfiguration', plugins }));
  return file;
}

const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(args);
/** Applies objects. Returns kubectl's output or its error message. */
async function apply(...objects: object[]): Promise<string> {
  const file = join(cluster.dir, 'objects.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  return kubectl('apply', '-f', file).catch((error: Error) => error.message);
}

/** Starts the operator with admission, and waits until its webhooks are registered. */
async function startOperator(flags: Readonly<Record<string, string>> = {}): Promise<RunningOperator> {
  const operator = await startAnyOperator({ flags: { admission: 'fail-closed', ...flags } });
  await until('the registration', async () =>
    (await kubectl('get', 'validatingwebhookconfigurations', '-o', 'yaml')).includes(`localhost:${operator.webhook}`),
  );
  return operator;
}

const monitor = {
  apiVersion: 'svc.dev/v1alpha1',
  kind: 'TrafficMonitor',
  metadata: { name: 'checkout', namespace: 'shop' },
  spec: { selector: { matchLabels: { app: 'checkout' } } },
};
const policy = (overrides: object, annotations: object = {}): object => ({
  apiVersion: 'svc.dev/v1alpha1',
  kind: 'ClusterTrafficPolicy',
  metadata: { name: 'quiet', annotations },
  spec: { overrides },
});
const silent = { signals: { metrics: 'Disabled', spans: 'Disabled' } };

describe('the operator with --admission=fail-closed', () => {
  let operator: RunningOperator;
  beforeAll(async () => {
    await installCrds(cluster);
    await kubectl('create', 'namespace', 'svc-system');
    await kubectl('create', 'namespace', 'shop');
    operator = await startOperator();
  });

  test('admits valid objects, and refuses faults that no schema can express', async () => {
    await until('the first one', async () => /created|unchanged/.test(await apply(monitor)));
    const metrics = [{ name: 'load', expr: 'sum(', resource: 'pods' }];
    const said = await apply({
      ...monitor,
      metadata: { name: 'unsound', namespace: 'shop' },
      spec: { selector: {}, autoscaling: { metrics } },
    });
    expect(said).toMatch(/admission webhook "trafficmonitors\.svc\.dev" denied the request/);
  });

  test('a policy that would leave a monitor without data is refused; annotated, it gets a warning only', async () => {
    expect(await apply(policy(silent))).toMatch(/would leave 1 TrafficMonitor.*kubectl svc diff names/s);
    expect(await apply(policy({ signals: { spans: 'Disabled' } }))).toMatch(/quiet created/);
    const meant = policy(silent, { 'svc.dev/allow-orphans': 'true' });
    await writeFile(join(cluster.dir, 'objects.json'), JSON.stringify(meant));
    const warned = kubectl('apply', '--warnings-as-errors', '-f', join(cluster.dir, 'objects.json'));
    await expect(warned).rejects.toThrow(/Warning: .*1 TrafficMonitor/s);
    expect(await apply(meant)).toMatch(/quiet (configured|unchanged)/);
    await kubectl('delete', 'clustertrafficpolicy', 'quiet', '--timeout=20s');
  });

  test('a registration whose CA bundle was emptied is repaired', async () => {
    const caBundle = '{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":""}';
    const name = 'validatingwebhookconfiguration/svc-controller';
    await kubectl('patch', name, '--type=json', '-p', `[${caBundle}]`);
    const path = 'jsonpath={.webhooks[0].clientConfig.caBundle}';
    await until('the bundle', async () => (await kubectl('get', name, '-o', path)) !== '');
  });

  test('fail-closed: without the operator no change is admitted', async () => {
    await operator.stop();
    const late = { ...monitor, metadata: { name: 'late', namespace: 'shop' } };
    const edited = { ...monitor, spec: { ...monitor.spec, priority: 7 } };
    for (const object of [late, edited, policy({ signals: { spans: 'Disabled' } })])
      expect(await apply(object)).toMatch(/failed calling webhook/);
    await kubectl('delete', 'validatingwebhookconfiguration', 'svc-controller');
    expect(await apply(late)).toMatch(/late created/);
  });
});

test('if client certificates are required, only the API server is answered; a changed CA file is used', async () => {
  const file = join(dir, 'clients.crt');
  // Another authority of the same name, which did not sign the API server's certificate.
  await writeFile(file, (await createCa({ commonName: 'webhook-clients', now: Date.now() })).cert);
  const operator = await startOperator({ admissionClientCaFile: file, admissionClientNames: 'kube-apiserver' });
  const late = { ...monitor, metadata: { name: 'later', namespace: 'shop' } };
  try {
    expect(await apply(late)).toMatch(/only the API server is answered here/);
    await writeFile(file, clients.cert);
    await until('the authority', async () => /created|unchanged/.test(await apply(late)), { timeoutMs: 15_000 });
    await until('the names', async () => /shop\/checkout/.test(await apply(policy(silent))));
    const statusOf = (shown: Partial<KeyPairPem>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const target = { host: '127.0.0.1', port: operator.webhook, rejectUnauthorized: false, agent: false };
        const asked = httpsRequest(
          { ...target, ...shown, method: 'POST', path: '/validate/trafficmonitors' },
          (res) => {
            resolve(res.resume().statusCode);
          },
        );
        asked.on('error', reject).end('{}');
      });
    expect([await statusOf({}), await statusOf(await signed('anna'))]).toEqual([403, 403]);
    expect(await statusOf(await signed('kube-apiserver'))).toBe(400);
  } finally {
    await operator.stop();
  }
  await kubectl('delete', 'validatingwebhookconfiguration', 'svc-controller');
});
