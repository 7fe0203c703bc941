import { MemorySource, type LoadedSample } from '../testing/promql/memory-source.ts';
import { parseMetric } from '../testing/promql/series-description.ts';
import { Engine, QueryError, labelsText } from './index.ts';
import type { QueryResult, SelectRequest, SeriesSource } from './index.ts';

const minute = 60_000;

/** A source with series as `metric → values a minute apart`. */
function sourceOf(series: Record<string, readonly number[]>): MemorySource {
  const source = new MemorySource();
  for (const [metric, values] of Object.entries(series)) {
    source.load(
      parseMetric(metric),
      values.map((value, i): LoadedSample => ({ time: i * minute, value })),
    );
  }
  return source;
}

/** An instant vector as text: `{a="b"} value`. */
function shown({ value }: QueryResult): string[] {
  if (value.type === 'vector') return value.elements.map((e) => `${labelsText(e.labels)} ${e.value}`);
  if (value.type === 'matrix') {
    return value.series.map(
      (s) => `${labelsText(s.labels)} ${Array.from(s.timestamps, (t, i) => `${s.values[i]}@${t / 1000}`).join(' ')}`,
    );
  }
  return [String(value.value)];
}

const two = sourceOf({ 'x_total{a="1"}': [0, 60, 120, 180], 'x_total{a="2"}': [0, 6, 12, 18] });

