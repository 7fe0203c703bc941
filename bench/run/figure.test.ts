import { figureLine } from './figure.ts';

const setting = { cores: 'one', caches: 'warm' };

test('a figure has the medians of both sides, and the median of the ratios of its pairs of runs', () => {
  const line = figureLine(setting, { name: 'a', unit: 's', ours: [1, 4, 9], peer: [2, 2, 3] });
  expect(line).toEqual({
    ...{ name: 'a', unit: 's', ours: 4, peer: 2, ratio: 2, goal: null, asks: null, met: null },
    ...setting,
    runs: { count: 3, min: 1, median: 4, max: 9 },
    peerRuns: { count: 3, min: 2, median: 2, max: 3 },
    ratioRuns: { count: 3, min: 0.5, median: 2, max: 3 },
  });
});

test.each([
  ['a ratio within its bound', { of: 'ratio', atMost: 2 }, true, 'ratio ≤ 2'],
  ['a ratio above its bound', { of: 'ratio', atMost: 1 }, false, 'ratio ≤ 1'],
  ['a ratio that is large enough', { of: 'ratio', atLeast: 2 }, true, 'ratio ≥ 2'],
  ['our value against its bound', { of: 'ours', atLeast: 5 }, false, 'ours ≥ 5'],
] as const)('a figure says whether it meets its goal: %s', (_what, goal, met, asks) => {
  const line = figureLine(setting, { name: 'a', unit: 's', ours: [4], peer: [2], goal });
  expect(line).toMatchObject({ met, asks, goal: goal.of === 'ours' ? 5 : Number(asks.slice(-1)) });
});

test('a goal for the ratio is not judged where there is no peer', () => {
  const line = figureLine(setting, { name: 'a', unit: 's', ours: [4], goal: { of: 'ratio', atMost: 2 } });
  expect(line).toMatchObject({ peer: null, ratio: null, peerRuns: null, ratioRuns: null, goal: 2, met: null });
});

test('two zeros have the ratio 1; any other value has no ratio to a peer of zero', () => {
  expect(figureLine(setting, { name: 'a', unit: '1', ours: [0], peer: [0] }).ratio).toBe(1);
  expect(figureLine(setting, { name: 'a', unit: '1', ours: [1], peer: [0] }).ratio).toBeNull();
});

test('different numbers of runs on both sides, and a figure without runs, are errors', () => {
  const uneven = { name: 'a/b', unit: 's', ours: [1, 2], peer: [1] };
  expect(() => figureLine(setting, uneven)).toThrow('a/b: 2 runs of ours, 1 of the peer');
  expect(() => figureLine(setting, { name: 'a/b', unit: 's', ours: [] })).toThrow('a/b: a figure needs');
});
