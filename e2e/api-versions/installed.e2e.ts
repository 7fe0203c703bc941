/**
 * Tests a second version of a kind with the operator as it is installed: two replicas in pods, which the API server
 * calls through their Service.
 */
import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import type { KubeObject } from '../../src/api/meta.ts';
import { until } from '../../src/testing/until.ts';
import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { readyPods } from '../demo/stage.ts';
import { repository } from '../install/tools.ts';
import { definition } from './second-version.ts';
import { first, second } from './converters.ts';
import { buildOperator } from './operator-build.ts';
import { startTraffic, type Traffic } from './traffic.ts';

let dir: string;
let cluster: Cluster;
let traffic: Traffic;
const inSystem = ['-n', 'svc-system'];
const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(args);
const decoded = (base64: string): string => Buffer.from(base64, 'base64').toString();

/** A field of an object, decoded. */
const field = async (kind: string, name: string, path: string): Promise<string> =>
  decoded(await kubectl(...inSystem, 'get', kind, name, '-o', `jsonpath={${path}}`));
/** The CA bundle by which the API server verifies the conversion webhook. */
const bundle = (): Promise<string> =>
  field('crd', 'trafficmonitors.svc.dev', '.spec.conversion.webhook.clientConfig.caBundle');
const certificate = (): Promise<string> => field('secret', 'svc-controller-tls', '.data.tls\\.crt');

const replicas = (): Promise<{ name: string; ip: string }[]> =>
  readyPods(cluster, 'svc-system', 'app.kubernetes.io/component=controller');
const bothReady = (without?: string): Promise<{ name: string; ip: string }[]> =>
  until('two replicas', replicas, {
    good: (pods) => pods.length === 2 && pods.every(({ name }) => name !== without),
    timeoutMs: 90_000,
  });

/** The fingerprint of the certificate that a replica serves. */
const served = (ip: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: ip, port: 9443, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()!.fingerprint256);
      socket.destroy();
    }).on('error', reject);
  });
/** Waits until both replicas serve the stored certificate. */
async function followed(): Promise<void> {
  await until('both replicas serve the stored certificate', async () => {
    const { fingerprint256 } = new X509Certificate(await certificate());
    const pods = await replicas();
    const shown = await Promise.all(pods.map(({ ip }) => served(ip)));
    return pods.length === 2 && shown.every((one) => one === fingerprint256);
  });
}

/** Lets the operator patch the one CRD that it converts, as the guide demands of a release with a second version. */
const right = [
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'svc-conversion' },
    rules: [
      {
        apiGroups: ['apiextensions.k8s.io'],
        resources: ['customresourcedefinitions'],
        resourceNames: ['trafficmonitors.svc.dev'],
        verbs: ['patch'],
      },
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'svc-conversion' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'svc-conversion' },
    subjects: [{ kind: 'ServiceAccount', name: 'svc-controller', namespace: 'svc-system' }],
  },
] satisfies KubeObject[];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-second-version-'));
  const program = await buildOperator(dir);
  const image = { entrypoint: [process.execPath, program], env: { SVC_KERNEL_CHECK: 'false' } };
  cluster = await startCluster({ nodes: 2, images: { 'svc-operator': image } });
  await cluster.kubectl(['apply', '--server-side', '-f', join(repository, 'manifests/install.yaml')]);
  const objects = [...right, definition([first, second], first)];
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], {
    stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
  });
  await kubectl('create', 'namespace', 'shop');
  await bothReady();
  await until('the operator’s authority in the definition', bundle);
  traffic = startTraffic(cluster.api);
  await traffic.more(20);
}, 240_000);
afterAll(async () => {
  await traffic?.stop();
  await cluster?.stop();
  await rm(dir, { recursive: true, force: true });
}, 60_000);