describe('an instant query', () => {
  test.each([
    ['rate is per second', 'rate(x_total[2m30s])', ['{a="1"} 1', '{a="2"} 0.1']],
    ['sum adds up a group', 'sum(x_total)', ['{} 198']],
    ['a filter keeps the metric name', 'x_total > 100', ['{__name__="x_total", a="1"} 180']],
    ['bool gives 0 and 1', 'x_total > bool 100', ['{a="1"} 1', '{a="2"} 0']],
    ['a scalar expression gives a scalar', '1 + 2 * 3', ['7']],
    ['a string literal gives a string', '"a"', ['a']],
    ['a range selector gives its samples', 'x_total{a="2"}[90s]', ['{__name__="x_total", a="2"} 12@120 18@180']],
    ['a subquery is aligned to its step', 'x_total{a="2"}[2m:1m]', ['{__name__="x_total", a="2"} 12@120 18@180']],
    ['absent has the labels of its selector', 'absent(y{b="c"})', ['{b="c"} 1']],
    [
      'sort orders by value',
      'sort_desc(x_total)',
      ['{__name__="x_total", a="1"} 180', '{__name__="x_total", a="2"} 18'],
    ],
    ['a subexpression may be pinned by @', 'x_total @ 60 - on (a) x_total @ 0', ['{a="1"} 60', '{a="2"} 6']],
  ])('%s', async (_, query, expected) => {
    expect(shown(await new Engine().instant(query, 3 * minute, { source: two }))).toEqual(expected);
  });

  test.each([
    ['the whole and the first group', '$0-$1-${1}', 'ab-a-a'],
    ['a group that does not exist', '<$5>', '<>'],
    ['zeros before a number, which make it a name', '<$01><${00}><${002}>', '<><><b>'],
    ['a number of ten digits, which is a name', '<$999999999><$1000000000>', '<><b>'],
    ['a named group', '${first}', 'b'],
    ['names that every object has', '<$constructor><$__proto__>', '<><>'],
  ])('label_replace() expands %s', async (_, replacement, expected) => {
    const source = sourceOf({ 'x{from="ab"}': [1] });
    const pattern = '(a)(?P<first>(?P<002>(?P<1000000000>b)))';
    const query = `label_replace(x, "to", ${JSON.stringify(replacement)}, "from", "${pattern}")`;
    expect(shown(await new Engine().instant(query, 0, { source }))).toEqual([
      `{__name__="x", from="ab", to="${expected}"} 1`,
    ]);
  });

  test('sort_by_label() compares numbers by value, and what fits no 64-bit integer as text', async () => {
    const sorted = async (...values: string[]): Promise<string[]> => {
      const source = sourceOf(Object.fromEntries(values.map((value) => [`x{v="${value}"}`, [1]])));
      const engine = new Engine({ experimentalFunctions: true });
      const { value } = await engine.instant('sort_by_label(x, "v")', 0, { source });
      if (value.type !== 'vector') throw new Error(value.type);
      return value.elements.map(({ labels }) => labels.find(([name]) => name === 'v')![1]);
    };
    for (const order of [
      ['a2', 'a10', 'a10b', 'b1'],
      // Equal numbers: what follows decides.
      ['1-a', '01-b', '1-c'],
      ['01', '1-a', '01-b'],
      // The largest and the smallest number that do and do not fit.
      ['9', '9223372036854775807'],
      ['9223372036854775808', '9223372036854775809a', '99'],
      ['10000000000000000000', '9'],
      ['00000000000000000000007', '8'],
    ]) {
      expect(await sorted(...order)).toEqual(order);
      expect(await sorted(...order.toReversed())).toEqual(order);
    }
  });

  test('equal values of topk are chosen as Prometheus chooses them', async () => {
    const source = sourceOf({ 'x{n="a"}': [1], 'x{n="b"}': [1], 'x{n="c"}': [2] });
    expect(shown(await new Engine().instant('topk(2, x)', 0, { source }))).toEqual([
      '{__name__="x", n="c"} 2',
      '{__name__="x", n="b"} 1',
    ]);
  });

  test('a sample is seen for five minutes, the last instant excluded', async () => {
    const source = sourceOf({ x: [1] });
    const at = async (time: number): Promise<number> => shown(await new Engine().instant('x', time, { source })).length;
    expect([await at(0), await at(5 * minute - 1), await at(5 * minute)]).toEqual([1, 1, 0]);
  });

  test('a stale marker ends a series immediately, and ranges skip the marker', async () => {
    const source = new MemorySource();
    source.load(parseMetric('x'), [
      { time: 0, value: 1 },
      { time: minute, value: NaN, stale: true },
      { time: 2 * minute, value: NaN },
    ]);
    const run = async (query: string, time: number): Promise<string[]> =>
      shown(await new Engine().instant(query, time, { source }));
    expect(await run('x', minute)).toEqual([]);
    expect(await run('count_over_time(x[5m])', minute)).toEqual(['{} 1']);
    expect(await run('x', 2 * minute)).toEqual(['{__name__="x"} NaN']);
  });
});

