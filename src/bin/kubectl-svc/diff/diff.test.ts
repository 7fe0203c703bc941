import { mkdtempSync, rmSync, symlinkSync, writeFileSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { KubeObject } from '../../../api/meta.ts';
import { clusterTrafficPolicies } from '../../../api/v1alpha1/index.ts';
import type { CompileInput } from '../../../capture/index.ts';
import { aReadyPod, aView, viewTime } from '../../../testing/capture/cluster-view.ts';
import { fill, runWith, startApi } from '../../../testing/capture/plugin-run.ts';
import type { PluginResult } from '../../../testing/plugin/plugin-run.ts';
import { aMonitor, aPolicy, aWorld } from '../../../testing/capture/world.ts';
import { StatusError, type FakeApiServer } from '../../../testing/fake-api-server/index.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { expectGolden } from '../../../testing/golden.ts';
import { styles } from '../output/style.ts';
import { applied } from './applied.ts';
import { diffPlan, differs, type DiffPlan } from './plan.ts';
import { planText } from './render.ts';
import { schemaFaults } from '../../../api/schema/schema-faults.ts';

const plain = styles({ isTerminal: false }, {});
const golden = (name: string, text: string): void => expectGolden(import.meta.dirname, name, text);
const now = Date.parse('2026-06-01T12:00:00Z');
const monitor = (spec: object, path = 'shop/checkout', meta: object = {}): KubeObject =>
  aMonitor(path, spec, meta) as unknown as KubeObject;
const policy = (spec: object, name = 'default', meta: object = {}): KubeObject =>
  aPolicy(name, spec, meta) as unknown as KubeObject;

const checkout = { selector: { matchLabels: { app: 'checkout' } }, ports: [{ port: 8080 }] };
const paced = aPolicy('default', {
  rollout: { maxUnavailable: 1, minInterval: '60s', canaryNodes: { matchLabels: { pool: 'edge' } } },
});
/** The objects of a small cluster, with a monitor and a policy that paces the rollout. */
const world = (more: Partial<CompileInput> = {}): CompileInput =>
  aWorld({ policies: [paced], monitors: [aMonitor('shop/checkout', checkout)], ...more });

const plan = (wanted: KubeObject[], input = world(), gone = false): DiffPlan =>
  diffPlan(input, wanted, { delete: gone, now });
const text = (of: DiffPlan): string => planText(of, plain);

describe('a plan', () => {
  test('of an unchanged object differs in nothing', () => {
    const same = plan([monitor(checkout)]);
    expect({ differs: differs(same), text: text(same) }).toEqual({ differs: false, text: '' });
  });

  test('of an edited monitor shows the changed lines, the nodes, the restarts and how they are paced', () => {
    const edited = plan([
      monitor({ ...checkout, ports: [{ port: 8080 }, { port: 9000 }], sampling: { ratio: '0.2' } }),
    ]);
    expect(differs(edited)).toBe(true);
    golden('edited-monitor.txt', text(edited));
  });

  test('of an object whose members were written in another order differs in nothing', () => {
    const { ports, selector } = checkout;
    expect(differs(plan([monitor({ ports, mode: 'Capture', selector })]))).toBe(false);
  });

  test('of a field that only the agent applies restarts nothing', () => {
    const edited = plan([monitor({ ...checkout, http: { ignorePaths: ['/healthz'] } })]);
    expect(edited.groups.map(({ nodes, restarts }) => [nodes, restarts])).toEqual([[['node-1', 'node-2'], []]]);
    golden('agent-rules.txt', text(edited));
  });

  test('of a first policy says that all nodes change at the same time', () => {
    golden('new-policy.txt', text(plan([policy({ capture: { ports: [{ port: 9000 }] } })], world({ policies: [] }))));
  });

  test('of a deleted monitor shows what ends with it; to delete one that does not exist is no difference', () => {
    const gone = plan([monitor(checkout)], world(), true);
    expect(gone.objects[0]).toMatchObject({
      change: 'deleted',
      notes: ['matched pods: 2 → none', 'nodes with a matched pod: 2 → none', 'accepted: Accepted → none'],
    });
    expect(gone.groups.flatMap(({ nodes }) => nodes)).toEqual(['node-1', 'node-2', 'node-3']);
    expect(differs(plan([monitor(checkout, 'shop/other')], world(), true))).toBe(false);
  });

  test('of a change without effect on nodes says so', () => {
    const edited = plan([
      monitor({
        ...checkout,
        autoscaling: { metrics: [{ name: 'rps', preset: 'RequestsPerSecond', resource: 'pods' }] },
      }),
    ]);
    expect(edited.groups).toEqual([]);
    expect(text(edited)).toMatch(/# nothing changes on the 3 nodes\n$/);
    expect(differs(edited)).toBe(true);
  });

  test('takes all files together: a monitor and its namespace can come in one call', () => {
    const namespace: KubeObject = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'new', labels: { tier: 'critical' } },
    };
    const only = policy({ monitorNamespaces: { matchLabels: { tier: 'critical' } } }, 'strict');
    const { objects } = plan([
      only,
      monitor({ selector: {} }, 'new/all'),
      namespace,
      monitor({ selector: {} }, 'shop/all'),
    ]);
    expect(objects.map(({ object, notes }) => `${object}: ${notes.find((n) => n.startsWith('accepted'))}`)).toEqual([
      'ClusterTrafficPolicy strict: accepted: Accepted',
      'TrafficMonitor new/all: accepted: Accepted',
      expect.stringMatching(/^TrafficMonitor shop\/all: accepted: NamespaceNotAllowed/),
    ]);
  });

  test('warns of a policy that would silence monitors, as admission does', () => {
    const silencing = { overrides: { signals: { metrics: 'Disabled', spans: 'Disabled' } } };
    expect(plan([policy(silencing)]).warnings).toEqual([
      expect.stringMatching(
        /would leave 1 TrafficMonitor\(s\) .*shop\/checkout.*unless it is annotated with svc.dev\/allow-orphans=true$/,
      ),
    ]);
    const meant = policy(silencing, 'default', { annotations: { 'svc.dev/allow-orphans': 'true' } });
    expect(plan([meant]).warnings[0]).not.toContain('unless');
  });
});

