import { CaptureWorld } from '../../testing/capture/operator.ts';
import { until } from '../../testing/until.ts';

let world: CaptureWorld;
afterEach(() => world.stop());

const exported = {
  selector: { matchLabels: { app: 'checkout' } },
  export: [
    {
      name: 'mimir',
      type: 'RemoteWrite',
      endpoint: 'https://mimir.example.com/push',
      secretRef: { name: 'mimir', key: 'token' },
    },
  ],
};
const condition = (type: string): string | undefined => world.conditions(world.monitor('shop/m'))[type];
const putToken = (value: string, namespace = 'shop'): void =>
  world.put('secrets', {
    metadata: { namespace, name: 'mimir' },
    data: { token: Buffer.from(value).toString('base64') },
  } as never);

/**
 * Waits until a status has a condition. Status writes are paced, so this moves the clock to the next write. It does so
 * only every half second of real time, so that the calls of one write can end before the next.
 */
async function shows(type: string, state: string, is = () => condition(type) === state): Promise<void> {
  let next = 0;
  await until(`${type} ${state}`, () => {
    if (performance.now() >= next) {
      world.refresh();
      next = performance.now() + 500;
    }
    return is();
  });
}

async function aCluster(): Promise<void> {
  world = await CaptureWorld.start({ nodes: 2 });
  world.putPod('shop/checkout-1', 'node-1', { app: 'checkout' });
}

test('the Secret of an export goes only to the node that needs it, separate from its config', async () => {
  await aCluster();
  putToken('t0p-secret');
  world.putPolicy('p', { exportAllowList: ['*.example.com'] });
  world.putMonitor('shop/m', exported);
  const [first, second] = world.agents;
  await until('the delivery', () => first!.secrets.length > 0);
  expect(first!.secrets.at(-1)!.secrets).toEqual({ 'shop/mimir/token': 't0p-secret' });
  await until('the config', () => first!.config?.monitors[0]?.exports);
  expect(JSON.stringify(first!.taken)).not.toContain('t0p-secret');
  await shows('Exporting', 'True/Exporting');
  expect(second!.secrets).toEqual([]);
  expect(condition('ResolvedRefs')).toBe('True/ResolvedRefs');
});

test('the token of an export that is removed is taken back from the agent, once, after the config that lacks it', async () => {
  await aCluster();
  putToken('t0p-secret');
  world.putPolicy('p', { exportAllowList: ['*.example.com'] });
  world.putMonitor('shop/m', exported);
  const agent = world.agents[0]!;
  await until('the delivery', () => agent.secrets.length === 1);
  const configs = agent.taken.length;
  world.putMonitor('shop/m', { selector: exported.selector });
  await until('the second delivery', () => agent.secrets.length > 1);
  expect(agent.secrets.slice(1).map(({ secrets }) => secrets)).toEqual([{}]);
  expect(agent.taken.length).toBeGreaterThan(configs);
  expect(agent.config!.monitors[0]!.exports).toBeUndefined();
  for (let i = 1; i <= 3; i++) {
    agent.update({ totals: { series: i, samplesAppended: 0, rejected: 0 } });
    await until('the status', () => world.hub.nodes.get('node-1')?.status?.totals.series === i);
  }
  await world.settled();
  expect(agent.secrets).toHaveLength(2);
});

test('what waits on a node that the last pod has left stays there with its token, also under a new leader, until it is sent', async () => {
  await aCluster();
  putToken('t0p-secret');
  world.putPolicy('p', { exportAllowList: ['*.example.com'] });
  world.putMonitor('shop/m', exported);
  const agent = world.agents[0]!;
  await until('the delivery', () => agent.secrets.length > 0);
  await world.settled();
  const row = { owner: 'TrafficMonitor/shop/m', name: 'mimir', sent: 0, refused: 0 };
  const waits = { ...row, state: 'Failing', message: 'HTTP 503' } as const;
  agent.update({ exports: [{ ...waits, pendingBytes: 7 }] });
  await until('the status', () => world.hub.nodes.get('node-1')?.status?.exports);
  const configs = agent.taken.length;
  // A pod that is deleted would be remembered for ten minutes.
  world.putPod('shop/checkout-1', 'node-1', { app: 'other' });
  await until('the config without the pod', () => agent.config?.monitors[0]?.pods.length === 0);
  expect(agent.config!.monitors[0]!.exports).toHaveLength(1);
  // A compile for each change of what waits would be one for each status of each agent.
  const compiles = world.hub.result;
  agent.update({ exports: [{ ...waits, pendingBytes: 8 }] });
  await until('the status', () => world.hub.nodes.get('node-1')?.status?.exports?.[0]?.pendingBytes === 8);
  await world.settled();
  expect(world.hub.result).toBe(compiles);
  await world.changeLeader();
  await world.settled();
  const taken = agent.taken.slice(configs);
  expect(taken.map(({ monitors }) => monitors[0]?.exports?.length)).toEqual(taken.map(() => 1));
  expect(agent.secrets.map(({ secrets }) => Object.keys(secrets).length)).not.toContain(0);
  agent.update({ exports: [{ ...row, state: 'Sending', pendingBytes: 0 }] });
  await until('the config without the rule', () => agent.config?.monitors.length === 0);
  await until('the end of the token', () => Object.keys(agent.secrets.at(-1)!.secrets).length === 0);
});

