import { trafficMonitorConditions, type TrafficMonitor } from '../../api/v1alpha1/index.ts';
import type { AgentStatus, CaptureObstacle, MonitorOutcome } from '../../capture/index.ts';
import { compile } from '../../capture/compile/compile.ts';
import { aMonitor, aPolicy, aWorld } from '../../testing/capture/world.ts';
import type { InstrumentFault } from '../capture/failures/instrument-fault.ts';
import { NodeState } from '../capture/node-state.ts';
import { monitorStatus } from './monitor-status.ts';

const now = Date.UTC(2026, 0, 1, 12);
const spec = { selector: { matchLabels: { app: 'checkout' } } };

interface Scene {
  object?: TrafficMonitor;
  policies?: ReturnType<typeof aPolicy>[];
  /** Per node: the phase of its config, and its counts. */
  nodes?: Record<
    string,
    Partial<AgentStatus> & {
      phase?: 'Running' | 'Failed' | 'Written';
      ready?: boolean;
      silent?: boolean;
      reason?: string;
      fault?: InstrumentFault;
    }
  >;
}

/** Compiles a small cluster with one monitor, and lets each of the monitor's nodes report. */
function scene({ object = aMonitor('shop/m', spec), policies = [], nodes = {} }: Scene) {
  const result = compile(aWorld({ monitors: [object], policies }));
  const outcome = result.monitors.get('shop/m')!;
  const states = outcome.nodes.map((name) => {
    const { phase = 'Running', ready = true, silent = false, reason, fault, ...status } = nodes[name] ?? {};
    const state = new NodeState(name);
    state.ready = ready;
    state.hasAgent = true;
    const desired = result.nodes.get(name)!;
    state.aim(desired);
    if (silent) state.lost(new Error('connection refused'));
    else {
      const ack = { node: name, hash: desired.hash, phase, ...(reason ? { reason, message: 'why' } : {}) };
      const answer = {
        node: name,
        revision: 1,
        ack,
        instrument: { up: true, restarts: 0 },
        monitors: [],
        totals: { series: 0, samplesAppended: 0, rejected: 0 },
        ...status,
      };
      state.heard(answer, { monotonic: 0, wall: now });
    }
    if (fault) state.inPod({ uid: 'pod', fault }, 0);
    return state;
  });
  const status = monitorStatus({ object, outcome, nodes: states, now });
  for (const { type, reason } of status.conditions!) expect(documentedReasons(type)).toContain(reason);
  return { outcome, states, status };
}

/** `Ready` has the reason of the condition that it follows. */
function documentedReasons(type: string): string[] {
  const { [type as 'Ready']: one, ...others } = trafficMonitorConditions;
  return [one, ...(type === 'Ready' ? Object.values(others) : [])].flatMap(({ reasons }) => Object.keys(reasons));
}

const conditionsOf = (s: Scene): Record<string, string> =>
  Object.fromEntries(scene(s).status.conditions!.map((c) => [c.type, `${c.status}/${c.reason}`]));
const samples = (ageMs: number, droppedSeries = 0): Partial<AgentStatus> => ({
  monitors: [
    {
      namespace: 'shop',
      name: 'm',
      activeSeries: 10,
      droppedSeries,
      lastSampleTime: new Date(now - ageMs).toISOString(),
    },
  ],
});

const hindered = (reason: CaptureObstacle['reason']): Partial<AgentStatus> => ({
  monitors: [{ namespace: 'shop', name: 'm', activeSeries: 0, droppedSeries: 0, obstacle: { reason, message: 'why' } }],
});
const crashed = (reason: InstrumentFault['reason']): { phase: 'Written'; fault: InstrumentFault } => ({
  phase: 'Written',
  fault: { reason, message: 'CAP_BPF', at: 'then' },
});

