import { trafficMonitors } from '../../api/v1alpha1/index.ts';
import { coreResources } from '../../kube/index.ts';
import { CaptureWorld } from '../../testing/capture/operator.ts';
import { until } from '../../testing/until.ts';

let world: CaptureWorld;
const checkout = { selector: { matchLabels: { app: 'checkout' } } };
afterEach(() => world.stop());

async function aCluster(nodes = 3, agent = {}): Promise<CaptureWorld> {
  world = await CaptureWorld.start({ nodes, agent });
  world.putPod('shop/checkout-1', 'node-1', { app: 'checkout' });
  if (nodes > 1) world.putPod('shop/checkout-2', 'node-2', { app: 'checkout' });
  return world;
}
const nodesOf = (path: string): unknown => world.monitor(path).status?.['nodes'];
const condition = (path: string, type: string): string | undefined => world.conditions(world.monitor(path))[type];

/**
 * Waits until the configs settle, advances the clock until statuses may be written again, and waits until the status
 * says Programmed.
 */
async function programmedStatus(): Promise<void> {
  await until('the first status', () => world.monitor('shop/m').status?.['observedGeneration']);
  await until('the push', () => world.agents.every((a) => a.generationOf('TrafficMonitor/shop/m')));
  await world.settled();
  world.refresh();
  await until('Programmed', () => condition('shop/m', 'Programmed') === 'True/Programmed');
}

test('an applied monitor reaches the file of every node and its status counts the nodes that run it', async () => {
  await aCluster();
  await world.settled();
  world.putMonitor('shop/m', checkout);
  const started = performance.now();
  await until('the file on every node', () =>
    world.agents.every((a) => a.config?.instrument.yaml.includes('app: checkout')),
  );
  expect(performance.now() - started).toBeLessThan(1_500);
  await programmedStatus();
  expect(world.monitor('shop/m').status).toMatchObject({
    observedGeneration: 1,
    matchedPods: 2,
    nodes: { desired: 2, updated: 2, capturing: 0, failed: 0 },
    lastAcceptedSpec: { mode: 'Capture', ...checkout },
  });
  expect(world.conditions(world.monitor('shop/m'))).toEqual({
    Ready: 'True/Ready',
    Accepted: 'True/Accepted',
    ResolvedRefs: 'True/ResolvedRefs',
    Programmed: 'True/Programmed',
    Capturing: 'False/NoTraffic',
    Conflicted: 'False/NoConflicts',
    LimitsExceeded: 'False/WithinLimits',
  });
});

test('an agent with the certificate of another node gets no config, and the node state says why', async () => {
  await aCluster(2);
  world.putMonitor('shop/m', checkout);
  await programmedStatus();
  const [first, second] = world.agents;
  const before = second!.taken.length;
  // A holder of the key of node-2 answers at the address of the agent of node-1.
  world.putAgentPod({ node: first!.node, host: second!.host });
  await until('the refusal', () => world.hub.nodes.get('node-1')?.state === 'unreachable');
  expect(world.hub.nodes.get('node-1')!.error).toMatch(/the certificate is of node-2\..*, not of node-1\./);
  expect(second!.taken.slice(before)).toEqual([]);
});

test('a pod that has ended stays in the rules of its node for ten minutes, but not in the status', async () => {
  await aCluster(1);
  world.putMonitor('shop/m', checkout);
  await programmedStatus();
  const { yaml } = world.agents[0]!.config!.instrument;
  world.api.putStatus(coreResources.pods, 'shop', 'checkout-1', { phase: 'Succeeded' });
  await until('no matched pods', () => world.monitor('shop/m').status?.['matchedPods'] === 0);
  const named = (): unknown => world.agents[0]!.config!.monitors.map(({ pods }) => pods);
  await world.settled();
  expect(named()).toEqual([['checkout-1']]);
  world.clock.shift(631_000);
  world.putPod('shop/cart-1', 'node-1', { app: 'cart' });
  await until('a config without the pod', () => world.agents[0]!.config!.monitors.length === 0);
  expect(world.agents[0]!.config!.instrument.yaml).toBe(yaml);
});