test('a new leader takes no token from the agents while the API server has yet to return it', async () => {
  await aCluster();
  putToken('one');
  world.putPolicy('p', { exportAllowList: ['*.example.com'] });
  world.putMonitor('shop/m', exported);
  const agent = world.agents[0]!;
  await until('the delivery', () => agent.secrets.at(-1)?.secrets['shop/mimir/token'] === 'one');
  const before = agent.secrets.length;
  let answer = (): void => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  world.api.faults.add({ verb: 'get', plural: 'secrets', name: 'mimir' }, { do: 'hold', until: held });
  await world.changeLeader();
  await world.settled();
  agent.update({ limits: [] });
  await until('the status', () => world.hub.nodes.get('node-1')?.status?.limits);
  putToken('two');
  answer();
  await until('the new token', () => agent.secrets.length > before);
  expect(agent.secrets.slice(before).map((s) => s.secrets)).toEqual([{ 'shop/mimir/token': 'two' }]);
});

test('a missing Secret, a host that is not allowed and a failing destination appear in the conditions', async () => {
  await aCluster();
  world.putMonitor('shop/m', exported);
  await shows('Exporting', 'False/DestinationNotAllowed');
  world.putPolicy('p', { exportAllowList: ['mimir.example.com'] });
  await shows('ResolvedRefs', 'False/SecretNotFound');
  expect(condition('Ready')).toBe('False/SecretNotFound');
  const row = { owner: 'TrafficMonitor/shop/m', name: 'mimir', pendingBytes: 1, sent: 0, refused: 0 };
  world.agents[0]!.update({ exports: [{ ...row, state: 'Failing', message: 'HTTP 503' }] });
  await shows('Exporting', 'False/SendFailing');
});

test('a value that is too long for an agent keeps no token of others from it, and the condition names it', async () => {
  await aCluster();
  world.putPod('bank/checkout-1', 'node-1', { app: 'checkout' });
  putToken('x'.repeat(16_385));
  putToken('t0p-secret', 'bank');
  world.putPolicy('p', { exportAllowList: ['*.example.com'] });
  world.putMonitor('shop/m', exported);
  world.putMonitor('bank/m', exported);
  const delivered = (): object | undefined => world.agents[0]!.secrets.at(-1)?.secrets;
  await shows('ResolvedRefs', 'False/SecretTooLong');
  await until('the delivery', () => delivered() !== undefined && 'bank/mimir/token' in delivered()!);
  expect(delivered()).toEqual({ 'bank/mimir/token': 't0p-secret' });
});

test('a key that has the name of a member of every JavaScript object is missing like any other', async () => {
  await aCluster();
  putToken('t0p-secret');
  world.putPolicy('p', { exportAllowList: ['*.example.com'] });
  const [one] = exported.export;
  world.putMonitor('shop/m', { ...exported, export: [{ ...one!, secretRef: { name: 'mimir', key: 'constructor' } }] });
  await shows('ResolvedRefs', 'False/SecretNotFound');
});

test('the conditions of a policy report a failing destination, and its recovery', async () => {
  world = await CaptureWorld.start({ nodes: 2 });
  const { name, endpoint, type } = exported.export[0]!;
  world.putPolicy('plain', {});
  world.putPolicy('p', { export: [{ name, endpoint, type }] });
  await until('the destination on every node', () => world.agents.every((a) => a.config?.exports));
  const of = (policy: string): string | undefined => world.conditions(world.policy(policy))['Exporting'];
  const shown = (state: string): Promise<void> => shows('Exporting', state, () => of('p') === state);
  await shown('True/Exporting');
  const row = { owner: 'ClusterTrafficPolicy/p', name, pendingBytes: 1, sent: 0, refused: 0 };
  world.agents[1]!.update({ exports: [{ ...row, state: 'Failing', message: 'HTTP 503' }] });
  await shown('False/SendFailing');
  const rows = world.policy('p').status!['conditions'] as { type: string; message: string }[];
  expect(rows.find((c) => c.type === 'Exporting')!.message).toBe('export mimir: node-2: HTTP 503');
  expect(world.conditions(world.policy('p'))['Ready']).toBe('True/Ready');
  world.agents[1]!.update({ exports: [{ ...row, state: 'Sending' }] });
  await shown('True/Exporting');
  expect(of('plain')).toBeUndefined();
});
