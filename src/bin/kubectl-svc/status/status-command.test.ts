import { parse } from 'yaml';
import { trafficMonitors } from '../../../api/v1alpha1/index.ts';
import type { RestClient } from '../../../kube/index.ts';
import { aCondition, aReadyPod, aView, viewTime } from '../../../testing/capture/cluster-view.ts';
import { fill, runWith, startApi } from '../../../testing/capture/plugin-run.ts';
import { runPluginHere, type PluginResult } from '../../../testing/plugin/plugin-run.ts';
import { aMonitor } from '../../../testing/capture/world.ts';
import type { FakeApiServer } from '../../../testing/fake-api-server/index.ts';
import { StatusError } from '../../../testing/fake-api-server/index.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { until } from '../../../testing/until.ts';
import { complete } from '../completion/complete.ts';
import type { Host } from '../host.ts';

let api: FakeApiServer;
let clock: FakeClock;
const run = (...args: string[]): Promise<PluginResult> => runWith(['status', ...args], { api, clock });

beforeEach(async () => {
  api = await startApi();
  clock = new FakeClock(viewTime);
});
afterEach(() => api.stop());

const notReady = { observedGeneration: 1, conditions: [aCondition('Ready', 'False', 'Invalid', 'spec.ports: no')] };
const ready = { observedGeneration: 1, conditions: [aCondition('Ready', 'True', 'Ready')] };

test('a healthy cluster gives exit code 0, and the same report as JSON and YAML', async () => {
  fill(api, aView());
  const { code, stdout } = await run();
  expect(stdout).toContain('✓ no fault was found; 1 check could not be made');
  expect(code).toBe(0);
  const json = JSON.parse((await run('-o', 'json')).stdout) as {
    well: boolean;
    checks: { subject: string; text: string }[];
  };
  expect(json.well).toBe(true);
  expect(json.checks.length).toBeGreaterThan(10);
  for (const { subject, text } of json.checks) expect(stdout).toContain(`${subject}: ${text}`);
  expect(parse((await run('-o', 'yaml')).stdout)).toEqual(json);
});

test('a monitor that is not ready gives exit code 1, and -n looks at one namespace only', async () => {
  fill(
    api,
    aView({
      monitors: { items: [aMonitor('shop/checkout', { selector: {} }, { status: notReady as never })] as never[] },
    }),
  );
  expect(await run()).toMatchObject({ code: 1, stdout: expect.stringContaining('✗ shop/checkout') });
  expect(await run('-n', 'pay')).toMatchObject({ code: 0 });
  expect(await run('tm', 'checkout', '-n', 'shop')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('✗ Ready: False Invalid'),
  });
  expect(await run('nodes')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^NODE +READY +AGENT/) });
});

test('-n leaves the config of each node known, for it is compiled from the monitors of all namespaces', async () => {
  const status = ready as never;
  const monitors = ['shop/checkout', 'pay/ledger'].map((path) => aMonitor(path, { selector: {} }, { status }));
  const pods = ['shop/checkout-1', 'pay/ledger-1'].map((path) => aReadyPod(path, 'node-1'));
  fill(api, aView({ monitors: { items: monitors as never[] }, pods: { items: pods } }));
  const { stdout } = await run('nodes');
  expect(stdout).toMatch(/^node-1 .* 2 .*[0-9a-f]{12}$/m);
  expect((await run('nodes', '-n', 'shop')).stdout).toBe(stdout);
  expect((await run('-n', 'shop')).stdout).not.toContain('pay/ledger');
  const listed = await run('tm', '-n', 'shop');
  expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining('✓ shop/checkout') });
  expect(listed.stdout).not.toContain('pay/ledger');
  expect(await run('tm', 'ledger', '-n', 'shop')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no ledger'),
  });
});

test('-n suffices for a user who may list the monitors of that namespace only', async () => {
  const monitor = aMonitor('shop/checkout', { selector: {} }, { status: ready as never });
  fill(api, aView({ monitors: { items: [monitor] as never[] } }));
  const error = new StatusError(403, 'Forbidden', 'no');
  api.script((r) => r.plural === 'trafficmonitors' && r.namespace === undefined, { do: 'fail', error }, 9);
  expect(await run('tm', '-n', 'shop')).toMatchObject({ code: 0, stdout: expect.stringContaining('✓ shop/checkout') });
  expect(await run('tm')).toMatchObject({ code: 1, stderr: expect.stringContaining('-n NAMESPACE') });
});

test('--wait looks again until all is well', async () => {
  fill(
    api,
    aView({
      monitors: { items: [aMonitor('shop/checkout', { selector: {} }, { status: notReady as never })] as never[] },
    }),
  );
  const waiting = run('--wait', '--timeout', '10s');
  await until('the wait for the next look', () => clock.pending > 0);
  api.putStatus(trafficMonitors, 'shop', 'checkout', ready);
  await clock.advance(2_000);
  expect(await waiting).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^waiting: shop\/checkout: not ready/),
  });
});