test('applying keeps what others set, sets what the file says, and removes what the file no longer has', () => {
  const last = { spec: { priority: 1, sampling: { ratio: '1', keepErrors: true }, ports: [{ port: 1 }] } };
  const live = monitor(
    { priority: 1, suspend: true, sampling: { ratio: '1', keepErrors: true }, ports: [{ port: 1 }] },
    'shop/m',
    { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(last) } },
  );
  const next = applied(live, {
    ...live,
    metadata: { name: 'm' },
    spec: { sampling: { ratio: '0.5' }, ports: [{ port: 2 }] },
  });
  expect(next['spec']).toEqual({ mode: 'Capture', suspend: true, sampling: { ratio: '0.5' }, ports: [{ port: 2 }] });
  expect(next.metadata.generation).toBe(2);
});

test('the length of a string is counted in code points, as the API server does', () => {
  const schema = { type: 'string', maxLength: 2 };
  expect(schemaFaults(schema, '\u{1f600}\u{1f600}', 'spec.x')).toEqual([]);
  expect(schemaFaults(schema, 'abc', 'spec.x')).toHaveLength(1);
});

test.each([
  ['none', {}],
  ['one', { mine: '1' }],
])('applying a file without annotations keeps those of others, where the last applied file had %s', (_, own) => {
  const last = { metadata: { annotations: own }, spec: {} };
  const annotations = {
    ...own,
    'svc.dev/allow-orphans': 'true',
    'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(last),
  };
  const live = monitor({}, 'shop/m', { annotations });
  const next = applied(live, { ...live, metadata: { name: 'm' } });
  expect(next.metadata.annotations).toEqual({ 'svc.dev/allow-orphans': 'true' });
});