test('twenty edits in quick succession cause a few pushes, not one each', async () => {
  await aCluster(1);
  await world.settled();
  const before = world.agents[0]!.taken.length;
  for (let port = 1; port <= 20; port++) world.putMonitor('shop/m', { ...checkout, ports: [{ port }] });
  await until('the last edit', () => world.agents[0]!.config?.instrument.yaml.includes('open_ports: "20"'));
  expect(world.agents[0]!.taken.length - before).toBeLessThanOrEqual(3);
});

test('an exclusion is wanted: the Event about it is no Warning', async () => {
  await aCluster(1);
  world.putPod('monitoring/checkout-1', 'node-1', { app: 'checkout' });
  world.putMonitor('monitoring/m', checkout);
  const event = await until('the Event', () => {
    world.refresh();
    return world.api.storage.list(coreResources.events).find((one) => one['reason'] === 'Excluded');
  });
  expect(event['type']).toBe('Normal');
});

test('samples make a monitor Capturing, and without new samples it becomes NoTraffic', async () => {
  await aCluster(1);
  world.putMonitor('shop/m', checkout);
  await programmedStatus();
  const sample = (): void =>
    world.agents[0]!.update({
      monitors: [
        { namespace: 'shop', name: 'm', activeSeries: 44, droppedSeries: 0, lastSampleTime: new Date().toISOString() },
      ],
    });
  world.clock.shift(6_000);
  sample();
  await until('Capturing', () => condition('shop/m', 'Capturing') === 'True/TrafficSeen');
  expect(world.monitor('shop/m').status).toMatchObject({ activeSeries: 44, nodes: { capturing: 1 } });
  world.clock.shift(60_000);
  world.agents[0]!.update({});
  await until('NoTraffic', () => condition('shop/m', 'Capturing') === 'False/NoTraffic');
  expect(condition('shop/m', 'Ready')).toBe('True/Ready');
});

test('a bad edit leaves the last accepted spec in force, and the status says so', async () => {
  await aCluster(1);
  world.putMonitor('shop/m', checkout);
  await until('Accepted', () => condition('shop/m', 'Accepted') === 'True/Accepted');
  // The status does not wait for the agent.
  await until('the file', () => world.agents[0]!.config?.instrument.yaml.includes('app: checkout'));
  world.putMonitor('shop/m', { selector: { matchLabels: { app: '*' } } });
  await until('the refusal', () => condition('shop/m', 'Accepted') === 'False/UnsafeSelector');
  expect(world.agents[0]!.config!.instrument.yaml).toContain('app: checkout');
  expect(world.monitor('shop/m').status).toMatchObject({ observedGeneration: 2, lastAcceptedSpec: checkout });
  expect(condition('shop/m', 'Stalled')).toBe('True/Invalid');
  expect(condition('shop/m', 'Ready')).toBe('False/UnsafeSelector');
});

test('a node that cannot run the new file gets the last good one back and is named in the status', async () => {
  await aCluster(2);
  world.putMonitor('shop/m', checkout);
  await world.settled();
  const good = world.agents[0]!.config!.instrument.yaml;
  world.agents[0]!.onPush = 'Failed';
  world.putMonitor('shop/m', { ...checkout, ports: [{ port: 7000 }] });
  await until('the way back', () => world.agents[0]!.taken.length >= 3);
  expect(world.agents[0]!.config!.instrument.yaml).toBe(good);
  world.refresh();
  await until('the failure in the status', () => (nodesOf('shop/m') as { failed?: number })?.failed === 1);
  expect(world.monitor('shop/m').status).toMatchObject({
    failedNodes: [{ name: 'node-1', reason: 'MissingCapability', message: 'CAP_SYS_PTRACE' }],
  });
  expect(condition('shop/m', 'Ready')).toMatch(/^False\/(NodesFailed|RolloutPaused)$/);
});

