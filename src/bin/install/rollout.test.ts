import type { KubeObject, ResourceRef } from '../../api/meta.ts';
import { coreResources } from '../../kube/index.ts';
import { controllerDefaults, names, platformDefaults, renderController, renderPlatform } from '../../render/index.ts';
import { anObject, FakeApiServer, FakeClock, until } from '../../testing/index.ts';
import { untilRolledOut } from './rollout.ts';

/** `svc install --wait` ends when the new version runs, also where an old one ran before. */

const namespace = 'svc-system';
const { daemonSets, deployments, leases, pods } = coreResources;
const older = { namespace, svcImage: 'svc:1', instrumentImage: 'instrument:v0.9.0' };
const newer = { namespace, svcImage: 'svc:2', instrumentImage: 'instrument:v0.10.0' };

let server: FakeApiServer;
let clock: FakeClock;
let said: string[];
let ended: boolean;
let waiting: Promise<void>;

beforeEach(async () => {
  server = await FakeApiServer.start();
  clock = new FakeClock();
  said = [];
  ended = false;
});
afterEach(() => server.stop());

/** Stores a workload, all of whose pods run. */
function rolledOut(resource: ResourceRef, objects: readonly KubeObject[], name: string): void {
  const { metadata } = server.put(
    resource,
    objects.find((o) => o.kind === resource.kind && o.metadata.name === name)!,
  );
  const pods = { replicas: 2, updatedReplicas: 2, availableReplicas: 2 };
  const nodes = { desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3 };
  const counts = resource.kind === 'DaemonSet' ? nodes : pods;
  server.putStatus(resource, namespace, name, { observedGeneration: metadata.generation, ...counts });
}
const operator = (images: typeof older): void =>
  rolledOut(deployments, renderController({ ...controllerDefaults, ...images }), names.controller);
const agents = (images: typeof older): void =>
  rolledOut(daemonSets, renderPlatform({ ...platformDefaults, ...images }), names.agent);
const query = (images: typeof older): void =>
  rolledOut(deployments, renderPlatform({ ...platformDefaults, ...images }), names.query);

function heldBy(holder: string): void {
  const metadata = { namespace, name: names.controller };
  const spec = { holderIdentity: holder === '' ? '' : `${holder}_0b9c` };
  server.put(leases, anObject({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }));
}
const running = (name: string): KubeObject =>
  server.put(pods, anObject({ kind: 'Pod', metadata: { namespace, name, finalizers: ['example.dev/ends-later'] } }));

/** Starts to wait for at most a minute, and goes on until the line was said. */
function start(): void {
  const client = server.client();
  waiting = untilRolledOut(namespace, 60_000, { client, clock, signal: new AbortController().signal }, (line) =>
    said.push(line),
  ).finally(() => {
    ended = true;
    return client.close();
  });
  waiting.catch(() => {});
}
async function untilSaid(line: string): Promise<void> {
  for (;;) {
    await until('a pause or the end', () => ended || clock.pending > 0);
    if (ended || said.includes(line)) break;
    await clock.advance(500);
  }
  expect(said).toContain(line);
}
async function untilEnded(): Promise<void> {
  for (;;) {
    await until('a pause or the end', () => ended || clock.pending > 0);
    if (ended) return waiting;
    await clock.advance(500);
  }
}

test('after an upgrade, agents and query servers count once the new operator has changed them', async () => {
  operator(newer);
  agents(older);
  query(older);
  running('old-pod');
  heldBy('old-pod');
  server.storage.remove(pods, namespace, 'old-pod');
  start();
  await untilSaid('lease/svc-controller: not yet held by a pod of this version');
  heldBy('');
  running('new-pod');
  heldBy('new-pod');
  await untilSaid('daemonset/svc-agent: still of instrument:v0.9.0 and svc:1');
  agents({ ...newer, instrumentImage: older.instrumentImage });
  await untilSaid('daemonset/svc-agent: still of instrument:v0.9.0');
  agents(newer);
  await untilSaid('deployment/svc-query: still of svc:1');
  expect(ended).toBe(false);
  query(newer);
  await untilEnded();
  expect(said).toEqual([
    'deployment/svc-controller: 2/2 replicas',
    'lease/svc-controller: not yet held by a pod of this version',
    'lease/svc-controller: held by new-pod',
    'daemonset/svc-agent: still of instrument:v0.9.0 and svc:1',
    'daemonset/svc-agent: still of instrument:v0.9.0',
    'daemonset/svc-agent: 3/3 nodes',
    'deployment/svc-query: still of svc:1',
    'deployment/svc-query: 2/2 replicas',
  ]);
});

