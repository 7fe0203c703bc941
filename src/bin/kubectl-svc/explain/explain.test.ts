import type { KubeObject } from '../../../api/meta.ts';
import { firstNo } from '../../../capture/explain/index.ts';
import { compile } from '../../../capture/index.ts';
import {
  aComponentPod,
  aCondition,
  anObject,
  aReadyPod,
  aView,
  viewTime,
} from '../../../testing/capture/cluster-view.ts';
import { fill, runWith, startApi } from '../../../testing/capture/plugin-run.ts';
import { aMonitor, aPolicy } from '../../../testing/capture/world.ts';
import { StatusError, type SeenRequest } from '../../../testing/fake-api-server/index.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { expectGolden } from '../../../testing/golden.ts';
import { compileInput } from '../cluster/compile-input.ts';
import { operatorEnvironment } from '../cluster/operator-environment.ts';
import { itemsOf, type ClusterView } from '../cluster/view.ts';
import type { QueryServer } from '../connect/query-server.ts';
import { UsageError } from '../errors.ts';
import { styles } from '../output/style.ts';
import { askSeries, selectorsFor } from './ask-series.ts';
import { known } from './explain-pod.ts';
import { explain, podsOfTarget, type Explanation } from './explanation.ts';
import { explanationText } from './render.ts';
import { parseFederated, seriesCounts, type SeriesFacts } from './series.ts';
import { parseTarget } from './target.ts';

const plain = styles({ isTerminal: false }, {});
const golden = (name: string, text: string): void => expectGolden(import.meta.dirname, name, text);
const list = (...items: object[]) => ({ items: items as never[] });

const shopPod = (name: string, node: string, ports: number[], more: object = {}) =>
  aReadyPod(`shop/${name}`, node, {
    metadata: {
      labels: { app: 'checkout', 'pod-template-hash': '7d4' },
      ownerReferences: [{ kind: 'ReplicaSet', name: 'checkout-7d4', controller: true }],
    },
    spec: {
      nodeName: node,
      containers: [{ name: 'main', ports: ports.map((containerPort) => ({ containerPort })) }],
    },
    ...more,
  });

const programmed = {
  observedGeneration: 1,
  nodes: { desired: 1, updated: 1, capturing: 1, failed: 0 },
  conditions: [aCondition('Ready', 'True', 'Ready'), aCondition('Programmed', 'True', 'Programmed')],
};
const statusWith = (...conditions: object[]) => ({ status: { ...programmed, conditions } as never });
const well = { status: programmed as never };

/**
 * A healthy cluster in which the pods of `checkout` in namespace `shop` listen on 8080; it has a policy and a monitor.
 */
function shop(more: Partial<ClusterView> = {}): ClusterView {
  const base = aView({
    policies: list(aPolicy('default', { defaults: { sampling: { ratio: '0.05' } } }, well)),
    monitors: list(
      aMonitor('shop/checkout', { selector: { matchLabels: { app: 'checkout' } }, ports: [{ port: 8080 }] }, well),
    ),
  });
  const pods = list(
    ...itemsOf(base.pods),
    shopPod('checkout-1', 'node-1', [8080]),
    shopPod('checkout-2', 'node-2', [8080]),
  );
  const view = { ...base, pods, ...more };
  const own = itemsOf(view.pods).filter(({ metadata }) => metadata.namespace === 'svc-system');
  return { ...view, ownPods: more.ownPods ?? { items: own } };
}

type Answered = Extract<SeriesFacts, { fault?: undefined }>;

function facts(view: ClusterView, names: readonly string[] = ['checkout-1', 'checkout-2']): Answered {
  const compiled = compile(compileInput(view, operatorEnvironment(view).environment));
  const nodes = [...compiled.nodes].map(
    ([node, { hash }]) =>
      `svc_instrument_config_hash_info{hash="${hash}",k8s_node_name="${node}",phase="Running"} 1 ${viewTime}`,
  );
  const requests = names.flatMap((pod) =>
    ['_bucket{le="1",', '_sum{', '_count{'].map(
      (of) => `http_server_request_duration${of}k8s_namespace_name="shop",k8s_pod_name="${pod}"} 1 ${viewTime - 3_000}`,
    ),
  );
  const flow = `ebpf_network_flow_bytes{k8s_src_namespace="shop",k8s_src_owner_name="checkout"} 9 ${viewTime - 3_000}`;
  const series = parseFederated(
    [...nodes, ...requests, ...(names.length > 0 ? [flow] : []), '# node x is missing'].join('\n'),
  );
  return { series, requests: new Map(names.length > 0 ? [['node-1', 3]] : []), missingNodes: [] };
}