test('a capability that the instrument lacks is read from the pod’s status, before the agent gives up', async () => {
  await aCluster(1, { onPush: 'Written' });
  world.putMonitor('shop/m', checkout);
  await until('the push', () => world.agents[0]!.generationOf('TrafficMonitor/shop/m'));
  world.putAgentPod(
    world.agents[0]!,
    `time=x level=ERROR msg="can't start OpenTelemetry eBPF Instrumentation" error="the following capabilities are required: CAP_SYS_PTRACE"`,
  );
  await until('the failure', () => world.hub.nodes.get('node-1')?.failure);
  world.refresh();
  await until('NodesFailed', () => condition('shop/m', 'Programmed') === 'False/NodesFailed');
  expect(world.monitor('shop/m').status).toMatchObject({
    nodes: { desired: 1, updated: 0, capturing: 0, failed: 1 },
    failedNodes: [{ name: 'node-1', reason: 'MissingCapability', message: 'CAP_SYS_PTRACE' }],
  });
  expect(condition('shop/m', 'Capturing')).toBe('False/MissingCapability');
  const conditions = world.monitor('shop/m').status!['conditions'] as { type: string; message: string }[];
  expect(conditions.find((c) => c.type === 'Programmed')!.message).toContain(
    'nodes run generation 1; node-1: MissingCapability CAP_SYS_PTRACE',
  );
});

test('a late agent gets the current config, and a returning agent is asked which config it has', async () => {
  await aCluster(2);
  const [first, second] = world.agents;
  const generationOf = (agent = second!): number | undefined => agent.generationOf('TrafficMonitor/shop/m');
  const lose = async (): Promise<void> => {
    const metadata = { namespace: 'svc-system', name: 'svc-agent-node-2' };
    world.put('pods', { metadata, status: { phase: 'Failed' } });
    await until('the loss of the agent', () => world.hub.nodes.get('node-2')!.state === 'unreachable');
  };
  await world.settled();
  await lose();
  world.putMonitor('shop/m', checkout);
  await until('the config of the other', () => generationOf(first));
  expect(generationOf()).toBeUndefined();
  world.putAgentPod(second!);
  await until('the config of the late agent', () => generationOf());
  await world.settled();
  const pushed = second!.puts;
  await lose();
  const asked = second!.polls;
  world.putAgentPod(second!);
  await until('the question', () => second!.polls > asked);
  await world.settled();
  expect(second!.puts).toBe(pushed);
});

test('the status of a policy counts nodes and monitors, and appears before its config is on every node', async () => {
  await aCluster(2, { onPush: 'Written' });
  world.putMonitor('shop/m', checkout);
  world.putPolicy('default', { defaults: { protocols: ['HTTP'] } });
  await until('the first status', () => world.conditions(world.policy('default'))['Ready'] === 'False/RollingOut');
  expect(world.conditions(world.policy('default'))).toMatchObject({ Accepted: 'True/Accepted' });
  await until('the push', () => world.agents.every((a) => a.generationOf('ClusterTrafficPolicy/default') === 1));
  for (const agent of world.agents) agent.phase('Running');
  await world.settled();
  world.refresh();
  await until('Ready', () => world.conditions(world.policy('default'))['Ready'] === 'True/Ready');
  expect(world.policy('default').status).toMatchObject({
    nodes: { desired: 2, updated: 2, ready: 2, failed: 0, outdated: 0 },
    monitors: { accepted: 1, rejected: 0, conflicted: 0 },
  });
});

