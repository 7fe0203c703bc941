import type { KubeObject } from '../../api/meta.ts';
import { coreResources } from '../../kube/index.ts';
import {
  controllerDefaults,
  names,
  objectLabels,
  platformDefaults,
  renderController,
  renderPlatform,
  selectorLabels,
} from '../../render/index.ts';
import { anObject, FakeApiServer, FakeClock, until } from '../../testing/index.ts';
import { uninstall, type UninstallOptions } from './uninstaller.ts';

/** `svc uninstall --delete-data`, also when an earlier call was interrupted: no data is left without a word. */

const namespace = 'svc-system';
const { daemonSets, deployments, namespaces, pods } = coreResources;
const settings = {
  namespace,
  svcImage: 'registry.example/svc:1',
  imagePullPolicy: 'Always',
  imagePullSecrets: ['registry'],
  agentDataHostPath: '/srv/agents',
} as const;

let server: FakeApiServer;
let clock: FakeClock;
let said: string[];

beforeEach(async () => {
  server = await FakeApiServer.start();
  clock = new FakeClock();
  said = [];
  const labels = { 'app.kubernetes.io/name': 'svc-operator' };
  server.put(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } });
});
afterEach(() => server.stop());

const daemonSet = (name: string): KubeObject | undefined => server.storage.find(daemonSets, namespace, name);
const removal = (): KubeObject | undefined => daemonSet(names.dataRemoval);
const podOf = (workload: KubeObject | undefined) =>
  (workload as unknown as { spec: { template: { spec: Record<string, unknown> } } }).spec.template.spec;
const agentPod = anObject({ kind: 'Pod', metadata: { namespace, name: 'agent-1', labels: selectorLabels('agent') } });

const platformDaemonSet = (over: { agentDataHostPath?: string } = {}): KubeObject =>
  renderPlatform({ ...platformDefaults, ...settings, ...over }).find(({ kind }) => kind === 'DaemonSet')!;
const putAgents = (over: { agentDataHostPath?: string } = {}): unknown =>
  server.put(daemonSets, platformDaemonSet(over));

function putOperator(): void {
  const objects = renderController({ ...controllerDefaults, ...settings });
  server.put(
    deployments,
    objects.find(({ kind }) => kind === 'Deployment')!,
  );
}

/** What Kubernetes says of a DaemonSet whose pods run on the one node, or on none. */
function rollOut(): void {
  const found = removal();
  if (!found) return;
  const selector = podOf(found)['nodeSelector'] as object;
  const nodes = Object.keys(selector).length === 1 ? 1 : 0;
  const counts = { desiredNumberScheduled: nodes, updatedNumberScheduled: nodes, numberAvailable: nodes };
  const status = { observedGeneration: found.metadata.generation, ...counts };
  server.putStatus(daemonSets, namespace, names.dataRemoval, status);
}

/** Runs the command to its end; `turn` is called in each of its pauses. */
async function run(turn: () => void = rollOut, options: Partial<UninstallOptions> = {}): Promise<void> {
  const client = server.client();
  let ended = false;
  const running = uninstall(
    {
      ...{ namespace, deleteData: true, keepCrds: true, dryRun: false, timeoutMs: 60_000 },
      progress: (line) => said.push(line),
      ...options,
    },
    { client, clock, signal: new AbortController().signal },
  ).finally(() => (ended = true));
  running.catch(() => {});
  for (;;) {
    await until('a pause or the end', () => ended || clock.pending > 0);
    if (ended) break;
    turn();
    await clock.advance(500);
  }
  await client.close();
  await running;
}

const removed = 'data in /srv/agents is being removed on every node where agents may run';

