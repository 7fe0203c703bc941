import type { Condition, KubeObject } from '../api/meta.ts';
import { clusterTrafficPolicies, minterDeployments, trafficMonitors } from '../api/v1alpha1/index.ts';
import { coreResources } from '../kube/index.ts';
import { minterNamespace, runWholeOperator, type WholeOperator } from '../testing/operator/whole-operator.ts';

/** The whole operator in a cluster where nothing happens, and in one where other controllers set their own fields. */

const { deployments, pods, secrets } = coreResources;

let harness: WholeOperator;

beforeAll(async () => {
  harness = await runWholeOperator();
  const isJudged = (): boolean =>
    JSON.stringify(harness.server.storage.find(trafficMonitors, 'shop', 'all')?.['status'] ?? {}).includes(
      'NoMatchingPods',
    );
  await harness.passUntil(isJudged, 'the verdict');
  await settle();
}, 60_000);
afterAll(() => harness.stop());

/** Advances the clock by seconds; after each, waits until the operator is idle. Sends bookmarks, as a cluster does. */
async function pass(seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    if (i % 30 === 0) harness.server.bookmarkAll();
    await harness.clock.advance(1_000);
    await harness.idle();
  }
}

/** Lets time pass until there is half a minute without a write. */
async function settle(): Promise<void> {
  for (let from = -1; from < harness.server.requests.length;) {
    from = harness.server.requests.length;
    await pass(30);
    if (writes(from).length === 0) return;
  }
}
const writes = (from = 0): string[] =>
  harness.server.requests
    .slice(from)
    .filter((r) => r.method !== 'GET')
    .map((r) => `${r.verb} ${r.path}`);

test('ten quiet minutes bring no write of any kind', async () => {
  const from = harness.server.requests.length;
  const started = harness.clock.now();
  await pass(600);
  expect(harness.clock.now() - started).toBeGreaterThanOrEqual(600_000);
  expect(writes(from)).toEqual([]);
}, 60_000);

test('ten minutes with an autoscaler, an injector and a defaulter bring no write either', async () => {
  const { storage } = harness.server;
  const live = storage.get(deployments, minterNamespace, 'minter');
  const spec = structuredClone(live['spec']) as {
    replicas: number;
    template: { spec: { containers: object[]; schedulerName?: string } };
  };
  spec.replicas = 4;
  storage.update(deployments, { ...live, spec }, { manager: 'kube-controller-manager', subresource: 'scale' });
  const scaled = storage.get(deployments, minterNamespace, 'minter');
  spec.template.spec.containers.push({ name: 'injected', image: 'side:1' });
  spec.template.spec.schedulerName = 'theirs';
  const metadata = { ...scaled.metadata, annotations: { 'injector.dev/done': 'true' } };
  storage.update(deployments, { ...scaled, metadata, spec }, { manager: 'injector' });
  // The operator writes once more, to give up its ownership of the field replicas.
  await settle();
  const from = harness.server.requests.length;
  await pass(600);
  expect(writes(from)).toEqual([]);
  const end = storage.get(deployments, minterNamespace, 'minter')['spec'] as typeof spec;
  expect(end.replicas).toBe(4);
  expect(end.template.spec.schedulerName).toBe('theirs');
  expect(end.template.spec.containers).toHaveLength(2);
}, 60_000);

/** The number of requests to the status subresource of one object. */
const statusWrites = (name: string, from: number): number =>
  harness.server.requests.slice(from).filter((r) => r.subresource === 'status' && r.name === name).length;

/** Each row: its title, the name of an object, how it is read, and what changes its status each second. */
const restless: [string, string, () => KubeObject, (second: number) => void][] = [
  [
    'a minter whose pods come and go',
    'minter',
    () => harness.server.storage.get(minterDeployments, minterNamespace, 'minter'),
    (second) => {
      const ready = second % 3;
      const status = { observedGeneration: 1, replicas: 3, readyReplicas: ready, availableReplicas: ready };
      harness.server.putStatus(deployments, minterNamespace, 'minter', status);
    },
  ],
  [
    'a monitor whose pods come and go',
    'all',
    () => harness.server.storage.get(trafficMonitors, 'shop', 'all'),
    (second) => {
      const metadata = { name: `pod-${second}`, namespace: 'shop' };
      harness.server.put(pods, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: 'node-1' } } as KubeObject);
      harness.server.putStatus(pods, 'shop', metadata.name, { phase: 'Running' });
    },
  ],
  [
    'a policy while the failure of the platform changes',
    'default',
    () => harness.server.storage.get(clusterTrafficPolicies, undefined, 'default'),
    (second) => {
      harness.trouble.report('pods', { reason: 'ImagePullFailed', message: `attempt ${second}`, stalled: true });
    },
  ],
];

test.each(restless)(
  'a status is written at most once in five seconds, and unchanged conditions keep their times: %s',
  async (_what, name, read, move) => {
    const statusOf = (): { conditions: Condition[] } => read()['status'] as never;
    const { generation } = read().metadata;
    // This is the first change of each condition. From now on only numbers and messages change.
    move(1);
    await pass(6);
    const before = new Map(statusOf().conditions.map((c) => [c.type, c]));
    const from = harness.server.requests.length;
    const started = harness.clock.now();
    for (let second = 2; second < 62; second++) {
      move(second);
      await pass(1);
    }
    const seconds = (harness.clock.now() - started) / 1_000;
    expect(read().metadata.generation).toBe(generation);
    expect(statusWrites(name, from)).toBeGreaterThan(2);
    expect(statusWrites(name, from)).toBeLessThanOrEqual(Math.ceil(seconds / 5) + 1);
    const kept = statusOf().conditions.filter(({ type, status }) => before.get(type)?.status === status);
    expect(kept).not.toHaveLength(0);
    for (const { type, lastTransitionTime } of kept)
      expect({ type, lastTransitionTime }).toEqual({ type, lastTransitionTime: before.get(type)!.lastTransitionTime });
    expect(harness.server.storage.find(secrets, minterNamespace, 'vcs-app-credentials')).toBeDefined();
  },
  60_000,
);