test('a monitor that did not change stays Programmed while nodes wait for their restart', async () => {
  await aCluster(2);
  world.putPolicy('slow', { rollout: { minInterval: '60m' } });
  world.putMonitor('shop/m', checkout);
  world.putMonitor('shop/other', { selector: {} });
  await world.settled();
  world.clock.shift(3_601_000);
  world.putMonitor('shop/m', { ...checkout, ports: [{ port: 7001 }] });
  await until('the first change', () => world.agents.every((a) => a.config?.instrument.yaml.includes('7001')));
  await world.settled();
  world.putMonitor('shop/m', { ...checkout, ports: [{ port: 7002 }] });
  await until('the file that waits', () => world.agents.every((a) => a.config?.instrument.yaml.includes('7002')));
  await until('the hold', () => world.hub.nodes.get('node-1')!.hold === 'MinInterval');
  let next = 0;
  const refreshed = (holds: () => boolean) => (): boolean => {
    if (performance.now() >= next) {
      world.refresh();
      next = performance.now() + 500;
    }
    return holds();
  };
  await until(
    'the one that changed',
    refreshed(() => condition('shop/m', 'Programmed') === 'False/RollingOut'),
  );
  await until(
    'the other',
    refreshed(() => condition('shop/other', 'Programmed') === 'True/Programmed'),
  );
  expect(world.hub.nodes.get('node-1')!.hold).toBe('MinInterval');
});

test('frequent edits of a namespace wait until a time that the status names; policy edits do not wait', async () => {
  await aCluster(1);
  world.putMonitor('shop/m', checkout);
  world.putMonitor('shop/other', { selector: { matchLabels: { app: 'cart' } } });
  await world.settled();
  const has = (text: string) => (): boolean => world.agents[0]!.restarts.some((yaml) => yaml.includes(text));
  const edit = (port: number): void => world.putMonitor('shop/m', { ...checkout, ports: [{ port }] });
  for (let i = 1; i <= 5; i++) {
    edit(7_000 + i);
    await until(`restart ${i}`, has(`700${i}`));
    await world.settled();
  }
  edit(7_006);
  await until('the hold', () => world.hub.nodes.get('node-1')!.hold === 'RestartBudget');
  await until('the delivery', () => world.agents[0]!.config?.instrument.yaml.includes('7006'));
  expect(has('7006')()).toBe(false);
  world.clock.shift(6_000);
  world.refresh();
  await until('a restart that waits', () => condition('shop/m', 'Programmed') === 'False/RestartsLimited');
  const { conditions = [] } = world.monitor('shop/m').status as { conditions?: { type: string; message: string }[] };
  expect(conditions.find((c) => c.type === 'Programmed')!.message).toMatch(
    /edits of namespace shop are gathered: .*, the next restart is at 20\d\d-.*Z$/,
  );
  expect(condition('shop/m', 'Reconciling')).toBe('True/Progressing');
  // An edit of the platform team does not wait for a tenant, and its restart also applies the waiting file.
  world.putPolicy('default', { instrument: { exportInterval: '5s' } });
  await until('the restart for the policy', has('7006'));
  await world.settled();
  edit(7_007);
  await until('the next hold', () => world.hub.nodes.get('node-1')!.hold === 'RestartBudget');
  world.clock.shift(130_000);
  world.agents[0]!.update({});
  await until('the gathered restart', has('7007'));
});

test('a monitor that is deleted and created again and again uses up the restarts of its namespace, as edits do', async () => {
  await aCluster(1);
  const has = (text: string) => (): boolean => world.agents[0]!.restarts.some((yaml) => yaml.includes(text));
  const replace = (port: number): void => {
    if (world.api.storage.find(trafficMonitors, 'shop', 'm')) world.api.storage.remove(trafficMonitors, 'shop', 'm');
    world.putMonitor('shop/m', { ...checkout, ports: [{ port }] });
    expect(world.api.storage.get(trafficMonitors, 'shop', 'm').metadata.generation).toBe(1);
  };
  for (let i = 0; i <= 5; i++) {
    replace(7_000 + i);
    await until(`restart ${i}`, has(`700${i}`));
    await world.settled();
  }
  replace(7_006);
  await until('the delivery', () => world.agents[0]!.config?.instrument.yaml.includes('7006'));
  expect(world.hub.nodes.get('node-1')!.hold).toBe('RestartBudget');
  expect(has('7006')()).toBe(false);
});

