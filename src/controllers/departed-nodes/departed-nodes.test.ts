import { readRecordData } from '../../api/agents/record-text.ts';
import type { KubeObject } from '../../api/meta.ts';
import { createLogger } from '../../base/logger.ts';
import { coreResources } from '../../kube/index.ts';
import { objectLabels } from '../../render/index.ts';
import { noFaults, runController, type ControllerHarness } from '../../testing/run-controller.ts';
import { setupDepartedNodes } from './setup.ts';

const { configMaps, daemonSets, nodes, pods } = coreResources;
const namespace = 'svc-system';
const hour = 3_600_000;
const template = { spec: { nodeSelector: { os: 'linux' } } };
const daemonSet: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'svc-agent', namespace, labels: objectLabels('agent') },
  spec: { template },
};
const aNode = (name: string, machineID = name): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { os: 'linux' } },
  status: { nodeInfo: { machineID, systemUUID: 'u' } },
});
const podOf = (node: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `agent-${node}`, namespace, labels: objectLabels('agent') },
  spec: { nodeName: node, containers: [] },
  status: { phase: 'Running', podIP: '10.0.0.1' },
});
const stored = (data: object): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'svc-departed-nodes', namespace },
  data,
});

let harness: ControllerHarness;
let logged: string[];
let keeps: Record<string, number>;
let tellKeeps: () => void;
afterEach(() => harness.stop());

async function run(objects: readonly KubeObject[]): Promise<void> {
  logged = [];
  keeps = {};
  let passed = (): number => 0;
  harness = await runController(
    (env) =>
      setupDepartedNodes(env, {
        namespace,
        keepMs: (node) => keeps[node],
        onKeepChange: (listener) => (tellKeeps = listener),
      }),
    [daemonSet, ...objects],
    noFaults,
    {
      logger: createLogger({ write: (line) => void logged.push(line) }),
      // The API server's clock is right, wherever the operator's jumps.
      server: { now: () => Date.UTC(2026, 0, 1) + passed() },
    },
  );
  passed = () => harness.clock.monotonic();
  await harness.idle();
}

const record = () => {
  const found = harness.server.storage.find(configMaps, namespace, 'svc-departed-nodes');
  return readRecordData(found?.['data'], harness.clock.now()).record;
};
const names = (list: readonly { node: string }[] = []): string[] => list.map(({ node }) => node);
const writes = (): number => harness.server.requests.filter(({ method }) => method !== 'GET').length;
const remove = (resource: typeof nodes, name: string, within?: string): void =>
  void harness.server.storage.remove(resource, within, name);
/** A node leaves, and its pod with it. */
const leave = (node: string): void => {
  remove(nodes, node);
  remove(pods, `agent-${node}`, namespace);
};
const untilGone = (...gone: string[]): Promise<void> =>
  harness.passUntil(() => names(record().departed).join() === gone.join(), `departure of ${gone.join()}`);

test('the record is written once for serving nodes, and again only when a node leaves', async () => {
  await run([aNode('a'), aNode('b'), podOf('a'), podOf('b'), aNode('c')]);
  expect([names(record().serving), record().departed, writes()]).toEqual([['a', 'b'], [], 1]);
  await harness.clock.advance(hour);
  await harness.idle();
  expect(writes()).toBe(1);
  const left = harness.clock.now();
  leave('a');
  await untilGone('a');
  const [gone] = record().departed!;
  expect(gone).toMatchObject({ fromMs: Date.UTC(2026, 0, 1), untilMs: gone!.leftMs + 24 * hour });
  expect(gone!.leftMs - left).toBeLessThan(2_000);
  expect(logged.join()).toContain('node left: the data of its agent is gone');
  expect(await harness.manager.registry.getSingleMetricAsString('svc_controller_departed_nodes')).toMatch(/ 1$/m);
  const before = writes();
  await harness.clock.advance(10 * 60_000);
  expect(writes()).toBe(before);
});

test('a node that only loses its pod, or is not ready, has not left', async () => {
  await run([aNode('a'), podOf('a')]);
  remove(pods, 'agent-a', namespace);
  harness.server.putStatus(nodes, undefined, 'a', { conditions: [{ type: 'Ready', status: 'Unknown' }] });
  await harness.clock.advance(60_000);
  await harness.idle();
  expect([names(record().serving), record().departed]).toEqual([['a'], []]);
});