describe('Capturing', () => {
  test.each(['KernelUnsupported', 'PortNotOpen', 'NotAttached', 'MetadataMissing'] as const)(
    'says %s if an agent reports it and no node has data',
    (reason) => {
      expect(conditionsOf({ nodes: { 'node-1': hindered(reason) } })['Capturing']).toBe(`False/${reason}`);
      const other = { 'node-1': hindered(reason), 'node-2': samples(0) };
      expect(conditionsOf({ nodes: other })['Capturing']).toBe('True/TrafficSeen');
    },
  );
  test.each([-3_600_000, -90_000, 90_000, 3_600_000])(
    'judges the age of a sample by the clock of its node, which is off by %d ms',
    (offMs) => {
      const time = new Date(now + offMs).toISOString();
      const capturing = (ageMs: number): string | undefined =>
        conditionsOf({ nodes: { 'node-1': { ...samples(ageMs - offMs), time } } })['Capturing'];
      expect([capturing(5_000), capturing(120_000)]).toEqual(['True/TrafficSeen', 'False/NoTraffic']);
    },
  );
  test('prefers the error that ended the instrument to the obstacles of single pods', () => {
    const nodes = { 'node-1': hindered('NotAttached'), 'node-2': crashed('MissingCapability') };
    const { status } = scene({ nodes });
    expect(status.conditions!.find((c) => c.type === 'Capturing')).toMatchObject({
      reason: 'MissingCapability',
      message: 'node-2: CAP_BPF',
    });
  });
  test('names a limit that is `certain` even with samples, and any other limit only without samples', () => {
    const message = (nodes: NonNullable<Scene['nodes']>): string =>
      scene({ nodes }).status.conditions!.find((c) => c.type === 'Capturing')!.message!;
    const [refuses, may] = [
      { certain: true, message: 'no Go' },
      { certain: false, message: 'maybe no Go' },
    ];
    expect(
      message({
        'node-1': { ...samples(0), limits: [refuses] },
        'node-2': { ...samples(0), limits: [refuses] },
      }),
    ).toBe('recent samples from 2 nodes; node-1 and 1 more: no Go');
    expect(message({ 'node-1': { ...samples(0), limits: [may] } })).toBe('recent samples from 1 nodes');
    expect(message({ 'node-1': { ...samples(31_000), limits: [may] } })).toBe(
      'no sample within 30s; node-1: maybe no Go',
    );
  });
  test('is Excluded where every matched pod is, and names what excludes them', () => {
    const capturing = (podLabels: Record<string, string>, node: Partial<AgentStatus> = {}) => {
      const policies = [aPolicy('p', { exclusions: [{ podLabels }] })];
      return scene({ object: aMonitor('shop/m', { selector: {} }), policies, nodes: { 'node-1': node } }).status;
    };
    const told = ({ conditions }: ReturnType<typeof capturing>): string[] =>
      ['Capturing', 'Ready'].map((type) => {
        const { status, reason, message } = conditions!.find((c) => c.type === type)!;
        return `${status} ${reason}: ${message}`;
      });
    const all = 'False Excluded: none of the 3 matched pods is captured; excluded by ClusterTrafficPolicy/p';
    expect(told(capturing({ app: '*' }))).toEqual([all, 'True Ready: ']);
    expect(told(capturing({ app: '*' }, hindered('PortNotOpen')))).toEqual([all, 'True Ready: ']);
    const some = '1 of 3 matched pods excluded by ClusterTrafficPolicy/p';
    expect(told(capturing({ app: 'cart' }))[0]).toBe(`False NoTraffic: no sample within 30s; ${some}`);
    expect(told(capturing({ app: 'cart' }, samples(0)))[0]).toBe(
      `True TrafficSeen: recent samples from 1 nodes; ${some}`,
    );
  });
  test('ignores a crash that is over', () => {
    const nodes = { 'node-1': { ...crashed('KernelUnsupported'), phase: 'Running' as const } };
    expect(conditionsOf({ nodes })['Capturing']).toBe('False/NoTraffic');
  });

  test.each<[string, Scene, string]>([
    [
      'is True with a sample within three export intervals',
      { nodes: { 'node-1': samples(29_000) } },
      'True/TrafficSeen',
    ],
    [
      'is NoTraffic when the last sample is older than three export intervals',
      { nodes: { 'node-1': samples(31_000) } },
      'False/NoTraffic',
    ],
    [
      'is NoMatchingPods without pods',
      { object: aMonitor('shop/m', { selector: { matchLabels: { app: 'none' } } }) },
      'False/NoMatchingPods',
    ],
    [
      'takes the reason from the agent',
      { nodes: { 'node-1': { phase: 'Failed', reason: 'KernelUnsupported' } } },
      'False/KernelUnsupported',
    ],
    ['is NoTraffic when suspended', { object: aMonitor('shop/m', { ...spec, suspend: true }) }, 'False/NoTraffic'],
    ['is NoTraffic under a paused policy', { policies: [aPolicy('p', { paused: true })] }, 'False/NoTraffic'],
    [
      'is True within three export intervals of a node that exports slowly',
      { policies: [aPolicy('p', { instrument: { exportInterval: '60s' } })], nodes: { 'node-1': samples(170_000) } },
      'True/TrafficSeen',
    ],
  ])('%s', (_sentence, s, expected) => expect(conditionsOf(s)['Capturing']).toBe(expected));
});

