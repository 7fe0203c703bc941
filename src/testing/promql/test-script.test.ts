import { parseSeriesLine } from './series-description.ts';
import { parseStartTimes } from './start-times.ts';
import { parseTestScript } from './test-script.ts';
import { runTestScript } from './run-test-script.ts';
import { parseOpenMetrics } from './open-metrics.ts';

describe('the test language', () => {
  test('sequences repeat, count up and down, and have gaps and markers', () => {
    const { labels, values } = parseSeriesLine('x{a="b c"} 1x2 _x2 5-2x2 stale Inf');
    expect(labels).toEqual([
      ['__name__', 'x'],
      ['a', 'b c'],
    ]);
    expect(values.map((v) => (v.kind === 'float' ? v.value : v.kind))).toEqual([
      1,
      1,
      1,
      'gap',
      'gap',
      5,
      3,
      1,
      'stale',
      Infinity,
    ]);
  });

  test('a sequence of histograms grows by a histogram', () => {
    const { values } = parseSeriesLine(
      'x {{schema:1 count:3 sum:2 buckets:[1 0 2] offset:-1}}+{{schema:1 count:1 buckets:[1]}}x1',
    );
    const last = values[1]!;
    expect(values).toHaveLength(2);
    expect(last.kind === 'histogram' && [last.histogram.count, last.histogram.positive]).toEqual([
      4,
      { indexes: [-1, 0, 1], counts: [1, 1, 2] },
    ]);
  });

  test('start times are offsets from their samples', () => {
    expect(parseStartTimes('_ -30s-1mx1 0')).toEqual([null, -30_000, -90_000, 0]);
  });

  test('the refusal of an unreadable line names its number', () => {
    expect(() => parseTestScript('\nload 1m\n  x 1 what')).toThrow(/^line 2: cannot read series value "what"/);
    expect(() => parseTestScript('something else')).toThrow(/^line 1: unknown command/);
  });

  test('a script runs, and each expectation that does not hold is reported', async () => {
    const outcomes = await runTestScript(`
load 1m
  x{a="1"} 1+1x10
  x{a="2"} _ 5 stale

eval instant at 1m sum(x)
  {} 7

eval instant at 2m x
  x{a="1"} 3

eval range from 0 to 2m step 1m x{a="2"}
  x{a="2"} _ 5 _

eval instant at 1m x{a="1"} + on () x
  expect fail regex:found duplicate series.*

eval instant at 1m rate(x[1m1s])
  expect info
  {a="1"} 0.016666666

eval instant at 1m sum(x)
  {} 8

eval instant at 1m x{a="1"}
  expect fail

eval instant at 1m sum(x)
  expect warn
  {} 7
`);
    expect(outcomes.map(({ line, problem }) => [line, problem])).toEqual([
      [6, null],
      [9, null],
      [12, null],
      [15, null],
      [18, null],
      [22, '{}: expected 8, got 7'],
      [25, 'expected to fail'],
      [28, 'expected warning number 1 is missing in []'],
    ]);
  });

  test('OpenMetrics text becomes series with times in milliseconds', () => {
    const text = '# TYPE x unknown\nx{a="1"} 2 10\nx{a="1"} +Inf 10.5\n# EOF\n';
    expect(parseOpenMetrics(text)).toEqual([
      {
        labels: [
          ['__name__', 'x'],
          ['a', '1'],
        ],
        samples: [
          { time: 10_000, value: 2 },
          { time: 10_500, value: Infinity },
        ],
      },
    ]);
  });
});
