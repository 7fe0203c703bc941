import { Pace } from '../../base/turns/turns.ts';
import { compileMatcher, labelsFromObject } from '../../tsdb/index.ts';
import { ExemplarRing } from './exemplar-ring.ts';

const exemplar = (second: number) => ({ timeNs: second * 1e9, value: second, traceId: `t${second}`, spanId: '' });
const series = (name: string) => labelsFromObject({ __name__: name });
const named = (value: string) => [compileMatcher({ type: '=', name: '__name__', value })];
const select = (ring: ExemplarRing, names: readonly string[], startMs: number, endMs: number) =>
  ring.select(names.map(named), startMs, endMs, (labels) => labels, new Pace());

test('a full ring gives up its oldest exemplar for each new one', async () => {
  const ring = new ExemplarRing(3);
  for (let second = 1; second <= 5; second++) ring.add({ labels: series('a') }, exemplar(second));
  expect(ring.size).toBe(3);
  const [found] = await select(ring, ['a'], -Infinity, Infinity);
  expect(found?.exemplars.map(({ value }) => value)).toEqual([3, 4, 5]);
});

test('series come in label order, and a series with several exemplars comes once', async () => {
  const ring = new ExemplarRing();
  ring.add({ labels: series('b') }, exemplar(1));
  ring.add({ labels: series('a') }, exemplar(3));
  ring.add({ labels: series('a') }, exemplar(2));
  ring.add({ labels: series('c') }, exemplar(2));
  const found = await select(ring, ['a', 'b'], 1_000, 3_000);
  expect(found.map(({ labels, exemplars }) => [labels[0]![1], exemplars.map(({ value }) => value)])).toEqual([
    ['a', [2, 3]],
    ['b', [1]],
  ]);
  expect(await select(ring, ['a'], 4_000, 5_000)).toEqual([]);
});