describe('Programmed', () => {
  test.each<[string, Scene, string]>([
    ['is True when every node runs this generation', {}, 'True/Programmed'],
    [
      'is RollingOut while a node has only written the config file',
      { nodes: { 'node-1': { phase: 'Written' } } },
      'False/RollingOut',
    ],
    ['is NodesFailed when a node cannot run it', { nodes: { 'node-1': { phase: 'Failed' } } }, 'False/NodesFailed'],
    [
      'is NodesUnreachable when an agent does not answer',
      { nodes: { 'node-2': { silent: true } } },
      'False/NodesUnreachable',
    ],
    [
      'does not wait for a node that is not Ready',
      { nodes: { 'node-2': { silent: true, ready: false } } },
      'True/Programmed',
    ],
    [
      'is True when it concerns no node',
      { object: aMonitor('shop/m', { selector: { matchLabels: { app: 'none' } } }) },
      'True/Programmed',
    ],
  ])('%s', (_sentence, s, expected) => expect(conditionsOf(s)['Programmed']).toBe(expected));
});

test('Programmed is RollingOut while a node runs the file of a deleted monitor of the same name', () => {
  const [first, second] = [1, 2].map((port) => {
    const object = aMonitor('shop/m', { ...spec, ports: [{ port }] }, { uid: `${port}-of-shop-m` });
    return { object, result: compile(aWorld({ monitors: [object] })) };
  });
  const node = new NodeState('node-1');
  node.ready = node.hasAgent = true;
  const told = (phase: 'Running' | 'Written', hash: string): AgentStatus => ({
    ...{ node: 'node-1', revision: 1, ack: { node: 'node-1', hash, phase }, monitors: [] },
    instrument: { up: true, restarts: 0 },
    totals: { series: 0, samplesAppended: 0, rejected: 0 },
  });
  const programmed = (phase: 'Running' | 'Written', { object, result } = second!): string | undefined => {
    const desired = result.nodes.get('node-1')!;
    node.aim(desired);
    node.heard(told(phase, desired.hash), { monotonic: 0, wall: now });
    const outcome = result.monitors.get('shop/m')!;
    const { conditions, nodes } = monitorStatus({ object, outcome, nodes: [node], now });
    return `${nodes!.updated} ${conditions!.find(({ type }) => type === 'Programmed')!.reason}`;
  };
  expect([programmed('Running', first), programmed('Written'), programmed('Running')]).toEqual([
    '1 Programmed',
    '0 RollingOut',
    '1 Programmed',
  ]);
});

describe('Ready', () => {
  test.each<[string, Scene, string]>([
    ['is True without traffic', {}, 'True/Ready'],
    ['says that a monitor is suspended', { object: aMonitor('shop/m', { ...spec, suspend: true }) }, 'True/Suspended'],
    ['mirrors Accepted before all others', { object: aMonitor('shop/m', {}), nodes: {} }, 'False/Invalid'],
    ['mirrors Programmed', { nodes: { 'node-1': { phase: 'Written' } } }, 'False/RollingOut'],
    [
      'mirrors Capturing when capture is impossible',
      { nodes: { 'node-1': hindered('MetadataMissing') } },
      'False/MetadataMissing',
    ],
  ])('%s', (_sentence, s, expected) => expect(conditionsOf(s)['Ready']).toBe(expected));

  test('stays True beside a limit that is exceeded, an overridden field, and an export that no policy allows', () => {
    const object = aMonitor('shop/m', {
      ...spec,
      protocols: ['SQL'],
      export: [{ name: 'out', type: 'RemoteWrite', endpoint: 'https://mimir.example/push' }],
    });
    const policies = [aPolicy('p', { overrides: { protocols: ['HTTP'] } })];
    expect(conditionsOf({ object, policies, nodes: { 'node-1': samples(0, 3) } })).toMatchObject({
      Ready: 'True/Ready',
      LimitsExceeded: 'True/SeriesLimit',
      Conflicted: 'True/OverriddenByPolicy',
      Exporting: 'False/DestinationNotAllowed',
    });
  });
});