function explained(target: string, view: ClusterView, data: SeriesFacts = facts(view)): Explanation {
  const parsed = parseTarget([target]);
  const pods = podsOfTarget(parsed, 'shop', view, known(view, data));
  return explain(parsed, 'shop', pods, known(view, data));
}
const text = (target: string, view: ClusterView, data?: SeriesFacts): string =>
  explanationText(explained(target, view, data), plain);
const first = (view: ClusterView, data?: SeriesFacts) =>
  firstNo(explained('pod/checkout-1', view, data).pods[0]!.steps);

test('for a captured pod every step is yes, and each setting is shown with the object that it comes from', () => {
  const view = shop();
  const answer = explained('pod/checkout-1', view);
  expect(answer.pods[0]!.steps.filter(({ answer: a }) => a !== 'yes')).toEqual([]);
  expect(answer).toMatchObject({ well: true, pods: [{ captured: true }] });
  golden('captured.txt', explanationText(answer, plain));
});

test('a port that is not listed is named with the field to add it to', () => {
  const view = shop({ pods: list(...itemsOf(shop().pods).slice(0, 4), shopPod('checkout-1', 'node-1', [9000])) });
  expect(first(view, facts(view, []))).toMatchObject({
    asks: 'port',
    fact: '9000 (main) is not among 80,443,8080,8443',
    way: 'add 9000 to spec.ports of TrafficMonitor shop/checkout',
  });
  golden('unlisted-port.txt', text('pod/checkout-1', view, facts(view, [])));
});

test('a sidecar counts with its name and its ports', () => {
  const proxy = { name: 'proxy', restartPolicy: 'Always', ports: [{ containerPort: 15_001 }] };
  const meshed = shopPod('checkout-1', 'node-1', [9000], {
    spec: { nodeName: 'node-1', initContainers: [proxy], containers: [{ name: 'main' }] },
  });
  const pods = list(...itemsOf(shop().pods).slice(0, 4), meshed);
  const sidecars = { containers: { include: ['proxy'] }, ports: [{ port: 15_001 }] };
  const view = shop({ pods, monitors: monitors(sidecars) });
  expect(explained('pod/checkout-1', view).pods[0]!.steps).toContainEqual(
    expect.objectContaining({ asks: 'port', answer: 'yes', fact: expect.stringContaining('15001 (proxy)') as string }),
  );
  expect(first(view)).toBeUndefined();
});

const monitors = (spec: object, status: object = well) =>
  list(aMonitor('shop/checkout', { selector: { matchLabels: { app: 'checkout' } }, ...spec }, status));
const policies = (spec: object, status: object = well) => list(aPolicy('default', spec, status));

test.each<[string, Partial<ClusterView>, string, RegExp]>([
  ['a policy that pauses', { policies: policies({ paused: true }) }, 'policy', /default pauses capture here/],
  [
    'an exclusion',
    { policies: policies({ exclusions: [{ namespaces: ['sh*'] }] }) },
    'not excluded',
    /excluded by ClusterTrafficPolicy\/default/,
  ],
  [
    'an allow list without a monitor that matches',
    {
      policies: policies({ capture: { mode: 'AllowList' } }),
      monitors: monitors({ selector: { matchLabels: { app: 'cart' } } }),
    },
    'selected',
    /AllowList; TrafficMonitor shop\/checkout: selector wants label app=cart, the pod has app=checkout/,
  ],
  [
    'overrides that leave nothing',
    { policies: policies({ overrides: { signals: { metrics: 'Disabled', spans: 'Disabled' } } }) },
    'signals',
    /leave it neither metrics nor spans/,
  ],
  [
    'a node that failed',
    {
      monitors: monitors(
        {},
        { status: { ...programmed, failedNodes: [{ name: 'node-1', reason: 'OutOfMemory', message: 'limit' }] } },
      ),
    },
    'config',
    /OutOfMemory: limit/,
  ],
  [
    'a kernel without kprobes',
    { monitors: monitors({}, statusWith(aCondition('Capturing', 'False', 'KernelUnsupported', 'node-1: no kprobes'))) },
    'kernel',
    /^no kprobes$/,
  ],
  [
    'an instrument that has not attached',
    {
      monitors: monitors({}, statusWith(aCondition('Capturing', 'False', 'NotAttached', 'node-1: watches no process'))),
    },
    'attached',
    /NotAttached: watches no process/,
  ],
])('the first step whose answer is `no` tells of %s', (_what, more, asks, fact) => {
  const view = shop(more);
  const found = first(view, facts(view, []));
  expect(found?.asks).toBe(asks);
  expect(found?.fact).toMatch(fact);
  expect(found?.way).toMatch(/\S/);
});