describe('a range query', () => {
  test('visits start, start + step, … up to the end, sorted by labels', async () => {
    const { value } = await new Engine().range('x_total', 30_000, 130_000, minute, { source: two });
    expect(shown({ value } as QueryResult)).toEqual([
      '{__name__="x_total", a="1"} 0@30 60@90',
      '{__name__="x_total", a="2"} 0@30 6@90',
    ]);
  });

  test('turns a scalar into one series without labels', async () => {
    expect(shown(await new Engine().range('time()', 0, minute, minute, { source: two }))).toEqual(['{} 0@0 60@60']);
  });

  test('is empty if the end is before the start', async () => {
    expect(shown(await new Engine().range('x_total', minute, 0, minute, { source: two }))).toEqual([]);
  });

  test('requires a scalar or an instant vector', async () => {
    await expect(new Engine().range('x[5m]', 0, 1, 1, { source: two })).rejects.toMatchObject({
      errorType: 'bad_data',
      message: 'invalid expression type "range vector" for range query, must be Scalar or instant Vector',
    });
  });

  test('gives at every step the result of an instant query at that time', async () => {
    const source = sourceOf({
      'c_bucket{le="1"}': [0, 1, 5, 2, 3, 9],
      'c_bucket{le="2"}': [0, 3, 5, 8, 9, 9],
      'c_bucket{le="+Inf"}': [0, 3, 7, 8, 9, 12],
      'g{le="1"}': [5, -1, NaN, 3, 2, 8],
    });
    const engine = new Engine();
    const queries = [
      'histogram_quantile(0.9, rate(c_bucket[3m]))',
      'sum by (le) (increase(c_bucket[2m30s])) / on () group_left scalar(g) + 1 or g',
      'max_over_time(sum(c_bucket)[3m:30s]) unless g > 4',
      'quantile(0.3, {__name__=~"c_bucket|g"})',
      'avg_over_time(g[4m] offset 1m)',
    ].map((query) => query.replace('group_left scalar(g)', 'group_left g'));
    for (const query of queries) {
      const range = await engine.range(query, 0, 6 * minute, 45_000, { source });
      const perStep = new Map<string, string[]>();
      for (let time = 0; time <= 6 * minute; time += 45_000) {
        const { value } = await engine.instant(query, time, { source });
        for (const e of value.type === 'vector' ? value.elements : []) {
          const key = labelsText(e.labels);
          perStep.set(key, [...(perStep.get(key) ?? []), `${e.value}@${time / 1000}`]);
        }
      }
      expect(perStep.size).toBeGreaterThan(0);
      expect(shown(range).sort()).toEqual([...perStep].map(([key, points]) => `${key} ${points.join(' ')}`).sort());
    }
  });
});

