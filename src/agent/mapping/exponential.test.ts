import fc from 'fast-check';
import type { ExponentialPoint } from '../otlp/model.ts';
import { countsAtBounds } from './exponential.ts';
import { boundText, labelName, metricName } from './names.ts';

/** The point that an exporter with this scale would make of the values. */
function pointOf(values: readonly number[], scale: number): ExponentialPoint {
  const counts = new Map<number, number>();
  for (const value of values) {
    const index = Math.ceil(Math.log2(value) * 2 ** scale) - 1;
    counts.set(index, (counts.get(index) ?? 0) + 1);
  }
  const offset = Math.min(...counts.keys());
  const length = counts.size === 0 ? 0 : Math.max(...counts.keys()) - offset + 1;
  return {
    attributes: [],
    startNs: 0,
    timeNs: 0,
    noValue: false,
    count: values.length,
    sum: 0,
    min: null,
    max: null,
    scale,
    zeroCount: 0,
    zeroThreshold: 0,
    positive: { offset, counts: Array.from({ length }, (_, i) => counts.get(offset + i) ?? 0) },
    negative: { offset: 0, counts: [] },
    exemplars: [],
  };
}

const bounds = [0, 0.005, 0.01, 0.1, 1, 2.5, 10];

test('each count is at most the true one, and lacks only values of the bucket that straddles the bound', () => {
  const values = fc.array(fc.double({ min: 0.001, max: 20, noNaN: true }), { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(values, fc.integer({ min: 0, max: 5 }), (list, scale) => {
      const converted = countsAtBounds(pointOf(list, scale), bounds);
      const width = 2 ** (2 ** -scale) * (1 + 1e-9);
      bounds.forEach((bound, i) => {
        expect(converted[i]).toBeLessThanOrEqual(list.filter((v) => v <= bound * (1 + 1e-9)).length);
        expect(converted[i]).toBeGreaterThanOrEqual(list.filter((v) => v * width <= bound).length);
      });
      expect(converted).toEqual(converted.toSorted((a, b) => a - b));
    }),
  );
});

test('zeros count at every bound from the threshold up, negative values also below it', () => {
  const point = {
    ...pointOf([1], 0),
    zeroCount: 3,
    zeroThreshold: 0,
    negative: { offset: 0, counts: [2] },
  };
  expect(countsAtBounds(point, [-1, 0, 1])).toEqual([2, 5, 6]);
});

test('a power of two is counted at the bound of the same value', () => {
  expect(countsAtBounds(pointOf([1, 2, 4], 0), [1, 2, 4])).toEqual([1, 2, 3]);
  expect(countsAtBounds(pointOf([32, 64, 8192], 0), [32, 64, 8192])).toEqual([1, 2, 3]);
});

test.each([
  [0, '0'],
  [0.005, '0.005'],
  [1, '1'],
  [1e-7, '0.0000001'],
  [1.5e-9, '0.0000000015'],
  [-2.5e-8, '-0.000000025'],
  [1e21, '1000000000000000000000'],
  [1.25e23, '125000000000000000000000'],
  [Infinity, '+Inf'],
])('the bound %p is written %p', (value, text) => {
  expect(boundText(value)).toBe(text);
});

test.each([
  ['obi.network.flow.bytes', 'ebpf_network_flow_bytes'],
  ['beyla.network.flow.bytes', 'ebpf_network_flow_bytes'],
  ['obi_network_flow_bytes', 'ebpf_network_flow_bytes'],
  ['http.server.request.duration', 'http_server_request_duration'],
  ['a..b--c', 'a_b_c'],
  ['.a.', 'a'],
  ['9lives', '_9lives'],
  ['schöne:welt', 'sch_ne:welt'],
  ['😀', ''],
])('the metric %p becomes %p', (otlp, name) => {
  expect(metricName(otlp)).toBe(name);
});

test.each([
  ['k8s.pod.name', 'k8s_pod_name'],
  ['a..b', 'a__b'],
  ['9', 'key_9'],
  ['__name__', 'key__name__'],
  ['_x', 'key_x'],
  ['', 'key_'],
])('the attribute %p becomes the label %p', (otlp, name) => {
  expect(labelName(otlp)).toBe(name);
});