test('a missing agent and a crashing one are reported, the latter with its last log line', () => {
  const pod = shopPod('checkout-1', 'node-1', [8080]);
  expect(first(shop({ pods: list(pod) }))?.fact).toBe('no agent pod on node-1');
  const terminated = { exitCode: 1, message: 'time=x level=INFO msg=start\nlisten 0.0.0.0:9090: address in use' };
  const containerStatuses = [
    { name: 'agent', restartCount: 3, state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated } },
  ];
  const agent = aComponentPod('agent', 'svc-agent-a', 'node-1', { status: { phase: 'Running', containerStatuses } });
  expect(first(shop({ pods: list(agent, pod) }))?.fact).toBe(
    'svc-agent-a container agent ended with code 1, 3 restarts: listen 0.0.0.0:9090: address in use',
  );
});

test('a rollout in progress and an exceeded limit are notes, and do not prevent capture', () => {
  const held = aCondition('LimitsExceeded', 'True', 'SeriesLimit', '12 series over');
  const view = shop({
    monitors: monitors({}, statusWith(held, aCondition('Programmed', 'False', 'RollingOut', '0/1'))),
  });
  const all = facts(view);
  const old = { ...all, series: all.series.filter(({ metric }) => !metric.startsWith('svc_')) };
  const { steps, captured } = explained('pod/checkout-1', view, old).pods[0]!;
  expect(steps.filter(({ answer }) => answer === 'no')).toEqual([]);
  expect(captured).toBe(true);
  const notes = steps.filter(({ answer }) => answer === 'note').map(({ asks, fact }) => `${asks}: ${fact}`);
  expect(notes).toEqual([
    'config: TrafficMonitor checkout: RollingOut, 0/1',
    'limits: TrafficMonitor shop/checkout: SeriesLimit, 12 series over',
  ]);
});

test('a user of one namespace sees which answers are unknown, and nothing is guessed', () => {
  const may = (what: string) => ({ fault: `you may not list ${what}`, code: 'ERR_API_FORBIDDEN' as const });
  const whole = shop();
  const view: ClusterView = {
    ...whole,
    policies: may('clustertrafficpolicies'),
    nodes: may('nodes'),
    namespaces: may('namespaces'),
    ownPods: may('pods in namespace svc-system'),
    pods: { items: itemsOf(whole.pods), partial: true },
  };
  const data = { ...facts(whole), series: facts(whole).series.filter(({ metric }) => !metric.startsWith('svc_')) };
  const { steps, captured } = explained('pod/checkout-1', view, data).pods[0]!;
  expect(steps.filter(({ answer }) => answer === 'no')).toEqual([]);
  expect(steps.filter(({ answer }) => answer === 'unknown').map(({ asks }) => asks)).toEqual([
    ...['policy', 'not excluded', 'port', 'signals', 'node', 'agent', 'config', 'conflicts'],
  ]);
  expect(captured).toBe(true);
});

test('without a query server the step `data` is unknown, and the pod is not reported as captured', () => {
  const answer = explained('pod/checkout-1', shop(), { fault: 'no way there' });
  expect(answer).toMatchObject({ well: true, pods: [{ captured: false }] });
  expect(answer.pods[0]!.steps.at(-1)).toMatchObject({ asks: 'data', answer: 'unknown' });
});

test('a pod without series gets a no for data; if its agent does not answer, the step is unknown', () => {
  const view = shop();
  expect(first(view, facts(view, []))?.asks).toBe('data');
  expect(first(view, { ...facts(view, []), missingNodes: ['node-1'] })).toBeUndefined();
});