describe('the command', () => {
  let api: FakeApiServer;
  let folder: string;
  const run = (args: string[], stdin = ''): Promise<PluginResult> =>
    runWith(['diff', ...args], { api, clock: new FakeClock(viewTime), stdin });
  const file = (name: string, ...objects: KubeObject[]): string => {
    const path = join(folder, name);
    writeFileSync(path, objects.map((object) => stringify(object)).join('---\n'));
    return path;
  };
  const bare = (spec: object, name = 'checkout'): KubeObject => ({
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'TrafficMonitor',
    metadata: { name, namespace: 'shop' },
    spec,
  });

  beforeEach(async () => {
    api = await startApi();
    folder = mkdtempSync(join(tmpdir(), 'svc-diff-'));
    const pods = [aReadyPod('shop/checkout-1', 'node-1', { metadata: { labels: { app: 'checkout' } } })];
    fill(api, aView({ monitors: { items: [aMonitor('shop/checkout', checkout)] as never[] }, pods: { items: pods } }));
  });
  afterEach(async () => {
    rmSync(folder, { recursive: true });
    await api.stop();
  });

  test('ends with 0 where nothing differs and with 1 where something does, and writes nothing', async () => {
    const before = api.storage.version;
    expect(await run(['-f', file('same.yaml', bare(checkout))])).toEqual({ code: 0, stdout: '', stderr: '' });
    const edited = await run(['-f', file('edited.yaml', bare({ ...checkout, ports: [{ port: 9000 }] }))]);
    expect(edited.code).toBe(1);
    expect(edited.stdout).toMatch(/^-.*open_ports: "?8080"?$/m);
    expect(edited.stdout).toMatch(/^\+.*open_ports: "?9000"?$/m);
    expect(api.storage.version).toBe(before);
  });

  test('takes a policy with a namespace, as kustomize writes it, for the policy of that name', async () => {
    const { spec } = aPolicy('default', { capture: { ports: [{ port: 9000 }] } });
    api.put(clusterTrafficPolicies, policy(spec));
    const inShop = (of: object): string =>
      file('policy.yaml', {
        apiVersion: 'svc.dev/v1alpha1',
        kind: 'ClusterTrafficPolicy',
        metadata: { name: 'default', namespace: 'shop' },
        spec: of,
      });
    expect(await run(['-f', inShop(spec)])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await run(['-f', inShop({ capture: { ports: [{ port: 9001 }] } })])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('# ClusterTrafficPolicy default would change'),
      stderr: '',
    });
    expect(await run(['-f', inShop(spec), '--delete'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('# ClusterTrafficPolicy default would be deleted'),
    });
  });

  test('reads the standard input and folders, and gives JSON', async () => {
    const fromStdin = await run(['-f', '-', '-o', 'json'], stringify(bare({ ...checkout, suspend: true })));
    expect(fromStdin.code).toBe(1);
    expect(JSON.parse(fromStdin.stdout)).toMatchObject({
      objects: [{ object: 'TrafficMonitor shop/checkout', change: 'configured' }],
      nodes: 2,
    });
    mkdirSync(join(folder, 'deep'));
    file('deep/m.yaml', bare({ selector: {} }, 'all'));
    expect(await run(['-f', folder])).toMatchObject({ code: 2, stderr: expect.stringContaining('-R looks into') });
    expect(await run(['-f', folder, '-R'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('# TrafficMonitor shop/all would be created'),
    });
  });

  test('takes the output of a large chart from the standard input', async () => {
    const other = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { text: 'x'.repeat(2 ** 21) } };
    expect(await run(['-f', '-'], `${JSON.stringify(other)}\n---\n${stringify(bare(checkout))}`)).toEqual({
      code: 0,
      stdout: '',
      stderr: 'warning: 1 objects of other kinds are left out\n',
    });
  });

  test('reads links to files in a folder, as those of a mounted ConfigMap', async () => {
    mkdirSync(join(folder, 'mounted'));
    symlinkSync(file('one.txt', bare({ selector: {} }, 'linked')), join(folder, 'mounted', 'one.yaml'));
    expect(await run(['-f', join(folder, 'mounted')])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('# TrafficMonitor shop/linked would be created'),
    });
  });

  test('refuses a faulty file with exit code 2, and names file, document, field and reason', async () => {
    const path = file('wrong.yaml', bare(checkout), bare({ ports: [{ port: 0 }] }, 'bad'));
    expect(await run(['-f', path])).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: ${path} document 2, TrafficMonitor shop/bad: spec.ports[0].port: 0 is less than 1\n`,
    });
    expect(await run([])).toMatchObject({ code: 2 });
    expect(await run(['-f', join(folder, 'nope.yaml')])).toMatchObject({ code: 2 });
  });

  test('reports what the API server refuses, and goes on where a dry run is forbidden', async () => {
    const path = file('new.yaml', bare({ selector: {} }, 'new'));
    const causes = [{ field: 'spec', message: 'Invalid value: select something' }];
    api.script(
      { verb: 'create', plural: 'trafficmonitors' },
      {
        do: 'raw',
        status: 422,
        contentType: 'application/json',
        body: JSON.stringify({
          kind: 'Status',
          code: 422,
          reason: 'Invalid',
          message: 'is invalid',
          details: { causes },
        }),
      },
    );
    expect(await run(['-f', path])).toMatchObject({
      code: 2,
      stderr: `error: ${path} document 1, TrafficMonitor shop/new: spec: Invalid value: select something\n`,
    });
    api.script(
      { verb: 'create', plural: 'trafficmonitors' },
      { do: 'fail', error: new StatusError(403, 'Forbidden', 'no') },
    );
    expect(await run(['-f', path])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('could not be asked whether it takes TrafficMonitor shop/new'),
    });
  });

  test('fails if the user may not read an input of the compile, and names the needed right', async () => {
    api.script({ plural: 'nodes' }, { do: 'fail', error: new StatusError(403, 'Forbidden', 'no') });
    expect(await run(['-f', file('same.yaml', bare(checkout))])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: .*you may not list nodes\n {2}needed: list of /),
    });
  });

  test('fails with the cause, and without a hint at rights, if the API server fails', async () => {
    const path = file('same.yaml', bare(checkout));
    const error = new StatusError(500, 'InternalError', 'etcd is away');
    api.script({ plural: 'nodes' }, { do: 'fail', error }, 9);
    expect(await run(['-f', path])).toMatchObject({
      code: 2,
      stderr: 'error: an input of the compile cannot be read: list nodes: 500 etcd is away\n',
    });
  });
});