test('the API server reaches the converters through the Service with both replicas', async () => {
  const clientConfig = JSON.parse(
    await kubectl('get', 'crd', 'trafficmonitors.svc.dev', '-o', 'jsonpath={.spec.conversion.webhook.clientConfig}'),
  ) as { service: object; url?: string };
  expect(clientConfig.service).toEqual({
    namespace: 'svc-system',
    name: 'svc-controller-webhook',
    path: '/convert',
    port: 443,
  });
  const pods = await bothReady();
  const addresses = await until(
    'both behind the Service',
    async () => {
      const slices = await kubectl(
        ...[...inSystem, 'get', 'endpointslices', '-l', 'kubernetes.io/service-name=svc-controller-webhook'],
        ...['-o', 'jsonpath={.items[*].endpoints[*].addresses[*]}'],
      );
      return slices.split(' ').toSorted();
    },
    { good: (found) => found.length === 2 },
  );
  expect(addresses).toEqual(pods.map(({ ip }) => ip).toSorted());
  expect(traffic.failures).toEqual([]);
});

test('while a replica is deleted and replaced, every read and write in either version is answered', async () => {
  const [gone] = await bothReady();
  await kubectl(...inSystem, 'delete', 'pod', gone!.name, '--wait=true');
  await bothReady(gone!.name);
  await traffic.more(20);
  expect(traffic.failures).toEqual([]);
}, 180_000);

test('while the serving certificate is replaced, every read and write in either version is answered', async () => {
  const before = await certificate();
  await kubectl(...inSystem, 'delete', 'secret', 'svc-controller-tls');
  await until('a new certificate', () => certificate().catch(() => ''), {
    good: (cert) => cert !== '' && cert !== before,
  });
  await followed();
  await traffic.more(20);
  expect(traffic.failures).toEqual([]);
}, 120_000);

test('while the authority is replaced, every read and write in either version is answered', async () => {
  const old = await field('secret', 'svc-ca', '.data.ca\\.crt');
  const note = (annotation: string): Promise<string> =>
    kubectl(...inSystem, 'annotate', 'secret', 'svc-ca', '--overwrite', annotation);
  // Back-dated annotations skip the hours between the steps.
  const longAgo = new Date(Date.now() - 48 * 3_600_000).toISOString();
  await note('svc.dev/rotate-ca=1');
  const next = await until('a new authority', () => field('secret', 'svc-ca', '.data.next\\.crt'));
  await until('trust in both', bundle, { good: (text) => text.includes(old) && text.includes(next) });
  await traffic.more(20);
  await note(`svc.dev/next-since=${longAgo}`);
  await until('a certificate of the new one', certificate, {
    good: (cert) => new X509Certificate(cert).verify(new X509Certificate(next).publicKey),
  });
  await followed();
  await traffic.more(20);
  await note(`svc.dev/previous-since=${longAgo}`);
  await until('trust in the new one alone', bundle, { good: (text) => text.includes(next) && !text.includes(old) });
  await traffic.more(20);
  expect(traffic.failures).toEqual([]);
}, 180_000);

test('a killed replica fails at most the conversions in flight, and their retries succeed', async () => {
  const [victim] = await bothReady();
  const node = await kubectl(...inSystem, 'get', 'pod', victim!.name, '-o', 'jsonpath={.spec.nodeName}');
  const { nodes } = cluster;
  await nodes.find(({ name }) => name === node)!.killContainer(`svc-system/${victim!.name}`, 'controller');
  await traffic.more(20);
  await bothReady();
  await traffic.more(20);
  // How Go names a connection that its other end has left, depending on when it left.
  const cut = /conversion webhook .* failed: .*(?:connection refused|connection reset|EOF|broken pipe)/;
  expect(traffic.failures.filter((failure) => !cut.test(failure))).toEqual([]);
}, 180_000);

test('nothing is lost: each object reads in both versions as it was last written', async () => {
  await traffic.stop();
  // The first list in a version makes the API server fill a new cache; it answers 429 until the cache is full.
  const wrong = await until('lists in both versions', () => traffic.compare(), { good: () => true });
  expect(wrong).toEqual([]);
  expect(traffic.written).toBeGreaterThan(50);
});
