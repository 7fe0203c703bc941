import { builtinLimits } from '../../capture/index.ts';
import { heapAfterGc } from '../../testing/heap.ts';
import { aPod, nodePods, type PodChange, showPoints } from '../../testing/node-pods.ts';
import { SeriesMapper } from '../mapping/mapper.ts';
import { defaultPolicy } from '../mapping/policy.ts';
import type { Attribute } from '../otlp/model.ts';
import type { SeriesRef } from '../../tsdb/index.ts';
import { enrichResource } from './enrich.ts';
import { enrichFlow } from './enrich-flow.ts';
import { Identity } from './identity.ts';
import { parseInstanceId } from './instance-id.ts';
import { podIdentity, slimPod } from './pod-identity.ts';
import type { PodIndex } from './pod-index.ts';

const attributes = (labels: Record<string, string>): Attribute[] =>
  Object.entries(labels).map(([key, value]) => ({ key, value }));
const plain = (list: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(list.map((a) => [a.key, a.value]));

const web = (change: PodChange = {}) =>
  aPod('shop/web-7d9f-x', {
    uid: 'u1',
    ip: '10.0.0.5',
    labels: { 'pod-template-hash': '7d9f' },
    containers: ['app'],
    owner: ['ReplicaSet', 'web-7d9f'],
    ...change,
  });
/** The status of a pod at `web`'s address that has run to completion. */
const completed = { status: { phase: 'Succeeded', podIP: '10.0.0.5' } };
const node = nodePods(web(), 'pay/db-0');
const { pods } = node;

const full = {
  'k8s.namespace.name': 'shop',
  'k8s.pod.name': 'web-7d9f-x',
  'k8s.pod.uid': 'u1',
  'k8s.node.name': 'n',
  'k8s.container.name': 'app',
  'k8s.replicaset.name': 'web-7d9f',
  'k8s.deployment.name': 'web',
  'k8s.owner.name': 'web',
  'k8s.kind': 'Deployment',
};
const instance = { 'service.instance.id': 'shop.web-7d9f-x.app' };

test.each([
  ['shop.web-0.main', { namespace: 'shop', pod: 'web-0', container: 'main' }],
  ['shop.web.with.dots.main', { namespace: 'shop', pod: 'web.with.dots', container: 'main' }],
  ['shop.web-0.', { namespace: 'shop', pod: 'web-0', container: '' }],
  ['vm:12620', null],
  ['shop.web-0.main:12', null],
  ['a16af761-c682-4367-8276-7010401c45c3', null],
  ['', null],
])('the instance %j names %j', (text, name) => {
  expect(parseInstanceId(text)).toEqual(name);
});

test('a sender is the pod that its instance names, with all the attributes that the API server has for it', () => {
  const { attributes: got, pod, contradicts } = enrichResource(attributes({ 'service.name': 's', ...instance }), pods);
  expect(plain(got)).toEqual({ 'service.name': 's', ...instance, ...full });
  expect([pod?.uid, contradicts]).toEqual(['u1', false]);
});

test.each<[string, Record<string, string>]>([
  ['its namespace and name', { 'k8s.namespace.name': 'pay', 'k8s.pod.name': 'db-0' }],
  ['its node', { 'k8s.node.name': 'another' }],
  ['its workload', { 'k8s.deployment.name': 'db', 'k8s.statefulset.name': 'db', 'k8s.owner.name': 'db' }],
  ['itself in the spelling of labels', { k8s_namespace_name: 'pay', 'k8s-pod-name': 'db-0', label_team: 'pay' }],
  ['the ends of a flow', { 'k8s.src.namespace': 'pay', 'k8s.dst.namespace': 'pay' }],
  ['its container, uid and IP', { 'container.id': 'abc', 'k8s.pod.uid': 'uid of pay/db-0', 'k8s.pod.ip': '10.0.0.9' }],
])('what a sender claims about %s is replaced by the truth', (_what, claims) => {
  const { attributes: got } = enrichResource(attributes({ ...claims, ...instance }), pods);
  const labels = Object.entries(plain(got)).filter(([key]) => /^(?:k8s|label)[^a-z0-9]/.test(key));
  expect(Object.fromEntries(labels)).toEqual(full);
});

test('a claim of another namespace, pod or node contradicts the instance; an older uid or other owner does not', () => {
  const claims = (more: Record<string, string>) =>
    enrichResource(attributes({ ...instance, ...more }), pods).contradicts;
  expect(claims({ 'k8s.namespace.name': 'pay' })).toBe(true);
  expect(claims({ 'k8s.pod.name': 'db-0' })).toBe(true);
  expect(claims({ 'k8s.node.name': 'other' })).toBe(true);
  expect(claims({ ...full, 'k8s.pod.uid': 'before', 'k8s.owner.name': 'rollout' })).toBe(false);
});

test('the instance of a point takes precedence over that of its Resource, which a process can set', () => {
  const resource = attributes({ 'service.instance.id': 'pay.db-0.main', 'k8s.namespace.name': 'pay' });
  const sender = node.point(resource, attributes(instance));
  expect([sender.pod?.name, sender.contradicts, sender.forged]).toEqual(['web-7d9f-x', true, true]);
  expect(node.point(resource, []).pod?.name).toBe('db-0');
});

describe('the Resource of spans', () => {
  const said = { 'service.instance.id': 'pay.db-0.main', 'k8s.pod.uid': 'uid of pay/db-0', 'service.name': 'x' };
  const resource = attributes(said);
  const ofSpans = [...resource, { key: 'otel.scope.name', value: 'obi' }];
  const unknown = { pod: null, contradicts: false };

  test('is believed after metric points with it have come from the pod that it names', () => {
    const identity = nodePods(web(), 'pay/db-0');
    expect(identity.spans(ofSpans)).toMatchObject({ ...unknown, unshown: { name: 'db-0' } });
    showPoints(identity, attributes({ ...said, 'service.name': 'another process of the container' }));
    expect(identity.spans(ofSpans)).toMatchObject({ pod: { name: 'db-0' }, unshown: null });
    const other = attributes({ ...said, 'k8s.namespace.name': 'pay' });
    expect(identity.spans(other)).toMatchObject({ ...unknown, unshown: { name: 'db-0' } });
  });

  test('is not believed without the uid of the pod that it names, nor with another uid', () => {
    const identity = nodePods(web(), 'pay/db-0');
    const bare = attributes({ ...said, 'k8s.pod.uid': '' });
    const wrong = attributes({ ...said, 'k8s.pod.uid': 'u1' });
    for (const list of [bare, wrong, resource]) showPoints(identity, list);
    expect(identity.spans(bare)).toMatchObject({ ...unknown, unshown: null });
    expect(identity.spans(wrong)).toMatchObject({ pod: null, contradicts: true, unshown: null });
  });

  test('is not believed for a quarter of an hour after metric points with it also came from another pod', () => {
    const identity = nodePods(web(), 'pay/db-0');
    showPoints(identity, resource);
    showPoints(identity, resource, 'shop.web-7d9f-x.app', 1_000);
    expect(identity.spans(ofSpans)).toMatchObject({ pod: null, contradicts: true, unshown: null });
    showPoints(identity, resource, 'pay.db-0.main', 900_999);
    expect(identity.spans(ofSpans).pod).toBeNull();
    showPoints(identity, resource, 'pay.db-0.main', 901_000);
    expect(identity.spans(ofSpans).pod?.name).toBe('db-0');
  });

  test('must be confirmed by points again for the next pod of the same name', () => {
    const identity = nodePods(web(), 'pay/db-0');
    showPoints(identity, resource);
    identity.pods.upsert(podIdentity(aPod('pay/db-0', { uid: 'u2' })), 0);
    expect(identity.spans(resource).pod).toBeNull();
    expect(identity.spans(attributes({ ...said, 'k8s.pod.uid': 'u2' })).unshown?.uid).toBe('u2');
  });

  test('is confirmed by points without an instance only until a point has one', () => {
    const identity = nodePods(web(), 'pay/db-0');
    const pointWithout = (): void => identity.notePoint(resource, [], identity.point(resource, []), 0);
    pointWithout();
    expect(identity.spans(ofSpans).pod?.name).toBe('db-0');
    showPoints(identity, attributes(instance));
    expect(identity.spans(ofSpans).unshown?.name).toBe('db-0');
    pointWithout();
    expect(identity.spans(ofSpans).unshown?.name).toBe('db-0');
  });

  test('gives way to later Resources of its own pod, but not to Resources of another pod', () => {
    const identity = nodePods(web(), 'pay/db-0');
    showPoints(identity, resource);
    const nth = (i: number): Attribute[] => attributes({ ...instance, 'k8s.pod.uid': 'u1', 'k8s.x': String(i) });
    for (let i = 0; i < 1_000; i++) showPoints(identity, nth(i));
    expect(identity.spans(ofSpans).pod?.name).toBe('db-0');
    expect([identity.spans(nth(0)).pod, identity.spans(nth(999)).pod?.name]).toEqual([null, 'web-7d9f-x']);
  });
});

test.each<[string, Record<string, string>]>([
  ['names a pod of another node', { 'service.instance.id': 'shop.elsewhere.app', 'k8s.namespace.name': 'shop' }],
  ['names nothing', { 'service.name': 's' }],
  ['is a process of the node', { 'service.instance.id': 'vm:12620', 'k8s.namespace.name': 'shop' }],
])('a sender that %s is unknown and has no namespace', (_what, given) => {
  const { attributes: got, pod } = enrichResource(attributes(given), pods);
  expect(pod).toBeNull();
  expect(Object.keys(plain(got)).filter((key) => key.startsWith('k8s.'))).toEqual([]);
});

test('before all pods of the node are known every sender is unknown', () => {
  const early = new Identity();
  early.pods.upsert(podIdentity(web()), 0);
  const resource = attributes({ ...instance, ...full });
  expect(early.point(resource, [])).toMatchObject({ pod: null, contradicts: false, attributes: attributes(instance) });
  early.pods.markSynced();
  expect(early.point(resource, []).pod?.uid).toBe('u1');
});

test('a container is named only where the pod has it', () => {
  const both = nodePods(aPod('shop/two', { containers: ['app', 'proxy'] }));
  const containerOf = (name: string) =>
    both.point(attributes({ 'service.instance.id': `shop.two.${name}` }), []).container;
  expect([containerOf('proxy'), containerOf('other')]).toEqual(['proxy', '']);
  expect(enrichResource(attributes({ 'service.instance.id': 'pay.db-0.other' }), pods).container).toBe('main');
});

test.each<[[string, string], Record<string, string>]>([
  [['StatefulSet', 'db'], { 'k8s.statefulset.name': 'db', 'k8s.owner.name': 'db', 'k8s.kind': 'StatefulSet' }],
  [['DaemonSet', 'log'], { 'k8s.daemonset.name': 'log', 'k8s.owner.name': 'log' }],
  [['Job', 'once'], { 'k8s.job.name': 'once', 'k8s.owner.name': 'once', 'k8s.kind': 'Job' }],
  [
    ['Job', 'nightly-29301120'],
    {
      'k8s.job.name': 'nightly-29301120',
      'k8s.cronjob.name': 'nightly',
      'k8s.owner.name': 'nightly',
      'k8s.kind': 'CronJob',
    },
  ],
])('a pod of %s names its owners', (owner, expected) => {
  expect(podIdentity(slimPod(web({ owner }))).attributes).toMatchObject(expected);
});

describe('the ends of a flow', () => {
  const flow = (labels: Record<string, string>) => {
    const { attributes: got, ...rest } = enrichFlow(attributes(labels), pods);
    return { ...rest, ends: plain(got) };
  };
  const remote = { 'k8s.dst.namespace': 'far', 'k8s.dst.owner.name': 'api', 'k8s.dst.owner.type': 'Deployment' };

  test.each([
    ['8080', '8080'],
    ['41000', undefined],
  ])('a server port that the instrument guesses as %s for an older connection becomes %s', (guessed, told) => {
    const older = { direction: 'unknown', 'src.address': '10.0.0.5', 'server.port': guessed, ...remote };
    expect(flow(older).ends['server.port']).toBe(told);
    expect(flow({ ...older, direction: 'request' }).ends['server.port']).toBe(guessed);
  });

  test('an end with the address of a pod of this node is that pod, whatever names it carries', () => {
    const { ends, local, contradicts } = flow({ 'src.address': '10.0.0.5', 'k8s.src.namespace': 'pay', ...remote });
    expect(ends).toEqual({
      'src.address': '10.0.0.5',
      'k8s.src.namespace': 'shop',
      'k8s.src.node.name': 'n',
      'k8s.src.owner.name': 'web',
      'k8s.src.owner.type': 'Deployment',
      ...remote,
    });
    expect([local, contradicts]).toEqual([['shop'], true]);
  });

  test('without addresses an end is on this node when a pod of this node belongs to the workload that it names', () => {
    expect(flow({ 'k8s.src.namespace': 'shop', 'k8s.src.owner.name': 'web', ...remote }).local).toEqual(['shop']);
    expect(flow({ 'k8s.src.namespace': 'pay', 'k8s.src.owner.name': 'web', ...remote }).local).toEqual([]);
  });

  describe('between workloads that have pods on this node and on others', () => {
    const here = nodePods(
      aPod('shop/web-1', { owner: ['StatefulSet', 'web'], ip: '10.0.0.5' }),
      aPod('shop/cart-1', { owner: ['StatefulSet', 'cart'], ip: '10.0.0.6' }),
    ).pods;
    const named = (side: string, name: string, node: string): Record<string, string> => ({
      ...{ [`k8s.${side}.namespace`]: 'shop', [`k8s.${side}.owner.name`]: name },
      ...{ [`k8s.${side}.owner.type`]: 'StatefulSet', [`k8s.${side}.node.name`]: node },
    });
    const nodesOf = (src: string, dst: string, farNodes?: ReadonlySet<'src' | 'dst'>): unknown[] => {
      const given = attributes({ ...named('src', 'web', src), ...named('dst', 'cart', dst) });
      const { attributes: got, local } = enrichFlow(given, here, farNodes);
      return [plain(got)['k8s.src.node.name'], plain(got)['k8s.dst.node.name'], local.join()];
    };

    test.each([
      ['n', 'n', ['n', 'n', 'shop']],
      ['n', 'far', ['n', undefined, 'shop']],
      ['far', 'n', [undefined, 'n', 'shop']],
      ['far', 'far', [undefined, undefined, '']],
    ])('a flow from node %s to %s has the ends on this node that the instrument says', (src, dst, expected) => {
      expect(nodesOf(src, dst)).toEqual(expected);
    });

    test('TCP statistics name no node, but the address of each end: one of no pod here is elsewhere', () => {
      const ends = { ...named('src', 'web', ''), ...named('dst', 'cart', '') };
      const [web1, cart1, far] = ['10.0.0.5', '10.0.0.6', '10.9.9.9'];
      const localOf = (src: string, dst: string): readonly unknown[] => {
        const given = attributes({ ...ends, 'src.address': src, 'dst.address': dst });
        const { attributes: got, local } = enrichFlow(given, here);
        return [plain(got)['k8s.src.node.name'], plain(got)['k8s.dst.node.name'], local.join()];
      };
      expect(localOf(web1, far)).toEqual(['n', undefined, 'shop']);
      expect(localOf(far, cart1)).toEqual([undefined, 'n', 'shop']);
      expect(localOf(far, far)).toEqual([undefined, undefined, '']);
    });

    test('an instrument that runs an earlier file names no node, and both workloads are taken to be here', () => {
      expect(nodesOf('', '')).toEqual(['n', 'n', 'shop']);
    });

    test.each([
      ['web', { 'k8s.dst.owner.type': 'Service' }],
      ['web', { 'k8s.dst.type': 'Service', 'k8s.dst.owner.type': '' }],
      ['web-1', { 'k8s.dst.name': 'web-1', 'k8s.dst.owner.type': 'Service' }],
    ])(
      'a Service %s is no end on this node, though the workload or pod of that name has a pod here: %j',
      (name, kind) => {
        const given = attributes({ ...named('src', 'cart', 'n'), ...named('dst', name, ''), ...kind });
        const { attributes: got, local } = enrichFlow(given, here);
        expect(plain(got)).toMatchObject({ 'k8s.src.node.name': 'n', 'k8s.dst.owner.name': name });
        expect(plain(got)).not.toHaveProperty('k8s.dst.node.name');
        expect(local).toEqual(['shop']);
        const alone = enrichFlow(
          attributes({ ...named('src', 'web', 'far'), ...named('dst', name, ''), ...kind }),
          here,
        );
        expect(alone.local).toEqual([]);
      },
    );

    test('the node of an end elsewhere is kept on the sides that are asked for', () => {
      expect(nodesOf('n', 'far', new Set(['dst']))).toEqual(['n', 'far', 'shop']);
      expect(nodesOf('far', 'n', new Set(['dst']))).toEqual([undefined, 'n', 'shop']);
      expect(nodesOf('far', 'n', new Set(['src', 'dst']))).toEqual(['far', 'n', 'shop']);
    });
  });

  test('a flow with both ends on this node counts for the namespace of each', () => {
    const ends = { 'k8s.src.namespace': 'shop', 'k8s.src.owner.name': 'web', 'dst.address': '10.0.0.5' };
    expect(flow(ends).local).toEqual(['shop']);
    expect(flow({ ...ends, 'k8s.dst.namespace': 'pay', 'k8s.dst.name': 'db-0', 'dst.address': '' }).local).toEqual([
      'shop',
      'pay',
    ]);
  });

  test('a flow without an end on this node names no object', () => {
    const { ends, unknown } = flow({
      'k8s.src.namespace': 'pay',
      'k8s.src.owner.name': 'x',
      ...remote,
      direction: 'request',
    });
    expect([ends, unknown]).toEqual([{ direction: 'request' }, true]);
  });

  test('an end that is the node itself keeps its name, and the far end gets none', () => {
    const { ends, unknown } = flow({ 'k8s.src.owner.name': 'n', 'k8s.src.owner.type': 'Node', ...remote });
    expect([ends, unknown]).toEqual([{ 'k8s.src.owner.name': 'n', 'k8s.src.owner.type': 'Node' }, false]);
  });

  test.each<[string, Record<string, string>, Record<string, string>]>([
    ['a request', { direction: 'request', 'src.port': '51000', 'dst.port': '80' }, { 'dst.port': '80' }],
    ['a response', { direction: 'response', 'src.port': '80', 'dst.port': '51000' }, { 'src.port': '80' }],
    ['a response with the far port only', { direction: 'response', 'dst.port': '51000' }, {}],
    ['a response with a server port', { direction: 'response', 'server.port': '80' }, { 'src.port': '80' }],
    ['an unknown direction', { direction: 'unknown', 'src.port': '51000', 'dst.port': '80' }, { 'dst.port': '80' }],
    ['an unknown direction between high ports', { direction: 'unknown', 'dst.port': '51000' }, {}],
  ])('of %s the port of the server is kept, and the port of the client is dropped', (_what, given, ports) => {
    const { direction, ...rest } = flow(given).ends;
    expect(direction).toBe(given['direction']);
    const [port] = Object.values(ports);
    expect(rest).toEqual(port === undefined ? {} : { ...ports, 'server.port': port });
  });
});

test('a pod is here until it ends or is deleted; before all pods are known, one that is unknown may be here', () => {
  const index = new Identity().pods;
  const here = (): boolean[] => ['web-7d9f-x', 'job'].map((name) => index.isHere('shop', name));
  index.upsert(podIdentity({ ...aPod('shop/job'), ...completed }), 0);
  expect(here()).toEqual([true, false]);
  index.markSynced();
  expect(here()).toEqual([false, false]);
  index.upsert(podIdentity(web()), 0);
  expect(here()).toEqual([true, false]);
  index.deleted(podIdentity(web()), 0);
  expect(here()).toEqual([false, false]);
});

test('a deleted pod stays known for another minute, unless another pod takes its name', () => {
  const { pods: index } = nodePods(web());
  index.deleted(podIdentity(web()), 0);
  index.sweep(59_000);
  expect(index.withIp('10.0.0.5')?.uid).toBe('u1');
  index.upsert(podIdentity(web({ uid: 'u2', ip: '10.0.0.6' })), 0);
  index.sweep(61_000);
  expect(index.named('shop', 'web-7d9f-x')?.uid).toBe('u2');
  expect(index.withIp('10.0.0.5')).toBeUndefined();
  index.deleted(podIdentity(web({ uid: 'u2', ip: '10.0.0.6' })), 70_000);
  index.sweep(140_000);
  expect([index.named('shop', 'web-7d9f-x'), index.hasOwner('shop', 'web'), index.namespaces]).toEqual([
    undefined,
    false,
    0,
  ]);
});

test('a deleted pod whose name is taken is still found by its address for a minute, unless that is taken, too', () => {
  const { pods: index } = nodePods(web());
  index.deleted(podIdentity(web()), 0);
  index.upsert(podIdentity(web({ uid: 'u2', ip: '10.0.0.6' })), 0);
  expect(['10.0.0.5', '10.0.0.6'].map((ip) => index.withIp(ip)?.uid)).toEqual(['u1', 'u2']);
  index.deleted(podIdentity(web({ uid: 'u2', ip: '10.0.0.6' })), 10_000);
  index.upsert(podIdentity(web({ uid: 'u3', ip: '10.0.0.5' })), 0);
  expect(index.withIp('10.0.0.5')?.uid).toBe('u3');
  index.sweep(100_000);
  expect(['10.0.0.5', '10.0.0.6'].map((ip) => index.withIp(ip)?.uid)).toEqual(['u3', undefined]);
  expect([index.named('shop', 'web-7d9f-x')?.uid, index.hasOwner('shop', 'web')]).toEqual(['u3', true]);
});

test.each([
  ['first', ['job', 'web']],
  ['last', ['web', 'job']],
])(
  'a pod that has run to completion, and is seen %s, does not take its former address from the pod that has it',
  (_, order) => {
    const { pods: index } = nodePods();
    const job = { ...aPod('shop/job', { uid: 'j', ip: '10.0.0.5' }), ...completed };
    for (const name of order) index.upsert(podIdentity(slimPod(name === 'job' ? job : web())), 0);
    expect(index.withIp('10.0.0.5')?.uid).toBe('u1');
    index.deleted(podIdentity(job), 0);
    index.sweep(100_000);
    expect(index.withIp('10.0.0.5')?.uid).toBe('u1');
  },
);

test('a pod that has run to completion keeps its name, and its address for another minute', () => {
  const { pods: index } = nodePods(web());
  const ended = (labels: Record<string, string> = {}) => podIdentity({ ...web({ labels }), ...completed });
  index.upsert(ended(), 1_000);
  index.sweep(60_000);
  expect(index.withIp('10.0.0.5')?.ended).toBe(true);
  index.upsert(ended({ team: 'a' }), 60_000);
  expect(index.withIp('10.0.0.5')?.labels).toEqual({ team: 'a' });
  const { version } = index;
  index.sweep(61_000);
  expect(index.version).toBeGreaterThan(version);
  index.upsert(ended({ team: 'b' }), 70_000);
  expect(index.withIp('10.0.0.5')).toBeUndefined();
  expect(index.named('shop', 'web-7d9f-x')?.labels).toEqual({ team: 'b' });
});

test.each([
  ['has run to completion', (index: PodIndex) => index.upsert(podIdentity({ ...web(), ...completed }), 0)],
  ['was deleted', (index: PodIndex) => index.deleted(podIdentity(web()), 0)],
])('the end of a flow is not a pod that %s where the instrument says that it is on another node', (_what, leave) => {
  const { pods: index } = nodePods(web());
  const localOf = (node: string, name: Record<string, string>): readonly string[] =>
    enrichFlow(attributes({ 'k8s.dst.namespace': 'shop', 'k8s.dst.node.name': node, ...name }), index).local;
  const [byAddress, byName] = [{ 'dst.address': '10.0.0.5' }, { 'k8s.dst.name': 'web-7d9f-x' }];
  expect([localOf('far', byAddress), localOf('far', byName)]).toEqual([['shop'], ['shop']]);
  leave(index);
  expect([localOf('far', byAddress), localOf('far', byName)]).toEqual([[], []]);
  expect([localOf('n', byAddress), localOf('n', byName)]).toEqual([['shop'], ['shop']]);
  expect([localOf('', byAddress), localOf('', byName)]).toEqual([['shop'], ['shop']]);
});

test('a pod that comes back after a list without it stays known', () => {
  const { pods: index } = nodePods(web());
  index.deleted(podIdentity(web()), 0);
  const { version } = index;
  index.upsert(podIdentity(web()), 0);
  expect(index.version).toBeGreaterThan(version);
  index.sweep(100_000);
  expect([index.named('shop', 'web-7d9f-x')?.uid, index.withIp('10.0.0.5')?.uid]).toEqual(['u1', 'u1']);
  index.deleted(podIdentity(web()), 200_000);
  index.sweep(300_000);
  expect([index.size, index.withIp('10.0.0.5')]).toEqual([0, undefined]);
});

test('a series names no pod until pods are known, then `unknown`, then its own pod, and its counter goes on', () => {
  const identity = new Identity();
  const mapper = new SeriesMapper({ ...defaultPolicy('n'), limits: builtinLimits }, identity);
  const names: string[] = [];
  const sink = {
    append: ({ labels }: SeriesRef, _t: number, value: number): void =>
      void names.push(`${labels.find(([k]) => k === 'k8s_pod_name')?.[1]} ${value}`),
    stale: ({ labels }: SeriesRef): void =>
      void names.push(`end of ${labels.find(([k]) => k === 'k8s_pod_name')?.[1]}`),
    start: (): void => {},
    stored: (): number => NaN,
  };
  const resource = attributes(instance);
  const send = (seconds: number): void => {
    const points = [
      {
        attributes: [],
        startNs: 1,
        timeNs: (1_800_000_000 + seconds) * 1e9,
        noValue: false,
        value: seconds,
        exemplars: [],
      },
    ];
    const data = { kind: 'sum', temporality: 'cumulative', monotonic: true, points } as const;
    const metrics = [{ name: 'http.server.requests', description: '', unit: '', data }];
    const at = { wall: (1_800_000_000 + seconds) * 1e3, mono: seconds * 1e3 };
    mapper.refreshIdentity(at, sink);
    mapper.add(
      { resources: [{ attributes: resource, scopes: [{ scope: { name: '', version: '' }, metrics }] }] },
      at,
      sink,
    );
    mapper.flush(sink);
  };
  send(1);
  identity.pods.markSynced();
  send(2);
  identity.pods.upsert(podIdentity(web()), 0);
  send(3);
  identity.pods.deleted(podIdentity(web()), 0);
  identity.pods.sweep(100_000);
  send(4);
  expect(names).toEqual([
    'undefined 1',
    'end of undefined',
    'unknown 2',
    'end of unknown',
    'web-7d9f-x 3',
    'web-7d9f-x 4',
  ]);
  expect(mapper.counts.unknownPods).toBe(1);
});

test('a sender whose Resource names another container than its point is forged, whatever an earlier point said', () => {
  const identity = new Identity(pods);
  const resource = attributes({ ...instance, 'k8s.namespace.name': 'bank' });
  const forged = (container: string): boolean =>
    identity.point(resource, attributes({ 'service.instance.id': `shop.web-7d9f-x.${container}` })).forged;
  expect(['app', 'other', 'app'].map(forged)).toEqual([false, true, false]);
});

test('what a forged Resource says at length is not kept', async () => {
  const identity = new Identity(pods);
  const forge = (end: string): void => {
    const claim = Buffer.concat([Buffer.alloc(2 ** 20, 'x'), Buffer.from(end)]).toString();
    const resource = attributes({ 'service.instance.id': 'pay.db-0.main', 'k8s.claim': claim });
    const point = attributes({ 'service.instance.id': 'shop.web-7d9f-x.app' });
    const sender = identity.point(resource, point);
    expect(sender.forged).toBe(true);
    identity.notePoint(resource, point, sender, 0);
  };
  const before = await heapAfterGc();
  for (let end = 0; end < 20; end++) forge(String(end));
  expect((await heapAfterGc()) - before).toBeLessThan(6 * 2 ** 20);
});