test('a node that the DaemonSet deselects has left once its pod is gone, and is back once it serves', async () => {
  await run([aNode('a'), podOf('a')]);
  harness.server.put(daemonSets, { ...daemonSet, spec: { template: { spec: { nodeSelector: { os: 'other' } } } } });
  await harness.clock.advance(10_000);
  expect(record().departed).toEqual([]);
  remove(pods, 'agent-a', namespace);
  await untilGone('a');
  harness.server.put(daemonSets, daemonSet);
  await harness.clock.advance(10_000);
  expect(names(record().departed)).toEqual(['a']);
  harness.server.put(pods, podOf('a'));
  await untilGone();
  expect(names(record().serving)).toEqual(['a']);
});

test('an operator that was down when a node left or its machine changed sees that from the ConfigMap', async () => {
  await run(['a', 'b', 'c'].flatMap((name) => [aNode(name), podOf(name)]));
  const { data } = harness.server.storage.get(configMaps, namespace, 'svc-departed-nodes') as { data?: object };
  await harness.stop();
  await run([stored(data!), aNode('a'), podOf('a'), aNode('b', 'another'), podOf('b')]);
  expect(names(record().departed)).toEqual(['b', 'c']);
  expect(names(record().serving)).toEqual(['a', 'b']);
  const now = harness.clock.now();
  for (const { leftMs } of record().departed!) expect(now - leftMs).toBeLessThan(2_000);
  // The next operator adds nothing to the departed nodes.
  const written = harness.server.storage.get(configMaps, namespace, 'svc-departed-nodes') as {
    data?: Record<string, string>;
  };
  await harness.stop();
  await run([stored(written.data!), aNode('a'), podOf('a'), aNode('b', 'another'), podOf('b')]);
  await harness.clock.advance(5_000);
  await harness.idle();
  const { data: later } = harness.server.storage.get(configMaps, namespace, 'svc-departed-nodes');
  expect((later as Record<string, string>)['departed.json']).toBe(written.data!['departed.json']);
});

test('the record follows the retention of policies, after which a departed node is forgotten', async () => {
  await run([aNode('a'), podOf('a'), aNode('b'), podOf('b')]);
  keeps = { a: 3 * hour, b: 24 * hour };
  tellKeeps();
  await harness.passUntil(() => record().serving![0]!.keepMs === 3 * hour, 'the retention');
  const before = writes();
  tellKeeps();
  await harness.clock.advance(5_000);
  expect(writes()).toBe(before);
  leave('a');
  await untilGone('a');
  await harness.clock.advance(2 * hour);
  await harness.idle();
  expect(names(record().departed)).toEqual(['a']);
  await harness.clock.advance(hour + 60_000);
  await untilGone();
});

test('faults in the record are logged, and the record is rewritten without them', async () => {
  const good = {
    node: 'z',
    uid: 'u',
    from: '2025-12-31T00:00:00Z',
    left: '2025-12-31T12:00:00Z',
    until: '2026-01-01T12:00:00Z',
  };
  const data = {
    'serving.json': 'x',
    'departed.json': JSON.stringify([{ ...good, node: '../..' }, good]),
    note: 'mine',
  };
  await run([stored(data), aNode('a'), podOf('a')]);
  expect(logged.join()).toMatch(
    /"faults":\["serving.json: no JSON","departed.json\[0\].node: not the name of a node"\]/,
  );
  expect([names(record().serving), names(record().departed)]).toEqual([['a'], ['z']]);
  const written = harness.server.storage.find(configMaps, namespace, 'svc-departed-nodes')?.['data'];
  expect(written).toMatchObject({ note: 'mine' });
  expect(JSON.stringify(written)).not.toContain('../..');
});

test('a deleted or edited record is written again', async () => {
  await run([aNode('a'), podOf('a')]);
  remove(configMaps, 'svc-departed-nodes', namespace);
  await harness.passUntil(() => names(record().serving).join() === 'a', 'the record again');
  harness.server.put(configMaps, stored({ 'serving.json': '[]' }));
  await harness.passUntil(() => names(record().serving).join() === 'a', 'and again');
});