test('the data goes after the agents, with the image, secrets and folder of theirs', async () => {
  putAgents();
  putOperator();
  server.put(pods, agentPod);
  let asleep: KubeObject | undefined;
  let awake: KubeObject | undefined;
  await run(() => {
    rollOut();
    if (server.storage.find(pods, namespace, 'agent-1')) {
      asleep = removal();
      if (!daemonSet(names.agent)) server.storage.remove(pods, namespace, 'agent-1');
    } else awake = removal() ?? awake;
  });
  expect(said).toEqual(expect.arrayContaining([removed, 'data removed: 1/1 nodes']));
  expect(podOf(asleep)['nodeSelector']).toEqual({ 'kubernetes.io/os': 'linux', 'svc.dev/data-removal': 'waiting' });
  expect(podOf(awake)).toMatchObject({
    imagePullSecrets: [{ name: 'registry' }],
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    volumes: [{ hostPath: { path: '/srv/agents' } }],
  });
  expect(podOf(awake)['nodeSelector']).toEqual({ 'kubernetes.io/os': 'linux' });
  expect(podOf(awake)['affinity']).toEqual(podOf(platformDaemonSet())['affinity']);
  // A ResourceQuota refuses pods that lack what it counts.
  const resources = { requests: { cpu: '50m', memory: '64Mi' }, limits: { memory: '256Mi' } };
  for (const list of ['initContainers', 'containers'])
    expect(podOf(awake)[list]).toMatchObject([{ image: settings.svcImage, imagePullPolicy: 'Always', resources }]);
  expect(server.storage.find(namespaces, undefined, namespace)).toBeUndefined();
});

test('the removal has the required node affinity of the agents, also when it is taken up, and no other affinity', async () => {
  const agents = platformDaemonSet();
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{}] } } };
  // Where its pods would have to be beside others, they might wait for ever.
  Object.assign(podOf(agents), { affinity: { ...affinity, podAffinity: {} } });
  server.put(daemonSets, agents);
  await expect(run(() => {})).rejects.toThrow(/data on the nodes/);
  expect(podOf(removal())['affinity']).toEqual(affinity);
  let last: KubeObject | undefined;
  await run(() => {
    last = removal() ?? last;
    rollOut();
  });
  expect(podOf(last)['affinity']).toEqual(affinity);
});

test('a call that ended while agents stopped is taken up by the next', async () => {
  putAgents();
  putOperator();
  server.put(pods, agentPod);
  await expect(run()).rejects.toThrow(/still there after 60 s: pod\/svc-system\/agent-1/);
  expect(daemonSet(names.agent)).toBeUndefined();
  expect(said).not.toContain(removed);
  server.storage.remove(pods, namespace, 'agent-1');
  await run();
  expect(said).toEqual(expect.arrayContaining([removed, 'data removed: 1/1 nodes']));
});

test('a call that ended while data was being removed is taken up by the next', async () => {
  putAgents();
  await expect(run(() => {})).rejects.toThrow(/data on the nodes \(not observed by its controller yet\)/);
  said = [];
  await run();
  expect(said).toEqual(expect.arrayContaining([removed, 'data removed: 1/1 nodes']));
});

test('an operator without agents tells where they would keep their data', async () => {
  putOperator();
  await run();
  expect(said).toEqual(expect.arrayContaining([removed, 'data removed: 1/1 nodes']));
});

test('an operator that was installed after a removal was given up tells its own folder, not that of the removal', async () => {
  putAgents({ agentDataHostPath: '/srv/former' });
  await expect(run(() => {})).rejects.toThrow(/data on the nodes/);
  putOperator();
  await run();
  expect(said).toContain(removed);
});

test('without agents, operator or an earlier call, everything else goes, and the error says what is not known', async () => {
  const labels = objectLabels('query');
  server.put(deployments, anObject({ kind: 'Deployment', metadata: { namespace, name: names.query, labels } }));
  await expect(run()).rejects.toThrow(/^data may be left on the nodes: .* nothing tells in which folder/);
  expect(said.join()).not.toContain('kept no data');
  expect(server.storage.find(namespaces, undefined, namespace)).toBeUndefined();
});

test('agents on an emptyDir keep no data', async () => {
  putAgents({ agentDataHostPath: '' });
  await run();
  expect(said).toContain('agents kept no data on the nodes');
});

test('a dry run names the folder and changes nothing', async () => {
  putAgents();
  const before = server.storage.version;
  await run(() => {}, { dryRun: true });
  expect(said).toContain('data in /srv/agents would be removed on every node where agents may run');
  expect(server.storage.version).toBe(before);
});