test('a changed retention reaches every agent without a restart, and the policy says when all have it', async () => {
  await aCluster(2);
  world.putPolicy('keep', { retention: { metrics: { time: '12h' } } });
  await world.settled();
  const restarts = world.agents.map((a) => a.restarts.length);
  world.putPolicy('keep', { retention: { metrics: { time: '3h', size: '1Gi' } } });
  const wanted = { timeMs: 3 * 3_600_000, sizeBytes: 2 ** 30 };
  await until('the retention on every node', () =>
    world.agents.every((a) => a.config?.retention.metrics.timeMs === wanted.timeMs),
  );
  expect(world.agents.map((a) => a.config!.retention.metrics)).toEqual([wanted, wanted]);
  await world.settled();
  world.refresh();
  await until('the status of the change', () => world.policy('keep').status?.['observedGeneration'] === 2);
  await until('Programmed', () => world.conditions(world.policy('keep'))['Programmed'] === 'True/Programmed');
  expect(world.policy('keep').status).toMatchObject({ nodes: { desired: 2, updated: 2 } });
  expect(world.agents.map((a) => a.restarts.length)).toEqual(restarts);
});

test('the restart for a second change waits until minInterval has passed', async () => {
  await aCluster(1);
  world.putPolicy('slow', { rollout: { minInterval: '60s' } });
  await world.settled();
  const runs = (port: string) => (): boolean => world.agents[0]!.restarts.some((yaml) => yaml.includes(port));
  world.putMonitor('shop/m', { ...checkout, ports: [{ port: 7001 }] });
  await until('the first change', runs('7001'));
  world.putMonitor('shop/m', { ...checkout, ports: [{ port: 7002 }] });
  await until('the hold', () => world.hub.nodes.get('node-1')!.hold === 'MinInterval');
  await until('the file that waits', () => world.agents[0]!.config?.instrument.yaml.includes('7002'));
  expect(runs('7002')()).toBe(false);
  world.clock.shift(61_000);
  world.agents[0]!.update({});
  await until('the second change', runs('7002'));
});

test('a config that an agent refuses is not sent again, and the monitor says that a node failed', async () => {
  await aCluster(1, { onPush: 'refuse' });
  world.putMonitor('shop/m', checkout);
  await until('the refusal', () => world.hub.nodes.get('node-1')?.failure?.reason === 'ConfigRefused');
  world.refresh();
  await until('NodesFailed', () => condition('shop/m', 'Programmed') === 'False/NodesFailed');
  const [agent] = world.agents;
  const { puts, polls } = agent!;
  expect(puts).toBeGreaterThan(0);
  world.clock.shift(3_600_000);
  for (let more = 1; more <= 3; more++) {
    agent!.update({});
    await until('one more poll', () => agent!.polls >= polls + more);
  }
  expect([agent!.puts, agent!.taken]).toEqual([puts, []]);
});

test('a config that an agent could not write for a moment is sent again, whoever leads then', async () => {
  await aCluster(1);
  world.putMonitor('shop/m', checkout);
  await programmedStatus();
  const agent = world.agents[0]!;
  const edit = (port: number): void => world.putMonitor('shop/m', { ...checkout, ports: [{ port }] });
  const runs = (port: number) => (): boolean => agent.restarts.at(-1)!.includes(String(port));
  agent.onPush = 'full';
  let { puts } = agent;
  edit(7_001);
  await until('the failed write', () => world.hub.nodes.get('node-1')!.trouble?.reason === 'WriteFailed');
  world.refresh();
  await until('NodesFailed', () => condition('shop/m', 'Programmed') === 'False/NodesFailed');
  expect(agent.puts).toBe(puts + 1);
  agent.onPush = 'Running';
  world.clock.shift(60_000);
  agent.update({});
  await until('the edit', runs(7_001));
  await world.settled();

  agent.onPush = 'full';
  puts = agent.puts;
  edit(7_002);
  await until('the next failed write', () => agent.puts > puts && agent.ack?.reason === 'WriteFailed');
  agent.onPush = 'Running';
  await world.changeLeader();
  await until('the next edit', runs(7_002));
  await world.settled();
});