describe('failures', () => {
  test.each([
    [
      'two equal series on the one side',
      'x * on (n) y',
      'found duplicate series for the match group {n="1"} on the right hand-side of the operation: [{__name__="y", m="1", n="1"}, {__name__="y", m="2", n="1"}];many-to-many matching not allowed: matching labels must be unique on one side',
    ],
    [
      'two matches for the same element',
      'y * on (n) x',
      'multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)',
    ],
    [
      'results with equal labels',
      'y * on (n) group_left (m) x',
      'multiple matches for labels: grouping labels must ensure unique matches',
    ],
    [
      'equal labels after dropping the name',
      'rate({__name__=~"a|b"}[5m])',
      'vector cannot contain metrics with the same labelset',
    ],
    [
      'equal labels after a replacement',
      'label_replace(y, "m", "", "", "")',
      'vector cannot contain metrics with the same labelset',
    ],
    ['a bad pattern', 'label_replace(x, "a", "", "b", "(")', 'invalid regular expression in label_replace(): ('],
    ['a parameter that is not a number', 'topk(NaN, x)', 'Parameter value is NaN'],
  ])('%s: the query ends with the error type execution', async (_, query, message) => {
    const source = sourceOf({
      'x{n="1"}': [1, 2],
      'y{m="1",n="1"}': [1, 2],
      'y{m="2",n="1"}': [1, 2],
      a: [1, 2],
      b: [1, 2],
    });
    await expect(new Engine().instant(query, minute, { source })).rejects.toMatchObject({
      errorType: 'execution',
      message,
    });
  });

  test('with delayed name removal, series may differ in nothing but their name until the query ends', async () => {
    const source = sourceOf({ 'a{i="1"}': [0, 60], 'b{i="1"}': [0, 120] });
    const query = 'label_replace(last_over_time({__name__=~"a|b"}[5m]) * 2, "from", "$1", "__name__", "(.*)")';
    expect(shown(await new Engine({ delayedNameRemoval: true }).instant(query, minute, { source }))).toEqual([
      '{from="a", i="1"} 120',
      '{from="b", i="1"} 240',
    ]);
    await expect(new Engine().instant(query, minute, { source })).rejects.toMatchObject({ errorType: 'execution' });
  });

  test('a match takes the memory of its results, however many series of the one side take turns', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `load{i="${i}"}`);
    const source = sourceOf(Object.fromEntries(names.map((name) => [name, [2]])));
    const engine = new Engine({ maxSamples: 100_000, fillModifiers: true });
    const asked = async (op: string): Promise<string[]> => {
      const query = `load ${op} count_values("v", vector(time()))`;
      return shown(await engine.range(query, 0, 299_000, 1_000, { source }));
    };
    const every = Array.from({ length: 300 }, (_, i) => `2@${i}`).join(' ');
    expect(await asked('* on () group_left ()')).toEqual(
      Array.from({ length: 20 }, (_, i) => `{i="${i}"} ${every}`).sort(),
    );
    await expect(asked('* on () group_left (v)')).rejects.toMatchObject({ code: 'ERR_QUERY_LIMIT' });
    const filled = `none + on () fill_left (1) count_values("v", vector(time()))`;
    expect(shown(await engine.range(filled, 0, 299_000, 1_000, { source }))).toEqual([`{} ${every}`]);
  });

  test('equally new info series fail info() only at a step at which its argument has a value', async () => {
    const source = new MemorySource();
    const load = (metric: string, from: number, to: number): void =>
      source.load(parseMetric(metric), [
        { time: from * minute, value: 1 },
        { time: to * minute, value: NaN, stale: true },
      ]);
    load('early{job="a",instance="1"}', 0, 1);
    load('late{job="b",instance="1"}', 2, 3);
    for (const v of [1, 2]) load(`target_info{job="a",instance="1",v="${v}"}`, 2, 3);
    const engine = new Engine({ experimentalFunctions: true });
    const run = (argument: string): Promise<QueryResult> =>
      engine.range(`info(${argument})`, 0, 3 * minute, minute, { source });
    expect(shown(await run('early'))).toEqual(['{__name__="early", instance="1", job="a"} 1@0']);
    await expect(run('{__name__=~"early|late"}')).rejects.toThrow('found duplicate series for info metric');
  });

  test('info() tells label values apart that are the same once they are joined', async () => {
    const source = new MemorySource();
    const load = (name: string, instance: string, job: string, more: [string, string][] = []): void =>
      source.load([['__name__', name], ['instance', instance], ['job', job], ...more], [{ time: 0, value: 1 }]);
    load('base', 'a\0b', 'c');
    load('base', 'a', 'b\0c');
    load('target_info', 'a\0b', 'c', [['v', '1']]);
    load('target_info', 'a', 'b\0c', [['v', '2']]);
    const engine = new Engine({ experimentalFunctions: true });
    const { value } = await engine.instant('info(base)', 0, { source });
    const shownValues = value.type === 'vector' && value.elements.map(({ labels }) => Object.fromEntries(labels)['v']);
    expect(shownValues).toEqual(['2', '1']);
  });

  test('more samples than allowed end a query', async () => {
    await expect(
      new Engine({ maxSamples: 3 }).range('x_total', 0, 3 * minute, minute, { source: two }),
    ).rejects.toMatchObject({
      errorType: 'execution',
      code: 'ERR_QUERY_LIMIT',
      message: 'query processing would load too many samples into memory in query execution',
    });
  });

  test('a source that fails ends the query with type internal and its reason', async () => {
    const source: SeriesSource = { select: () => Promise.reject(new Error('disk on fire')) };
    await expect(new Engine().instant('x + y', 0, { source })).rejects.toMatchObject({
      errorType: 'internal',
      message: 'expanding series: disk on fire',
    });
  });

  test('an abort ends a query with type canceled, and a signal that timed out with type timeout', async () => {
    const run = (signal: AbortSignal): Promise<QueryResult> =>
      new Engine().instant('x_total', 0, { source: two, signal });
    await expect(run(AbortSignal.abort())).rejects.toMatchObject({ errorType: 'canceled' });
    await expect(run(AbortSignal.abort(new DOMException('late', 'TimeoutError')))).rejects.toMatchObject({
      errorType: 'timeout',
    });
  });

  test('a long evaluation yields to other work, and stops if it is aborted during a yield', async () => {
    const series = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x{i="${i}"}`, [1, 2, 3]]));
    const stop = new AbortController();
    let turns = 0;
    const engine = new Engine({
      turns: {
        due: () => true,
        next: () => {
          if (++turns === 2) stop.abort();
          return Promise.resolve();
        },
      },
    });
    const query = engine.range('sum(rate(x[5m]))', 0, 10_000_000, 1_000, {
      source: sourceOf(series),
      signal: stop.signal,
    });
    await expect(query).rejects.toBeInstanceOf(QueryError);
    expect(turns).toBe(2);
  });

  test('a query that takes longer than its time limit stops', async () => {
    let now = 0;
    const engine = new Engine({ timeoutMs: 100, monotonic: () => (now += 60) });
    await expect(engine.instant('x_total + x_total', 0, { source: two })).rejects.toMatchObject({
      errorType: 'timeout',
      code: 'ERR_QUERY_TIMEOUT',
    });
  });
});

describe('annotations', () => {
  test.each([
    [
      'rate gives the info that its input may not be a counter',
      'sum(rate(gauge[5m]))',
      [],
      ['PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "gauge" (1:10)'],
    ],
    ['irate gives no such info', 'irate(gauge[5m])', [], []],
    [
      'a quantile above 1 gives a warning',
      'quantile(1.5, gauge)',
      ['PromQL warning: quantile value should be between 0 and 1, got 1.5 (1:10)'],
      [],
    ],
    [
      'a bucket without le gives a warning',
      'histogram_quantile(0.9, gauge)',
      ['PromQL warning: bucket label "le" is missing or has a malformed value of "" (1:25)'],
      [],
    ],
  ])('%s', async (_, query, warnings, infos) => {
    const result = await new Engine().instant(query, minute, { source: sourceOf({ gauge: [1, 5] }) });
    expect([result.warnings, result.infos]).toEqual([warnings, infos]);
  });

  test('sort has no effect in a range query and gives a warning', async () => {
    const { warnings } = await new Engine().range('sort(x_total)', 0, minute, minute, { source: two });
    expect(warnings).toEqual([
      'PromQL warning: sort is ineffective for range queries since results are always ordered by labels (1:1)',
    ]);
  });

  test('warnings of the source are passed on', async () => {
    const source: SeriesSource = { select: () => Promise.resolve({ series: [], warnings: ['node-3 did not answer'] }) };
    expect((await new Engine().instant('x', 0, { source })).warnings).toEqual(['node-3 did not answer']);
  });
});

describe('the requests to the source', () => {
  test('are one for each selector, with exact bounds and hints, all before any evaluation', async () => {
    const asked: SelectRequest[] = [];
    const askedAtReads: number[] = [];
    const source: SeriesSource = {
      select: (request) => {
        asked.push(request);
        // Each series is decoded when its turn to be evaluated comes.
        const read = () => {
          askedAtReads.push(asked.length);
          return { timestamps: Float64Array.of(0), values: Float64Array.of(1) };
        };
        return Promise.resolve({ series: [{ labels: [], read }] });
      },
    };
    const query = 'sum by (a) (x) + rate(y[2m] offset 1m) + max_over_time(z[10m:1m]) + x @ 5';
    await new Engine().range(query, 600_000, 1_200_000, minute, { source });
    expect(asked.map(({ mint, maxt, hints }) => [hints.func, mint, maxt, hints.range, hints.grouping])).toEqual([
      ['sum', 300_001, 1_200_000, 0, ['a']],
      ['rate', 420_001, 1_140_000, 120_000, []],
      ['max_over_time', -239_999, 1_200_000, 0, []],
      ['', -294_999, 5_000, 0, []],
    ]);
    expect(askedAtReads.length).toBeGreaterThan(0);
    expect(new Set(askedAtReads)).toEqual(new Set([4]));
  });
});
