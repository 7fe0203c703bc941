import type { KubeObject } from '../../api/meta.ts';
import type { SourceEvent } from '../../runtime/index.ts';
import { DepartedPods } from './departed-pods.ts';
import type { PodObject } from './facts.ts';

const aPod = (name: string, nodeName: string, phase = 'Running', namespace = 'shop'): PodObject =>
  ({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name } },
    ...{ spec: { nodeName, containers: [{ name: 'main' }] }, status: { phase } },
  }) as KubeObject;
const event = (type: SourceEvent['type'], object: PodObject, old?: PodObject): SourceEvent<PodObject> => ({
  ...{ type, object, old, initial: false, missed: false },
});
const deleted = (pod: PodObject) => event('deleted', pod, pod);
const ended = (name: string, phase = 'Succeeded') =>
  event('updated', aPod(name, 'node-1', phase), aPod(name, 'node-1'));
const placesOf = (pods: DepartedPods, nowMs: number): string[] =>
  pods.list(nowMs).map(({ name, nodeName }) => `${name} on ${nodeName}`);

test.each([
  ['was deleted', deleted(aPod('web-1', 'node-1'))],
  ['succeeded', ended('web-1')],
  ['failed', ended('web-1', 'Failed')],
  ['is on another node by the next list', event('updated', aPod('web-1', 'node-2'), aPod('web-1', 'node-1'))],
])('a pod that %s is remembered for ten minutes, and forgotten at the next half minute', (_what, left) => {
  const pods = new DepartedPods();
  pods.note(left, 1_000);
  expect([pods.untilMs, placesOf(pods, 629_999)]).toEqual([630_000, ['web-1 on node-1']]);
  expect([placesOf(pods, 630_000), pods.untilMs]).toEqual([[], Infinity]);
});

test('the end of a pod counts, not the deletion of its object later', () => {
  const pods = new DepartedPods();
  pods.note(ended('job'), 0);
  pods.note(deleted(aPod('job', 'node-1', 'Succeeded')), 500_000);
  expect(placesOf(pods, 600_000)).toEqual([]);
});

test('a pod that takes the name of one that left replaces it on its node only', () => {
  const pods = new DepartedPods();
  for (const node of ['node-1', 'node-2']) pods.note(deleted(aPod('db-0', node)), 0);
  pods.note(event('added', aPod('db-0', 'node-2')), 1_000);
  expect(placesOf(pods, 2_000)).toEqual(['db-0 on node-1']);
});

test('a pod that was never scheduled, is merely changed or was found ended has not left', () => {
  const pods = new DepartedPods();
  pods.note(deleted(aPod('pending', '')), 0);
  pods.note(event('updated', aPod('web-1', 'node-1'), aPod('web-1', 'node-1', 'Pending')), 0);
  pods.note(event('added', aPod('job', 'node-1', 'Succeeded')), 0);
  expect([pods.list(0), pods.untilMs]).toEqual([[], Infinity]);
});

test('of two hundred pods of a namespace and more the newest are remembered, each name once', () => {
  const pods = new DepartedPods();
  for (let i = 0; i <= 200; i++) pods.note(deleted(aPod(`job-${i}`, 'node-1')), i);
  pods.note(deleted(aPod('job-2', 'node-1')), 2_000);
  pods.note(deleted(aPod('other', 'node-1')), 2_000);
  const names = pods.list(3_000).map(({ name }) => name);
  expect([names.length, names[0], names.at(-2), names.at(-1)]).toEqual([200, 'job-3', 'job-2', 'other']);
});

test('pods of one namespace push out none of another, unless the node has too many', () => {
  const pods = new DepartedPods();
  pods.note(deleted(aPod('web-1', 'node-1', 'Running', 'other')), 0);
  for (let i = 0; i < 201; i++) pods.note(deleted(aPod(`job-${i}`, 'node-1')), 0);
  const names = (): string[] => pods.list(0).map(({ namespace, name }) => `${namespace}/${name}`);
  expect([names().length, names()[0], names()[1]]).toEqual([201, 'other/web-1', 'shop/job-1']);
  for (let i = 0; i < 800; i++) pods.note(deleted(aPod('web-1', 'node-1', 'Running', `tenant-${i}`)), 0);
  expect([names().length, names()[0], names()[1], names().at(-1)]).toEqual([
    ...[1_000, 'other/web-1', 'shop/job-2', 'tenant-799/web-1'],
  ]);
});

test('a pod that is deleted before it had an address is not remembered, one whose run nobody saw is', () => {
  const pods = new DepartedPods();
  pods.note(deleted(aPod('bogus', 'node-1', 'Pending')), 0);
  expect(pods.list(0)).toEqual([]);
  pods.note(event('updated', aPod('job', 'node-1', 'Succeeded'), aPod('job', 'node-1', 'Pending')), 0);
  const starting = aPod('starting', 'node-1', 'Pending');
  pods.note(deleted({ ...starting, status: { phase: 'Pending', podIP: '10.0.0.1' } }), 0);
  expect(placesOf(pods, 0)).toEqual(['job on node-1', 'starting on node-1']);
});