test.each(['cut', 'deaf'] as const)(
  'an instrument restarts once even if the push that allowed the restart was lost (`onPush` of the agent: %s)',
  async (fault) => {
    await aCluster(1);
    const agent = world.agents[0]!;
    const edit = (port: number): void => world.putMonitor('shop/m', { ...checkout, ports: [{ port }] });
    world.putPolicy('slow', { rollout: { minInterval: '10m' } });
    edit(7_000);
    await world.settled();
    world.clock.shift(601_000);
    edit(7_001);
    await until('the first restart', () => agent.restarts.some((yaml) => yaml.includes('7001')));
    await world.settled();
    edit(7_002);
    await until('the delivery', () => agent.config?.instrument.yaml.includes('7002'));
    await until('the hold', () => world.hub.nodes.get('node-1')!.hold === 'MinInterval');

    agent.onPush = fault;
    const puts = agent.puts;
    world.clock.shift(601_000);
    agent.update({});
    await until('the lost push', () => agent.puts > puts);
    await until('the loss is seen', () => world.hub.nodes.get('node-1')!.reachable === false);
    agent.onPush = 'Running';
    await until('the agent is back', () => world.hub.nodes.get('node-1')!.reachable);
    if (fault === 'deaf') agent.phase('Running');
    await until('the second restart', () => agent.ack?.phase === 'Running' && agent.restarts.at(-1)!.includes('7002'));
    await world.settled();
    expect(world.hub.nodes.get('node-1')!.state).toBe('running');
    expect(agent.restarts.filter((yaml) => yaml.includes('7002'))).toHaveLength(1);
  },
);

test('statuses are not written again when nothing changed', async () => {
  await aCluster(1);
  world.putMonitor('shop/m', checkout);
  await programmedStatus();
  const writes = (): number => world.api.seen({ plural: 'trafficmonitors', subresource: 'status' }).length;
  const before = writes();
  for (let i = 0; i < 3; i++) {
    const judged = await world.reconciles('traffic-monitor');
    world.refresh();
    await until('the status is judged again', async () => (await world.reconciles('traffic-monitor')) > judged);
  }
  expect(writes()).toBe(before);
});

test('the next leader retries a failed file neither where it failed nor on the nodes that were held back', async () => {
  await aCluster(3);
  world.putPolicy('careful', { rollout: { minInterval: '0s', maxUnavailable: 1 } });
  await world.settled();
  for (const agent of world.agents) agent.onPush = 'Failed';
  world.putMonitor('shop/m', { ...checkout, ports: [{ port: 7001 }] });
  const failed = (): string[] => [...world.hub.nodes.values()].flatMap((n) => (n.failure ? [n.name] : []));
  await until('the failure on the first node', () => failed().length === 1);
  for (const agent of world.agents) agent.onPush = 'Running';
  await until('the way back', () => world.hub.nodes.get(failed()[0]!)!.ack?.phase === 'Running');
  const first = failed()[0]!;
  await until('the stored failure', () => world.writtenFailures.includes(first));
  await until('the file before it on the nodes that wait', () =>
    world.agents.every((a) => !a.config!.instrument.yaml.includes('7001')),
  );
  expect(world.agents.filter((a) => a.node !== first).map((a) => a.ack!.phase)).toEqual(['Written', 'Written']);
  const taken = world.agents.map((a) => a.taken.length);

  await world.changeLeader();
  const holds = (): string =>
    [...world.hub.nodes.values()]
      .map((n) => n.hold ?? '')
      .sort()
      .join(' ');
  await until('every node on hold', () => holds() === 'Failed Paused Paused');
  expect(failed()).toEqual([first]);
  expect(world.hub.nodes.get(first)).toMatchObject({ failure: { reason: 'MissingCapability' } });
  expect(world.agents.map((a) => a.taken.length)).toEqual(taken);
  world.refresh();
  await until('the status of the next leader', () => condition('shop/m', 'Programmed')?.startsWith('False/'));

  world.putMonitor('shop/m', { ...checkout, ports: [{ port: 7002 }] });
  await world.settled();
  await until('the failure is no longer stored', () => !world.writtenFailures.includes('node-'));
});

