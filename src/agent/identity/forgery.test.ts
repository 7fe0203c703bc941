import fc from 'fast-check';
import { builtinLimits } from '../../capture/index.ts';
import { aPod, nodePods, senderAttributes, showPoints } from '../../testing/node-pods.ts';
import type { SeriesRef } from '../../tsdb/index.ts';
import { SeriesMapper } from '../mapping/mapper.ts';
import { defaultPolicy } from '../mapping/policy.ts';
import type { Attribute } from '../otlp/model.ts';
import { SpanPipeline } from '../spans/span-pipeline.ts';
import { StreamRing } from '../spans/stream-ring.ts';
import { unshownLimits } from '../spans/unshown-spans.ts';
import type { Identity } from './identity.ts';

/** Keys that a pod may set about itself, in every spelling that becomes an identity label. */
const keys = [
  ...[
    'namespace.name',
    'pod.name',
    'pod.uid',
    'pod.ip',
    'node.name',
    'container.name',
    'deployment.name',
    'owner.name',
  ],
  ...['statefulset.name', 'src.namespace', 'dst.namespace', 'src.owner.name', 'dst.owner.name', 'src.name', 'kind'],
].flatMap((key) => [`k8s.${key}`, `k8s_${key.replaceAll('.', '_')}`, `k8s-${key}`, `k8s/${key}`]);
const others = [
  'service.instance.id',
  'service.name',
  'service.namespace',
  'container.id',
  'label_app',
  'label.app',
  'x',
];
const victims = ['pay', 'db-0', 'pay.db-0.main', 'pay/db-0', 'uid of pay/db-0', '10.0.0.9', 'cafe', 'db', 'Pod', ''];

const attribute: fc.Arbitrary<Attribute> = fc.record({
  key: fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...keys, ...others) }, fc.string()),
  value: fc.oneof<fc.Arbitrary<Attribute['value']>[]>(
    fc.constantFrom(...victims),
    fc.string(),
    fc.integer(),
    fc.boolean(),
  ),
});
const attributes = fc.array(attribute, { maxLength: 12 });
/** The instance attribute, which the instrument writes after all attributes that a pod can set. */
const written: Attribute = { key: 'service.instance.id', value: 'shop.web-1.main' };
/** Attributes of a point. The instance is left out: a test adds it where the instrument writes it. */
const point = attributes.map((list) => list.filter(({ key }) => key !== written.key));
const metricName = fc.constantFrom(
  'http.server.request.duration',
  'http.client.x',
  'db.client.x',
  'rpc.server.x',
  'jvm.x',
);

const node = () =>
  nodePods(aPod('shop/web-1', { ip: '10.0.0.5' }), aPod('pay/db-0', { ip: '10.0.0.9', owner: ['StatefulSet', 'db'] }));

/** Labels of the series that one point with these attributes makes. */
function seriesOf(
  name: string,
  resource: readonly Attribute[],
  ofPoint: readonly Attribute[],
): Record<string, string>[] {
  const monitors = [{ namespace: 'pay', name: 'm', uid: 'u', pods: ['db-0'] }];
  const mapper = new SeriesMapper({ ...defaultPolicy('n'), monitors }, node());
  const found: Record<string, string>[] = [];
  const sink = {
    append: ({ labels }: SeriesRef) => void found.push(Object.fromEntries(labels)),
    stale: () => {},
    start: () => {},
    stored: () => NaN,
  };
  const points = [{ attributes: ofPoint, startNs: 1, timeNs: 1.8e18, noValue: false, value: 1, exemplars: [] }];
  const data = { kind: 'sum', temporality: 'cumulative', monotonic: true, points } as const;
  const scopes = [{ scope: { name: '', version: '' }, metrics: [{ name, description: '', unit: '', data }] }];
  const at = { wall: 1.8e12, mono: 0 };
  mapper.add({ resources: [{ attributes: resource, scopes }] }, at, sink);
  mapper.flush(sink);
  expect(mapper.limits.monitors).toMatchObject([{ activeSeries: 0, lastSampleAt: null }]);
  return found;
}

const own = {
  k8s_namespace_name: 'shop',
  k8s_pod_name: 'web-1',
  k8s_node_name: 'n',
  k8s_container_name: 'main',
};
/** The labels that say which Kubernetes object a series belongs to. */
const naming = (labels: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).filter(([name]) => /^(?:k8s|label)_/.test(name)));

test('no attributes of a pod make a series of another pod', () => {
  fc.assert(
    fc.property(metricName, attributes, point, (name, resource, ofPoint) => {
      const [labels, ...rest] = seriesOf(name, [...resource, written], ofPoint);
      expect(rest).toEqual([]);
      expect(naming(labels!)).toEqual(own);
    }),
    { numRuns: 500 },
  );
});

test('a forged instance in the Resource makes no series of another pod if the points carry the real one', () => {
  fc.assert(
    fc.property(metricName, attributes, attributes, point, (name, before, after, ofPoint) => {
      const [labels] = seriesOf(name, [...before, written, ...after], [...ofPoint, written]);
      expect(naming(labels!)).toEqual(own);
    }),
    { numRuns: 500 },
  );
});