test('a policy that overrides a field sets Conflicted, and dropped series set LimitsExceeded', () => {
  const conditions = conditionsOf({
    object: aMonitor('shop/m', { ...spec, protocols: ['SQL'] }),
    policies: [aPolicy('p', { overrides: { protocols: ['HTTP'] } })],
    nodes: { 'node-1': samples(0, 3) },
  });
  expect(conditions['Conflicted']).toBe('True/OverriddenByPolicy');
  expect(conditions['LimitsExceeded']).toBe('True/SeriesLimit');
});

test('the span rate limit counts as exceeded for a minute after the last dropped span', () => {
  const dropping = (droppedSpans: number): Partial<AgentStatus> => ({
    monitors: [{ namespace: 'shop', name: 'm', activeSeries: 1, droppedSeries: 0, droppedSpans }],
  });
  expect(conditionsOf({ nodes: { 'node-1': dropping(5) } })['LimitsExceeded']).toBe('True/SpanRateLimit');
  const { outcome, states } = scene({ nodes: { 'node-1': dropping(5) } });
  const at = (later: number): string =>
    monitorStatus({ object: aMonitor('shop/m', spec), outcome, nodes: states, now: now + later }).conditions!.find(
      (c) => c.type === 'LimitsExceeded',
    )!.reason;
  expect([at(59_000), at(60_000)]).toEqual(['SpanRateLimit', 'WithinLimits']);
});

test('the newest sample time moves at most once a minute', () => {
  const at = (previous: string | undefined, ageMs: number): string | undefined => {
    const object = aMonitor('shop/m', spec, previous ? { status: { lastSampleTime: previous } } : {});
    return scene({ object, nodes: { 'node-1': samples(ageMs) } }).status.lastSampleTime;
  };
  expect(at(undefined, 0)).toBe('2026-01-01T12:00:00Z');
  expect(at('2026-01-01T11:59:01Z', 0)).toBe('2026-01-01T11:59:01Z');
  expect(at('2026-01-01T11:59:00Z', 0)).toBe('2026-01-01T12:00:00Z');
  expect(at('2026-01-01T11:00:00Z', 3_000_000)).toBe('2026-01-01T11:10:00Z');
});

test('the newest sample time moves back only from a time in the future, which a clock that ran ahead has left', () => {
  const at = (previous: string, ageMs: number): string | undefined =>
    scene({
      object: aMonitor('shop/m', spec, { status: { lastSampleTime: previous } }),
      nodes: { 'node-1': samples(ageMs) },
    }).status.lastSampleTime;
  expect(at('2026-01-01T18:00:00Z', 0)).toBe('2026-01-01T12:00:00Z');
  expect(at('2026-01-01T12:00:30Z', 0)).toBe('2026-01-01T12:00:30Z');
  expect(at('2026-01-01T11:59:00Z', 3_600_000)).toBe('2026-01-01T11:59:00Z');
});

test('the time of the newest sample is now at the latest, whatever an agent says', () => {
  const monitors = [{ ...samples(0).monitors![0]!, lastSampleTime: '9999-12-31T23:59:59Z' }];
  const newest = (status: Partial<AgentStatus>): string | undefined =>
    scene({ nodes: { 'node-1': { monitors, ...status } } }).status.lastSampleTime;
  expect([newest({}), newest({ time: '0000-01-01T00:00:00Z' })]).toEqual([
    '2026-01-01T12:00:00Z',
    '2026-01-01T12:00:00Z',
  ]);
});

test('the counts of nodes are exact, and the rows of failed nodes are capped at 16', () => {
  const outcome: MonitorOutcome = scene({}).outcome;
  const states = Array.from({ length: 20 }, (_, i) => {
    const state = new NodeState(`n${i}`);
    state.ready = true;
    state.failure = { reason: 'X', message: 'x'.repeat(5_000), yamlHash: 'y', hash: 'h', alone: false };
    return state;
  });
  const status = monitorStatus({ object: aMonitor('shop/m', spec), outcome, nodes: states, now });
  expect(status.nodes).toEqual({ desired: 20, updated: 0, capturing: 0, failed: 20 });
  expect(status.failedNodes).toHaveLength(16);
  expect(status.failedNodes![0]!.message).toHaveLength(1024);
});

test('conditions keep their times while the status does not change', () => {
  const first = scene({}).status;
  const object = aMonitor('shop/m', spec, { status: first });
  const { outcome, states } = scene({ object });
  const later = monitorStatus({ object, outcome, nodes: states, now: now + 3_600_000 });
  expect(later).toEqual(first);
});