test('a new installation is waited for part by part', async () => {
  start();
  await untilSaid('deployment/svc-controller: not there yet');
  operator(newer);
  await untilSaid('lease/svc-controller: not yet held by a pod of this version');
  running('new-pod');
  heldBy('new-pod');
  await untilSaid('daemonset/svc-agent: not there yet');
  agents(newer);
  query(newer);
  await untilEnded();
  expect(said.at(-1)).toBe('deployment/svc-query: 2/2 replicas');
});

test('a part counts whose images admission has pointed to a mirror', async () => {
  operator({ ...newer, svcImage: 'registry.example/team/svc:2' });
  running('new-pod');
  heldBy('new-pod');
  const mirror = {
    svcImage: 'mirror.example:5000/hub/svc:2',
    instrumentImage: 'mirror.example:5000/instrument:v0.10.0',
  };
  agents({ ...newer, ...mirror });
  query({ ...newer, ...mirror, svcImage: 'mirror.example:5000/hub/svc:1' });
  start();
  await untilSaid('deployment/svc-query: still of mirror.example:5000/hub/svc:1');
  query({ ...newer, ...mirror });
  await untilEnded();
});

const digest = (of: string): string => `@sha256:${of.repeat(64)}`;

test.each([
  ['keeps its tag', `mirror.example:5000/svc:2${digest('a')}`],
  ['loses its tag', `mirror.example:5000/svc${digest('a')}`],
])('a part counts whose image admission has pinned to a digest, where the image %s', async (_what, image) => {
  operator(newer);
  running('new-pod');
  heldBy('new-pod');
  const pinned = { svcImage: image, instrumentImage: `instrument:v0.10.0${digest('b')}` };
  agents({ ...newer, ...pinned });
  query({ ...newer, ...pinned, svcImage: `svc:1${digest('c')}` });
  start();
  await untilSaid(`deployment/svc-query: still of svc:1${digest('c')}`);
  query({ ...newer, ...pinned });
  await untilEnded();
});

test.each([
  ['loses its tag', 'svc'],
  ['keeps its tag', 'svc:2'],
])('a part is old whose digest is not that of the operator itself, where the image %s', async (_what, image) => {
  const pinned = (of: string) => ({ svcImage: `${image}${digest(of)}`, instrumentImage: `instrument${digest('c')}` });
  const unpinned = JSON.stringify(renderController({ ...controllerDefaults, ...newer }));
  const text = unpinned.replace('"image":"svc:2"', `"image":"mirror.example/svc${digest('a')}"`);
  rolledOut(deployments, JSON.parse(text) as KubeObject[], names.controller);
  running('new-pod');
  heldBy('new-pod');
  agents({ ...newer, ...pinned('b') });
  query({ ...newer, ...pinned('b') });
  start();
  await untilSaid(`daemonset/svc-agent: still of ${image}${digest('b')}`);
  agents({ ...newer, ...pinned('a') });
  await untilSaid(`deployment/svc-query: still of ${image}${digest('b')}`);
  query(newer);
  await untilEnded();
});

test('a part is old without the digest that the operator gives it, whatever its tag', async () => {
  operator({ ...newer, svcImage: `svc:2${digest('a')}` });
  running('new-pod');
  heldBy('new-pod');
  agents({ ...newer, svcImage: `mirror.example/svc${digest('a')}` });
  query({ ...newer, svcImage: `svc:2${digest('b')}` });
  start();
  await untilSaid(`deployment/svc-query: still of svc:2${digest('b')}`);
  query(newer);
  await untilSaid('deployment/svc-query: still of svc:2');
  query({ ...newer, svcImage: `svc:2${digest('a')}` });
  await untilEnded();
});

test('the error names the part that is late, and why', async () => {
  operator(newer);
  running('new-pod');
  heldBy('new-pod');
  agents(older);
  start();
  await expect(untilEnded()).rejects.toThrow(
    'daemonset/svc-agent is not ready after 60 s: still of instrument:v0.9.0 and svc:1',
  );
});