test('an edit restarts capture where a pod of its namespace runs; elsewhere the file waits for such a pod', async () => {
  await aCluster(3);
  world.putPolicy('open', { rollout: { minInterval: '1s', maxUnavailable: '100%' } });
  world.putPod('pay/ledger-1', 'node-3', { app: 'ledger' });
  world.putMonitor('pay/m', { selector: {} });
  await world.settled();
  const idle = world.agents[2]!;
  world.putMonitor('shop/m', { ...checkout, ports: [{ port: 7001 }] });
  await until('the file on every node', () => world.agents.every((a) => a.config?.instrument.yaml.includes('"7001"')));
  await world.settled();
  expect(world.agents.map((a) => a.ack?.phase)).toEqual(['Running', 'Running', 'Written']);
  expect(world.hub.nodes.get('node-3')!.hold).toBe('Unconcerned');

  world.refresh();
  await until('Programmed', () => condition('shop/m', 'Programmed') === 'True/Programmed');
  await until('what runs there is still right', () => condition('pay/m', 'Programmed') === 'True/Programmed');
  await until('the policy', () => world.conditions(world.policy('open'))['Programmed'] === 'True/Programmed');
  expect(world.policy('open').status).toMatchObject({ nodes: { desired: 3, updated: 3, ready: 3, failed: 0 } });

  world.putPod('shop/checkout-3', 'node-3', { app: 'checkout' });
  await until('the restart', () => idle.ack?.phase === 'Running' && idle.config?.monitors.length === 2);
});

test('a namespace that comes or goes restarts capture nowhere; a pod of it restarts its own node', async () => {
  await aCluster(3);
  world.put('namespaces', { metadata: { name: 'bank', labels: { tier: 'critical' } } });
  const critical = { namespaceSelector: { matchLabels: { tier: 'critical' } }, capture: { ports: [{ port: 7000 }] } };
  world.putPolicy('open', { rollout: { minInterval: '0s', maxUnavailable: '100%' } });
  world.putPolicy('critical', critical);
  const listed = (names: string) => (): boolean =>
    world.agents.every((a) => a.config?.instrument.yaml.includes(`k8s_namespace: ${names}\n`));
  await until('the entries of some namespaces', listed('bank'));
  await world.settled();
  const before = world.agents.map((a) => a.restarts.length);
  const restarts = (): number[] => world.agents.map((a, i) => a.restarts.length - before[i]!);

  world.put('namespaces', { metadata: { name: 'fresh' } });
  await until('the new namespace in the file', listed('"{fresh,pay,shop}"'));
  world.put('namespaces', { metadata: { name: 'vault', labels: { tier: 'critical' } } });
  await until('another namespace in the file', listed('"{bank,vault}"'));
  await world.settled();
  expect(restarts()).toEqual([0, 0, 0]);

  world.putPod('fresh/web-1', 'node-2', { app: 'web' });
  await until('the restart', () => restarts()[1] === 1);
  await world.settled();
  world.api.storage.remove(coreResources.namespaces, undefined, 'vault');
  await until('the file without it', listed('bank'));
  await world.settled();
  expect(restarts()).toEqual([0, 1, 0]);
});