const refused = new Error('connect ECONNREFUSED 127.0.0.1:6443');
const unavailable = new StatusError(503, 'ServiceUnavailable', 'starting');

/** Runs `status --wait` with an API server that refuses the first connections. */
const runRefused = (refusals: number): Promise<PluginResult> => {
  let left = refusals;
  const getPath = async (): Promise<object> => {
    if (left-- > 0) throw refused;
    return {};
  };
  const kube = (): RestClient => Object.assign(api.restClient(), { getPath });
  return runPluginHere(['status', '--wait', '--timeout', '10s'], { kube, clock });
};
const refuseLists = (times: number, plural = 'trafficmonitors'): void =>
  api.script({ plural }, { do: 'fail', error: unavailable }, times);

test.each<[string, () => Promise<PluginResult>]>([
  ['a refused connection', () => runRefused(1)],
  ['a list that fails', () => (refuseLists(1), run('--wait'))],
  ['a list of the only kind that fails', () => (refuseLists(1), run('tm', '--wait'))],
  ['a list that a report on nodes needs besides', () => (refuseLists(2, 'pods'), run('nodes', '--wait'))],
])('--wait tries again after %s', async (_, start) => {
  fill(api, aView());
  const waiting = start();
  await until('the wait for the next look', () => clock.pending > 0, { timeoutMs: 9_000 });
  await clock.advance(2_000);
  expect(await waiting).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^waiting: .*(ECONNREFUSED|starting).*\n$/),
  });
});

test.each<[string, () => Promise<PluginResult>, RegExp]>([
  ['a connection is refused', () => runRefused(99), /\nerror: connect ECONNREFUSED/],
  ['a list fails', () => (refuseLists(99), run('--wait', '--timeout', '10s')), /\nwarning: not well within 10s\n/],
])('--wait gives up at its timeout, with the cause, where %s each time', async (_, start, told) => {
  fill(api, aView());
  const waiting = start();
  for (let look = 0; look < 5; look++) {
    await until('the wait for the next look', () => clock.pending > 0, { timeoutMs: 9_000 });
    await clock.advance(2_000);
  }
  expect(await waiting).toMatchObject({ code: 1, stderr: expect.stringMatching(told) });
});

test('--wait waits for no right that is missing', async () => {
  fill(api, aView());
  api.script({ plural: 'trafficmonitors' }, { do: 'fail', error: new StatusError(403, 'Forbidden', 'no') }, 9);
  expect(await run('--wait')).toMatchObject({ code: 0, stdout: expect.stringContaining('? ') });
  expect(await run('tm', '--wait')).toMatchObject({ code: 1, stderr: expect.stringContaining('you may not list') });
});

test('--wait gives up at its timeout, and says so', async () => {
  const waiting = run('--wait', '--timeout', '1s');
  await until('the wait for the next look', () => clock.pending > 0);
  await clock.advance(1_000);
  expect(await waiting).toMatchObject({ code: 1, stderr: expect.stringContaining('not well within 1s') });
});

test('a kind that may not be listed is reported in its place', async () => {
  fill(api, aView());
  api.script({ plural: 'nodes' }, { do: 'fail', error: new StatusError(403, 'Forbidden', 'no') }, 9);
  expect(await run()).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('? nodes: you may not list nodes\n'),
  });
});

test.each([
  [['--timeout', 'soon'], 'is no duration'],
  [['pods'], 'Allowed choices are'],
  [['-o', 'xml'], '-o "xml" is none of table, json, yaml'],
])('%s is wrong usage', async (args, text) => {
  const { code, stderr } = await run(...args);
  expect({ code, told: stderr.includes(text) }).toEqual({ code: 2, told: true });
});

test('completion offers kinds, then names of the kind', async () => {
  fill(api, aView({ monitors: { items: [aMonitor('shop/checkout', { selector: {} })] as never[] } }));
  const words = async (...args: string[]): Promise<string[]> => (await complete(args, hostOf(api))).split('\n');
  expect(await words('status', 'clu')).toEqual(['clustertrafficpolicies', 'clustertrafficpolicy', ':4', '']);
  expect(await words('status', '-n', 'shop', 'tm', '')).toEqual(['checkout', ':4', '']);
  expect(await words('status', 'node', 'node-')).toEqual(['node-1', 'node-2', ':4', '']);
  expect(await words('explain', 'mon')).toEqual(['monitor/', ':4', '']);
  expect(await words('explain', '-n', 'shop', 'monitor/')).toEqual(['monitor/checkout', ':4', '']);
  expect(await words('explain', 'node', '')).toEqual(['node-1', 'node-2', ':4', '']);
});

function hostOf(server: FakeApiServer): Host {
  const silent = { write: () => {}, drained: async () => {}, isTerminal: false, columns: 80, rows: 24 };
  const signal = new AbortController().signal;
  const kube = () => server.restClient();
  return { stdout: silent, stderr: silent, readStdin: async () => '', env: {}, clock, signal, kube };
}