test('a pod of which only spans are captured is not blamed for the series that it cannot have', () => {
  const spansOnly = policies({ overrides: { signals: { metrics: 'Disabled' } } });
  const pods = list(...itemsOf(shop().pods).slice(0, 4), shopPod('checkout-1', 'node-1', [9000]));
  const view = shop({ policies: spansOnly, pods });
  const answer = explained('pod/checkout-1', view, facts(view, []));
  const steps = answer.pods[0]!.steps.filter(({ asks }) => ['port', 'signals', 'data'].includes(asks));
  expect(steps.map(({ asks, answer: a, fact }) => `${asks} ${a}: ${fact}`)).toEqual([
    'port note: 9000 (main) is not among 80,443,8080,8443',
    'signals yes: spans; signals.metrics is Disabled by ClusterTrafficPolicy/default (overrides)',
    'data unknown: metrics are off, so the pod has no series; kubectl svc observe --pod shop/checkout-1 shows spans',
  ]);
  expect(answer).toMatchObject({ well: true, pods: [{ captured: false }] });
});

test.each<[families: string[], data: string | undefined]>([
  [
    ['NetworkFlow', 'TCPStats'],
    'unknown: only NetworkFlow and TCPStats of metrics.families are kept, so the pod has no series; kubectl svc observe --pod shop/checkout-1 shows spans',
  ],
  [['NetworkFlow', 'DB'], undefined],
])('a pod of which only the families %j are kept', (families, told) => {
  const view = shop({ policies: policies({ overrides: { metrics: { families } } }) });
  const data = explained('pod/checkout-1', view, facts(view, [])).pods[0]!.steps.find(({ asks }) => asks === 'data')!;
  if (told === undefined) expect(data.answer).toBe('no');
  else expect(`${data.answer}: ${data.fact}`).toBe(told);
});

test('a pod of which neither metrics nor spans are captured is promised no spans', () => {
  const nothing = policies({ overrides: { signals: { metrics: 'Disabled', spans: 'Disabled' } } });
  const view = shop({ policies: nothing });
  const data = explained('pod/checkout-1', view, facts(view, [])).pods[0]!.steps.find(({ asks }) => asks === 'data');
  expect(data?.fact).toBe('metrics are off, so the pod has no series');
});

test('a workload is explained by a table of its pods and the steps of the first that is not captured', () => {
  const view = shop();
  golden('workload.txt', text('deployment/checkout', view, facts(view, ['checkout-1'])));
  expect(() => explained('deployment/nope', view)).toThrow('no pod of Deployment shop/nope is on a node');
});

test('configs are compiled for the namespace that the operator runs in', () => {
  const inNamespace = (namespace: string) => operatorEnvironment(aView({ namespace })).environment.namespace;
  expect(['svc-system', 'observability'].map(inNamespace)).toEqual(['svc-system', 'observability']);
});

test('a monitor is explained with its conditions and its pods', () => {
  golden('monitor.txt', text('tm/checkout', shop()));
  const none = shop({ monitors: monitors({ selector: { matchLabels: { app: 'cart' } } }) });
  expect(text('monitor/checkout', none)).toContain('none of 2 pods matches; checkout-1: selector wants label app=cart');
  expect(() => explained('monitor/nope', none)).toThrow('there is no TrafficMonitor shop/nope');
});

test('a node is explained with its agent, config and instrument', () => {
  golden('node.txt', text('node/node-1', shop()));
  expect(text('node/nope', shop())).toContain('✗ node      there is no node nope → kubectl get nodes');
});

test('policy and monitors of a node are unknown if an input of its config could not be read', () => {
  const unread = { fault: 'you may not list it', code: 'ERR_API_FORBIDDEN' as const };
  for (const part of ['policies', 'monitors', 'namespaces', 'pods'] as const) {
    const { steps } = explained('node/node-1', shop({ [part]: unread }), { fault: 'no way there' });
    expect(steps.slice(0, 2)).toMatchObject([
      { asks: 'policy', answer: 'unknown' },
      { asks: 'monitors', answer: 'unknown' },
    ]);
  }
});

test('a monitor whose list could not be read is not reported as absent', () => {
  const unread = { fault: 'you may not list trafficmonitors', code: 'ERR_API_FORBIDDEN' as const };
  const view = shop({ monitors: unread });
  expect(() => explained('monitor/checkout', view, { fault: 'no way there' })).toThrow(
    expect.objectContaining({ code: unread.code, message: unread.fault }),
  );
});