test.each([
  ['deleted', () => remove(configMaps, 'svc-departed-nodes', namespace)],
  ['made unreadable', () => harness.server.put(configMaps, stored({ 'serving.json': '[]', 'departed.json': '{' }))],
])('departed nodes are not forgotten when the record is %s', async (_, spoil) => {
  await run([aNode('a'), podOf('a'), aNode('b'), podOf('b')]);
  leave('a');
  await untilGone('a');
  const left = record().departed;
  await harness.clock.advance(5_000);
  spoil();
  await harness.passUntil(() => {
    const found = harness.server.storage.find(configMaps, namespace, 'svc-departed-nodes');
    return found !== undefined && names(record().serving).join() === 'b';
  }, 'the record again');
  expect(record().departed).toEqual(left);
});

test('a node that left while the clock was ahead stays on record once the clock is right', async () => {
  await run([aNode('a'), podOf('a'), aNode('b'), podOf('b')]);
  harness.clock.jumpWall(600_000);
  leave('a');
  await untilGone('a');
  harness.clock.jumpWall(-600_000);
  leave('b');
  await harness.passUntil(() => names(record().departed).includes('b'), 'departure of b');
  const gone = record().departed!.find(({ node }) => node === 'a');
  expect(gone!.leftMs - harness.clock.now()).toBeLessThanOrEqual(300_000);
  expect(gone!.untilMs - gone!.leftMs).toBe(24 * hour);
});

test('a clock that is a day ahead for a while deletes no departed node', async () => {
  await run([aNode('a'), podOf('a')]);
  leave('a');
  await untilGone('a');
  harness.clock.jumpWall(25 * hour);
  harness.server.put(nodes, aNode('b'));
  harness.server.put(pods, podOf('b'));
  await harness.passUntil(() => names(record().serving).join() === 'b', 'record of b');
  harness.clock.jumpWall(-25 * hour);
  expect(names(record().departed)).toEqual(['a']);
});

test('a leader that starts with a clock a day ahead deletes no departed node before an hour has passed', async () => {
  await run([aNode('a'), podOf('a')]);
  leave('a');
  await untilGone('a');
  const { data } = harness.server.storage.get(configMaps, namespace, 'svc-departed-nodes') as { data?: object };
  await harness.stop();
  const old = JSON.parse(JSON.stringify(data).replaceAll('2026-01', '2025-12')) as object;
  await run([stored(old), aNode('b'), podOf('b')]);
  expect(names(record().departed)).toEqual(['a']);
  await harness.clock.advance(2 * hour + 60_000);
  await untilGone();
});

test('a node that leaves while the clock lags behind its creation stays on record', async () => {
  await run([aNode('a'), podOf('a')]);
  harness.clock.jumpWall(-hour);
  leave('a');
  await untilGone('a');
  await harness.clock.advance(5_000);
  await harness.idle();
  harness.clock.jumpWall(hour);
  expect(record().departed).toMatchObject([{ node: 'a', fromMs: Date.UTC(2026, 0, 1), leftMs: Date.UTC(2026, 0, 1) }]);
  expect(logged.filter((line) => line.includes('node left'))).toHaveLength(1);
  expect(logged.join()).not.toContain('invalid parts');
});

test('a leader whose clock lags keeps the times of the departures that an earlier leader wrote', async () => {
  await run([aNode('a'), podOf('a'), aNode('b'), podOf('b')]);
  leave('a');
  await untilGone('a');
  const departure = record().departed!;
  harness.clock.jumpWall(-3 * hour);
  harness.server.put(nodes, aNode('c'));
  harness.server.put(pods, podOf('c'));
  await harness.passUntil(() => names(record().serving).join() === 'b,c', 'record of c');
  await harness.clock.advance(5_000);
  await harness.idle();
  harness.clock.jumpWall(3 * hour);
  expect(record().departed).toEqual(departure);
});

test('many nodes that leave at the same time cause few writes', async () => {
  const all = Array.from({ length: 50 }, (_, i) => `n${String(i).padStart(2, '0')}`);
  await run(all.flatMap((name) => [aNode(name), podOf(name)]));
  await harness.clock.advance(5_000);
  const before = writes();
  for (const name of all) leave(name);
  await untilGone(...all);
  expect(writes() - before).toBeLessThanOrEqual(3);
});