test('the next leader continues a rollout that is half done, and restarts no node twice', async () => {
  await aCluster(3);
  for (const [i, { node }] of world.agents.entries()) world.putPod(`shop/web-${i}`, node, { app: 'web' });
  world.putPolicy('slow', { rollout: { minInterval: '1s', maxUnavailable: 1 } });
  await world.settled();
  const before = world.agents.map((a) => a.restarts.length);
  const restarted = (): number[] => world.agents.map((a, i) => a.restarts.length - before[i]!);
  for (const agent of world.agents) agent.onPush = 'Written';
  world.clock.shift(2_000);
  world.putMonitor('shop/m', { ...checkout, ports: [{ port: 7001 }] });
  await until('the file on every node', () => world.agents.every((a) => a.config?.instrument.yaml.includes('7001')));
  await until('the first restart', () => restarted().filter((n) => n === 1).length === 1);
  await world.changeLeader();
  for (let done = 1; done <= 3; done++) {
    await until(`restart ${done}`, () => restarted().filter((n) => n === 1).length >= done);
    for (const [i, agent] of world.agents.entries()) if (restarted()[i] === 1) agent.phase('Running');
  }
  await world.settled();
  expect(restarted()).toEqual([1, 1, 1]);
});

test('the next leader does not restart the nodes that an edit does not concern', async () => {
  await aCluster(3);
  world.putPolicy('open', { rollout: { minInterval: '0s', maxUnavailable: '100%' } });
  world.putPod('pay/ledger-1', 'node-3', { app: 'ledger' });
  world.putMonitor('pay/m', { selector: {} });
  await world.settled();
  world.putMonitor('shop/m', { ...checkout, ports: [{ port: 7001 }] });
  await until('the file on every node', () => world.agents.every((a) => a.config?.instrument.yaml.includes('"7001"')));
  await world.settled();
  const restarts = world.agents.map((a) => a.restarts.length);

  await world.changeLeader();
  await world.settled();
  expect(world.hub.nodes.get('node-3')!.hold).toBe('Unconcerned');
  world.putMonitor('shop/m', { ...checkout, ports: [{ port: 7002 }] });
  await until('the next edit', () => world.agents.every((a) => a.config?.instrument.yaml.includes('"7002"')));
  await world.settled();
  expect(world.agents.map((a) => a.restarts.length)).toEqual([restarts[0]! + 1, restarts[1]! + 1, restarts[2]!]);

  world.putMonitor('pay/m', { selector: {}, ports: [{ port: 7003 }] });
  await until('the restart that concerns it', () => world.agents[2]!.restarts.length === restarts[2]! + 1);
});

test('whenever the leader dies, a rollout never has more than maxUnavailable instruments restarting', async () => {
  world = await CaptureWorld.start({ nodes: 6 });
  const maxUnavailable = 2;
  for (const [i, { node }] of world.agents.entries()) if (i > 1) world.putPod(`shop/web-${i}`, node, { app: 'web' });
  world.putPolicy('slow', { rollout: { minInterval: '0s', maxUnavailable } });
  await world.settled();
  for (const agent of world.agents) agent.onPush = 'Written';
  const before = world.agents.map((a) => a.restarts.length);
  const restarting = (): string[] => world.agents.flatMap((a) => (a.restarting ? [a.node] : []));
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, restarting().length)), 1);
  try {
    world.putMonitor('shop/m', { ...checkout, ports: [{ port: 7001 }] });
    // Two nodes have no pod of the namespace, so the first leader restarts the third and fourth.
    await until('the first restarts', () => restarting().length === maxUnavailable);
    expect(restarting()).toEqual(['node-3', 'node-4']);
    // For the next leader the edit also concerns node-1 and node-2, which come before node-3 and node-4 in its order.
    for (const i of [0, 1]) world.putPod(`shop/web-${i}`, world.agents[i]!.node, { app: 'web' });
    for (let done = 1; done <= 6; done++) {
      await world.changeLeader();
      await until('a restarting node', () => world.hub.nodes.size === 6 && restarting().length > 0);
      await until('every status', () => [...world.hub.nodes.values()].every((n) => n.reachable && !n.needs.running));
      await until('as many restarts as are allowed', () => restarting().length === Math.min(maxUnavailable, 7 - done));
      world.agents.find((a) => a.restarting)!.phase('Running');
    }
    await world.settled();
  } finally {
    clearInterval(watch);
  }
  expect(most).toBe(maxUnavailable);
  expect(world.agents.map((a, i) => a.restarts.length - before[i]!)).toEqual([1, 1, 1, 1, 1, 1]);
});