test('kinds have the names that kubectl knows; the refusal of another name lists all kinds', () => {
  expect(parseTarget(['deploy/checkout'])).toEqual({ type: 'workload', kind: 'Deployment', name: 'checkout' });
  expect(parseTarget(['statefulsets.apps', 'db'])).toEqual({ type: 'workload', kind: 'StatefulSet', name: 'db' });
  for (const wrong of [['checkout'], ['service/x'], ['pod/'], ['pod/a/b']])
    expect(() => parseTarget(wrong)).toThrow(
      expect.objectContaining({
        name: UsageError.name,
        hints: [expect.stringMatching(/KIND is pod, deployment, .* node$/)],
      }),
    );
});

test('escapes in labels are read, and the series of a histogram are counted under its name', () => {
  const series = parseFederated(
    'a_bucket{p="x\\"} y",le="1"} 1 5\na_sum{p="x"} 1 7\nb 2 3\nwithout time\n# a comment 1 2',
  );
  expect(series[0]!.labels).toEqual({ p: 'x"} y', le: '1' });
  expect(seriesCounts(series)).toEqual([
    { metric: 'a', series: 2, lastMs: 7 },
    { metric: 'b', series: 1, lastMs: 3 },
  ]);
});

test('names in selectors are taken literally', () => {
  const pod = { namespace: 'shop', name: 'a.b-1', labels: {}, nodeName: 'n', containers: [] };
  expect(selectorsFor({ pods: [pod], nodes: ['n.1'] })).toEqual([
    '{k8s_namespace_name="shop",k8s_pod_name=~"a\\\\.b-1"}',
    '{__name__=~"ebpf_network_.+",k8s_src_namespace="shop",k8s_src_owner_name=~"a\\\\.b-1"}',
    '{__name__=~"ebpf_network_.+",k8s_dst_namespace="shop",k8s_dst_owner_name=~"a\\\\.b-1"}',
    'svc_instrument_config_hash_info{k8s_node_name=~"n\\\\.1"}',
  ]);
});

test('queries look back five minutes, whatever the lookback of the server', async () => {
  const asked: (string | null)[] = [];
  const request: QueryServer['request'] = async ({ path, form }) => {
    asked.push(new URLSearchParams(form ?? path.split('?')[1]).get('lookback_delta'));
    return { status: 200, headers: {}, text: '{"status":"success","data":{"result":[]}}' };
  };
  const server = { target: 'q', request } as QueryServer;
  await askSeries(async () => server, { pods: [], nodes: ['n'] }, new AbortController().signal);
  expect(asked).toEqual(['5m', '5m']);
});

test('a selector names at most 50 pods: more of one namespace are in several', () => {
  const pods = Array.from({ length: 120 }, (_, i) => ({
    ...{ namespace: 'shop', name: `p${i}`, labels: {}, containers: [], nodeName: 'n' },
  }));
  const named = selectorsFor({ pods, nodes: [] }).flatMap((one) => /k8s_pod_name=~"(.*)"/.exec(one)?.[1] ?? []);
  expect(named.map((names) => names.split('|').length)).toEqual([50, 50, 20]);
});

test('many nodes and namespaces are requested in paths that the query server takes, and each series counts once', async () => {
  const paths: string[] = [];
  const flow = `ebpf_network_flow_bytes{k8s_src_namespace="shop-1",k8s_dst_namespace="shop-49"}`;
  const request: QueryServer['request'] = async ({ path }) => {
    if (path.startsWith('/federate')) paths.push(path);
    const text = path.startsWith('/federate')
      ? `${flow} ${paths.length} ${viewTime + paths.length}\n`
      : '{"status":"success","data":{"result":[]}}';
    return { status: 200, headers: {}, text };
  };
  const pods = Array.from({ length: 50 }, (_, i) => ({
    ...{ namespace: `shop-${i}`, name: `a-rather-long-name-of-a-workload-7d4f8b9c6d-${i}`, labels: {}, containers: [] },
    nodeName: 'n',
  }));
  const nodes = Array.from({ length: 800 }, (_, i) => `ip-10-0-${i}-7.eu-west-1.compute.internal`);
  const server = { target: 'q', request } as QueryServer;
  const { series } = (await askSeries(async () => server, { pods, nodes }, new AbortController().signal)) as Answered;
  expect(Math.max(...paths.map(({ length }) => length))).toBeLessThan(16 * 1024);
  const sent = paths.flatMap((path) => new URLSearchParams(path.split('?')[1]).getAll('match[]'));
  expect(sent).toEqual(selectorsFor({ pods, nodes }));
  expect(sent.at(-1)).toBe('svc_instrument_config_hash_info{k8s_node_name=~".+"}');
  expect(series).toHaveLength(1);
});

