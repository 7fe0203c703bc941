import type { KubeObject } from '../../api/meta.ts';
import { builtinLimits } from '../../capture/index.ts';
import { SeriesMapper } from '../mapping/mapper.ts';
import { defaultPolicy } from '../mapping/policy.ts';
import type { Attribute } from '../otlp/model.ts';
import type { SeriesRef } from '../../tsdb/index.ts';
import { enrichFlow, enrichResource } from './enrich.ts';
import { Identity } from './identity.ts';
import { podIdentity, slimPod } from './pod-identity.ts';
import { PodIndex } from './pod-index.ts';

const attributes = (labels: Record<string, string>): Attribute[] =>
  Object.entries(labels).map(([key, value]) => ({ key, value }));
const plain = (list: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(list.map((a) => [a.key, a.value]));

function aPod(
  change: { name?: string; uid?: string; ip?: string; container?: string; owner?: [string, string] } = {},
): KubeObject {
  const {
    name = 'web-7d9f-x',
    uid = 'u1',
    ip = '10.0.0.5',
    container = 'abc',
    owner = ['ReplicaSet', 'web-7d9f'],
  } = change;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace: 'shop',
      name,
      uid,
      labels: { 'pod-template-hash': '7d9f' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: owner[0], name: owner[1], uid: 'o', controller: true }],
    },
    spec: { nodeName: 'n', containers: [{ name: 'app' }] },
    status: { podIP: ip, containerStatuses: [{ name: 'app', containerID: `containerd://${container}` }] },
  } as unknown as KubeObject;
}

function anIndex(...pods: KubeObject[]): PodIndex {
  const index = new PodIndex();
  for (const pod of pods) index.upsert(podIdentity(slimPod(pod)));
  return index;
}

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

test.each<[string, Record<string, string>]>([
  ['its container id', { 'container.id': 'abc' }],
  ['its container id with the runtime', { 'container.id': 'containerd://abc' }],
  ['its uid', { 'k8s.pod.uid': 'u1' }],
  ['its address', { 'k8s.pod.ip': '10.0.0.5' }],
  ['its name', { 'k8s.namespace.name': 'shop', 'k8s.pod.name': 'web-7d9f-x' }],
])('a pod is found by %s and all that is missing is filled in', (_by, given) => {
  const { attributes: got, state } = enrichResource(attributes({ 'service.name': 's', ...given }), anIndex(aPod()));
  expect(state).toBe('filled');
  expect(plain(got)).toMatchObject({ 'service.name': 's', ...full });
});

test('a container that is known to be of another pod beats the name that the instrument still has', () => {
  const given = {
    'container.id': 'abc',
    'k8s.namespace.name': 'old',
    'k8s.pod.name': 'gone',
    'k8s.statefulset.name': 'gone',
  };
  const { attributes: got } = enrichResource(attributes(given), anIndex(aPod()));
  expect(plain(got)).toEqual({ 'container.id': 'abc', ...full });
});

test('a pod that came back under its name gets its new uid, and keeps what the instrument knows', () => {
  const given = { ...full, 'k8s.pod.uid': 'before', 'k8s.deployment.name': 'as-the-instrument-says' };
  const { attributes: got } = enrichResource(attributes(given), anIndex(aPod()));
  expect(plain(got)).toMatchObject({ 'k8s.pod.uid': 'u1', 'k8s.deployment.name': 'as-the-instrument-says' });
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
  expect(podIdentity(aPod({ owner })).attributes).toMatchObject(expected);
});

test('without anything to find it by a pod is missing, and one that names a pod we do not know is left alone', () => {
  expect(enrichResource(attributes({ 'service.name': 's' }), anIndex(aPod())).state).toBe('missing');
  const named = attributes({ 'k8s.namespace.name': 'shop', 'k8s.pod.name': 'other' });
  expect(enrichResource(named, anIndex(aPod()))).toEqual({ attributes: named, state: 'known' });
});

test('the ends of a flow are filled in by their addresses, and a known end is left alone', () => {
  const given = { 'src.address': '10.0.0.5', 'dst.address': '8.8.8.8' };
  const { attributes: got, state } = enrichFlow(attributes(given), anIndex(aPod()));
  expect(state).toBe('filled');
  expect(plain(got)).toEqual({
    ...given,
    'k8s.src.namespace': 'shop',
    'k8s.src.owner.name': 'web',
    'k8s.src.owner.type': 'Deployment',
  });
  expect(enrichFlow(attributes({ 'k8s.dst.namespace': 'x' }), anIndex()).state).toBe('known');
  expect(enrichFlow(attributes({ direction: 'request' }), anIndex()).state).toBe('missing');
});

test('a pod that went is known a minute more, unless its name was given to another', () => {
  const index = anIndex(aPod());
  index.deleted(podIdentity(aPod()), 0);
  index.sweep(59_000);
  expect(index.withUid('u1')).toBeDefined();
  index.upsert(podIdentity(aPod({ uid: 'u2', ip: '10.0.0.6', container: 'def' })));
  index.sweep(61_000);
  expect(index.named('shop', 'web-7d9f-x')?.uid).toBe('u2');
  expect(index.withUid('u1')).toBeUndefined();
  expect(index.withContainer('abc')).toBeUndefined();
});

test('a series of an unknown pod is counted, then named unknown, then given its pod, and its counter goes on', () => {
  const identity = new Identity();
  const mapper = new SeriesMapper({ ...defaultPolicy('n'), limits: builtinLimits }, identity);
  const names: string[] = [];
  const sink = {
    append: ({ labels }: SeriesRef, _t: number, value: number): void =>
      void names.push(`${labels.find(([k]) => k === 'k8s_pod_name')?.[1]} ${value}`),
    stale: ({ labels }: SeriesRef): void =>
      void names.push(`end of ${labels.find(([k]) => k === 'k8s_pod_name')?.[1]}`),
  };
  const resource = attributes({ 'container.id': 'abc' });
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
  identity.pods.upsert(podIdentity(aPod()));
  send(3);
  expect(names).toEqual(['undefined 1', 'end of undefined', 'unknown 2', 'end of unknown', 'web-7d9f-x 3']);
  expect(mapper.counts.unknownPods).toBe(1);
});