/** The record of a span with this Resource, once it is decided which pod it belongs to. */
function spanOf(
  identity: Identity,
  resource: readonly Attribute[],
  ofSpan: readonly Attribute[] = [],
  meanwhile = (): void => {},
) {
  let mono = 0;
  const clock = { now: () => 1.8e12 + mono, monotonic: () => mono, setTimeout: () => () => {} };
  const ring = new StreamRing({ maxBytes: 1e9, maxAgeMs: 1e9 });
  const pipeline = new SpanPipeline({ ring, clock, identity });
  pipeline.setConfig({ monitors: [], limits: builtinLimits });
  const span = {
    traceId: 'f'.repeat(32),
    spanId: 'a'.repeat(16),
    parentSpanId: '',
    name: 'GET /',
    kind: 'server',
    startNs: 1n,
    endNs: 2n,
    attributes: ofSpan,
    status: 'unset',
    statusMessage: '',
  } as const;
  pipeline.take({
    resources: [{ attributes: resource, scopes: [{ scope: { name: '', version: '' }, spans: [span] }] }],
  });
  meanwhile();
  mono = unshownLimits.waitMs;
  pipeline.expire();
  expect(ring.next).toBe(1);
  return ring.at(0)!.span!;
}

/** The Resource of the sender, and the Resource of the pod that the sender pretends to be. */
const honest = senderAttributes('shop/web-1');
const victim = senderAttributes('pay/db-0', { 'k8s.pod.uid': 'known to the namespace pay alone' });
/** Like `node`, but no other namespace can know the uid of the victim. */
const guarded = () => nodePods('shop/web-1', aPod('pay/db-0', { uid: 'known to the namespace pay alone' }));
const both = fc.subarray(['the sender', 'the victim'] as const);

test('a span belongs to the pod that metric points with the same Resource name, whatever the span itself claims', () => {
  fc.assert(
    fc.property(attributes, fc.boolean(), (ofSpan, isLate) => {
      const identity = guarded();
      const show = (): void => showPoints(identity, honest);
      if (!isLate) show();
      const { namespace, pod, container, workload, attributes: shown } = spanOf(identity, honest, ofSpan, show);
      expect({ namespace, pod, container, workload }).toEqual({
        namespace: 'shop',
        pod: 'web-1',
        container: 'main',
        workload: undefined,
      });
      expect(Object.keys(shown).filter((key) => /^k8s[^a-z0-9]/.test(key))).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test('no attributes of a pod make a span of another pod, whichever metric points of the two came, in any order', () => {
  const uid = victim.filter(({ key }) => key !== 'k8s.pod.uid');
  const claims = fc.oneof(attributes, fc.constant(uid), fc.shuffledSubarray(uid));
  const seen = new Set<string | undefined>();
  fc.assert(
    fc.property(claims, claims, attributes, both, both, (before, after, ofSpan, earlier, later) => {
      const identity = guarded();
      const forged = [...before, ...honest, ...after];
      const show = (whose: readonly string[]): void => {
        if (whose.includes('the victim')) showPoints(identity, victim);
        if (whose.includes('the sender')) showPoints(identity, forged, 'shop.web-1.main');
      };
      show(earlier);
      const { namespace, pod } = spanOf(identity, forged, ofSpan, () => show(later));
      expect([undefined, 'shop']).toContain(namespace);
      expect([undefined, 'web-1']).toContain(pod);
      seen.add(pod);
    }),
    { numRuns: 1_000 },
  );
  expect(seen).toEqual(new Set([undefined, 'web-1']));
});

test('a copy of another pod’s Resource makes no span of that pod, unless only points of that pod have come', () => {
  fc.assert(
    fc.property(attributes, attributes, both, both, (before, after, earlier, later) => {
      const identity = guarded();
      const copy = [...before, ...victim, ...after.filter(({ key }) => !victim.some((v) => v.key === key))];
      const show = (whose: readonly string[]): void => {
        if (whose.includes('the victim')) showPoints(identity, victim);
        if (whose.includes('the sender')) showPoints(identity, copy, 'shop.web-1.main');
      };
      show(earlier);
      fc.pre(!earlier.includes('the victim') || earlier.includes('the sender'));
      fc.pre(!later.includes('the victim') || later.includes('the sender') || earlier.includes('the sender'));
      expect(spanOf(identity, copy, [], () => show(later)).namespace).toBeUndefined();
    }),
    { numRuns: 1_000 },
  );
});

test('a flow belongs to a namespace, and counts for it, only if one of its ends is a pod of this node', () => {
  const address = fc.constantFrom('10.0.0.5', '10.0.0.9', '10.9.9.9', '');
  const reached = [0, 0, 0];
  fc.assert(
    fc.property(attributes, address, address, (claims, src, dst) => {
      const identity = node();
      const ends = [...claims, { key: 'src.address', value: src }, { key: 'dst.address', value: dst }];
      const { local, attributes: got } = identity.flow(ends);
      const named = got
        .filter(({ key }) => /^k8s\.(?:src|dst)\.namespace$/.test(key))
        .map(({ value }) => String(value));
      reached[local.length]!++;
      if (local.length === 0) expect(named).toEqual([]);
      // The flow counts only for namespaces that one of its ends names.
      expect(local.filter((namespace) => !named.includes(namespace))).toEqual([]);
      for (const [side, ip] of [
        ['src', src],
        ['dst', dst],
      ] as const) {
        const truth = identity.pods.withIp(ip)?.namespace;
        const shown = got.findLast(({ key }) => key === `k8s.${side}.namespace`)?.value;
        if (truth) expect([shown, local.includes(truth)]).toEqual([truth, true]);
      }
    }),
    { numRuns: 500 },
  );
  expect(Math.min(...reached)).toBeGreaterThan(10);
});