describe('the command', () => {
  const run = async (args: string[], answer: boolean) => {
    const api = await startApi();
    try {
      fill(api, shop());
      const reply = ({ path }: { path: string }): string =>
        path.startsWith('/federate')
          ? `http_server_request_duration_count{k8s_namespace_name="shop",k8s_pod_name="checkout-1"} 1 ${viewTime}\n`
          : JSON.stringify({
              status: 'success',
              data: { resultType: 'vector', result: [{ metric: { k8s_node_name: 'node-1' }, value: [0, '1'] }] },
              missingNodes: ['node-2'],
            });
      return await runWith(['explain', ...args], {
        api,
        clock: new FakeClock(viewTime),
        ...(answer ? { answer: reply } : {}),
      });
    } finally {
      await api.stop();
    }
  };

  test('asks cluster and query server, and names on stderr the nodes that did not answer', async () => {
    const { code, stdout, stderr } = await run(['pod/checkout-1', '-n', 'shop'], true);
    expect(stdout).toContain('✓ captured');
    expect(stderr).toBe('warning: degraded: no answer from node-2\n');
    expect(code).toBe(0);
  });

  test('goes on without a query server, and gives JSON', async () => {
    const { code, stdout, stderr } = await run(['pod', 'checkout-1', '-n', 'shop', '-o', 'json'], false);
    expect(stderr).toContain('the query server could not be asked: nobody is there');
    expect(code).toBe(0);
    const { target, pods } = JSON.parse(stdout) as { target: string; pods: KubeObject[] };
    expect({ target, count: pods.length }).toEqual({ target: 'pod/checkout-1 in namespace shop', count: 1 });
  });

  test.each([
    ['may not be listed, the pods of the namespace suffice', new StatusError(403, 'Forbidden', 'no'), 0, ''],
    [
      'cannot be listed for another reason, the command fails with it',
      new StatusError(500, 'InternalError', 'away'),
      1,
      '500 away',
    ],
  ])('where pods of all namespaces %s', async (_, error, code, told) => {
    const api = await startApi();
    try {
      fill(api, shop());
      const all = ({ verb, plural, namespace }: SeenRequest): boolean =>
        verb === 'list' && plural === 'pods' && namespace === undefined;
      api.script(all, { do: 'fail', error }, 9);
      const options = { api, clock: new FakeClock(viewTime) };
      const result = await runWith(['explain', 'pod', 'checkout-1', '-n', 'shop'], options);
      expect(result).toMatchObject({ code, stderr: expect.stringContaining(told) });
    } finally {
      await api.stop();
    }
  });

  test('explains the first pods of a large workload, and says so', async () => {
    const api = await startApi();
    const many = Array.from({ length: 51 }, (_, i) => shopPod(`checkout-${i}`, 'node-1', [8080]));
    try {
      fill(api, shop({ pods: list(...itemsOf(shop().pods).slice(0, 4), ...many) }));
      const args = ['explain', 'deploy/checkout', '-n', 'shop', '-o', 'json'];
      const { stdout, stderr } = await runWith(args, { api, clock: new FakeClock(viewTime) });
      expect(stderr).toContain('of 51 pods the first 50 are explained');
      const { pods } = JSON.parse(stdout) as { pods: { pod: string }[] };
      expect(pods.map(({ pod }) => pod)).toEqual(many.slice(0, 50).map(({ metadata }) => `shop/${metadata.name}`));
    } finally {
      await api.stop();
    }
  });

  test('fails for a pod that is not there; a target without a kind is wrong usage', async () => {
    expect(await run(['pod/nope', '-n', 'shop'], false)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no Pod shop/nope'),
    });
    expect(await run(['nope', '-n', 'shop'], false)).toMatchObject({ code: 2 });
  });
});

test('the explanation of a pod that has ended says so', () => {
  const pod = anObject('v1', 'Pod', 'shop/done', { spec: { nodeName: 'node-1' }, status: { phase: 'Succeeded' } });
  const view = shop({ pods: list(pod) });
  expect(text('pod/done', view)).toContain('it has ended (Succeeded)');
});
