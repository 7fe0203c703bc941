import { inNanoseconds, type Sent } from '../meter.ts';
import { inventedOf, judge, lostOf, spread, type Answer } from './oracle.ts';

const known = { acknowledged: 10, newest: 12, nodes: ['node-1'] };
const whole = (value: number | null): Answer => ({ isDegraded: false, missingNodes: [], value });
const degraded = (...missingNodes: string[]): Answer => ({ isDegraded: true, missingNodes, value: null });

test.each<[string, Answer, string]>([
  ['the newest acknowledged value', whole(10), 'right'],
  ['a value that was sent and not yet acknowledged', whole(12), 'right'],
  ['a value from before an acknowledgement', whole(9), '9, and 10 had been acknowledged before it was asked'],
  ['no value, and not degraded', whole(null), '0, and 10 had been acknowledged before it was asked'],
  ['a value that was never sent', whole(13), '13, and 12 is all that was sent'],
  ['a known node named as missing', degraded('node-1'), 'degraded'],
  ['`degraded` but no missing node', degraded(), 'degraded, and no node is missing'],
  ['an unknown node named as missing', degraded('node-7'), 'degraded for nodes that do not exist: node-7'],
])('the oracle judges an answer with %s', (_, answer, verdict) => {
  expect(judge(answer, known)).toBe(verdict);
});

test('before anything was acknowledged, an answer may have no value', () => {
  expect(judge(whole(null), { ...known, acknowledged: 0 })).toBe('right');
});

const sent = (value: number, isAcknowledged: boolean): Sent => ({ value, at: value * 1000 + 500, isAcknowledged });

test('an acknowledged value that is not stored is lost; an unacknowledged value is not', () => {
  const all = [sent(1, true), sent(2, true), sent(3, false)];
  expect(lostOf(all, [[1.5, '1']])).toEqual([sent(2, true)]);
  expect(
    lostOf(all, [
      [1.5, '1'],
      [2.5, '3'],
    ]),
  ).toEqual([sent(2, true)]);
  expect(
    lostOf(all, [
      [1.5, '1'],
      [2.5, '2'],
    ]),
  ).toEqual([]);
});

test('a stored sample that was never sent is reported', () => {
  const all = [sent(1, true), sent(2, false)];
  expect(
    inventedOf(all, [
      [1.5, '1'],
      [2.5, '2'],
    ]),
  ).toEqual([]);
  expect(
    inventedOf(all, [
      [1.5, '1'],
      [9, '4'],
    ]),
  ).toEqual([[9, '4']]);
});

test('the spread of some times consists of their median and the longest', () => {
  expect(spread([3, 1, 20])).toEqual({ median: 3, longest: 20 });
  expect(spread([])).toEqual({ median: 0, longest: 0 });
});

test('a time that is sent in nanoseconds is stored as the same millisecond', () => {
  const times = Array.from({ length: 1_000 }, (_, i) => 1_795_451_070_066 + 501 * i);
  expect(times.map((at) => Math.floor(inNanoseconds(at) / 1e6))).toEqual(times);
});
