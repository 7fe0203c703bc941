import type { KubeObject, ObjectMeta } from '../../api/meta.ts';
import {
  allOf,
  annotationsChanged,
  anyOf,
  changed,
  finalizersChanged,
  generationChanged,
  hasLabel,
  labelsChanged,
  not,
} from './predicates.ts';
import type { Predicate, SourceEvent } from '../types.ts';

const object = (metadata: ObjectMeta, rest: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name: 'a', ...metadata },
  ...rest,
});
const updated = (before: KubeObject, after: KubeObject): SourceEvent => ({
  type: 'updated',
  object: after,
  old: before,
  initial: false,
  missed: false,
});
const added = (o: KubeObject): SourceEvent => ({ type: 'added', object: o, initial: false, missed: false });
const deleted = (o: KubeObject): SourceEvent => ({ type: 'deleted', object: o, old: o, initial: false, missed: false });
const going = { deletionTimestamp: '2026-01-01T00:00:00Z' };

test.each<[string, Predicate, ObjectMeta, ObjectMeta, boolean]>([
  ['generation: a spec that changed passes', generationChanged, { generation: 1 }, { generation: 2 }, true],
  ['generation: a status that changed does not pass', generationChanged, { generation: 1 }, { generation: 1 }, false],
  [
    'generation: the start of a deletion passes',
    generationChanged,
    { generation: 1 },
    { generation: 1, ...going },
    true,
  ],
  ['generation: an update without a generation never passes', generationChanged, {}, { labels: { a: '1' } }, false],
  ['labels: a new value passes', labelsChanged, { labels: { a: '1' } }, { labels: { a: '2' } }, true],
  ['labels: a renamed label passes', labelsChanged, { labels: { a: '1' } }, { labels: { b: '1' } }, true],
  ['labels: none and an empty map are the same', labelsChanged, {}, { labels: {} }, false],
  [
    'labels: order does not matter',
    labelsChanged,
    { labels: { a: '1', b: '2' } },
    { labels: { b: '2', a: '1' } },
    false,
  ],
  ['labels: annotations do not matter', labelsChanged, {}, { annotations: { a: '1' } }, false],
  ['annotations: a removed one passes', annotationsChanged, { annotations: { a: '1' } }, {}, true],
  ['annotations: labels do not matter', annotationsChanged, {}, { labels: { a: '1' } }, false],
  ['finalizers: one more passes', finalizersChanged, {}, { finalizers: ['x'] }, true],
  ['finalizers: the same ones do not pass', finalizersChanged, { finalizers: ['x'] }, { finalizers: ['x'] }, false],
])('%s', (_name, predicate, before, after, expected) => {
  expect(predicate(updated(object(before), object(after)))).toBe(expected);
});

test.each([
  ['generation', generationChanged],
  ['labels', labelsChanged],
  ['annotations', annotationsChanged],
  ['finalizers', finalizersChanged],
  ['a value that is read', changed((o) => o.metadata.name)],
])('%s: added and deleted objects always pass', (_name, predicate) => {
  expect(predicate(added(object({})))).toBe(true);
  expect(predicate(deleted(object({})))).toBe(true);
});

test('the value that `changed` reads is compared by content, not by identity', () => {
  const data = changed<KubeObject>((o) => o['data']) as Predicate;
  expect(data(updated(object({}, { data: { a: [1] } }), object({}, { data: { a: [1] } })))).toBe(false);
  expect(data(updated(object({}, { data: { a: [1] } }), object({}, { data: { a: [2] } })))).toBe(true);
});

test('a label is matched by name, or by name and value', () => {
  const labelled = added(object({ labels: { team: 'red' } }));
  expect(
    [hasLabel('team'), hasLabel('team', 'red'), hasLabel('team', 'blue'), hasLabel('other')].map((p) => p(labelled)),
  ).toEqual([true, true, false, false]);
});

test('predicates combine', () => {
  const yes: Predicate = () => true;
  const no: Predicate = () => false;
  const event = added(object({}));
  expect(
    [anyOf(no, yes), anyOf(no, no), allOf(yes, yes), allOf(yes, no), not(yes), not(no)].map((p) => p(event)),
  ).toEqual([true, false, true, false, false, true]);
  expect([anyOf(), allOf()].map((p) => p(event))).toEqual([false, true]);
});
