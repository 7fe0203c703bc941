import { FrameCutter } from '../../../base/wire/frames.ts';
import { exactText } from '../../../testing/promql/exact-text.ts';
import { nodeLabel, type RandomSeries } from '../../../testing/promql/random-series.ts';
import { Random } from '../../../testing/promql/random.ts';
import { SplitNodes } from '../../../testing/promql/split-nodes.ts';
import { until } from '../../../testing/until.ts';
import {
  emptyHistogram,
  encodePartial,
  Engine,
  engineVersion,
  labelsKey,
  PartialDecoder,
  parse,
  packedSums,
  QueryError,
  sortedLabels,
  type Distribution,
  type FragmentRequest,
  type PackedAnswer,
} from '../../index.ts';

const at = 1_700_000_000_000;
const settings = {
  lookbackDeltaMs: 300_000,
  delayedNameRemoval: false,
  startTimestamps: false,
  typeAndUnitLabels: false,
};
const engine = new Engine();

const sample = (labels: Record<string, string>, value: number): RandomSeries => ({
  labels: sortedLabels(Object.entries(labels)),
  samples: [{ time: at, value }],
});

/** Numbers of very different sizes, whose sums lose digits unless they are exact; some are NaN or infinite. */
function anyNumber(random: Random): number {
  if (random.chance(0.04)) return [NaN, Infinity, -Infinity][random.below(3)]!;
  return (random.below(2_000_001) - 1_000_000) * 10 ** (random.below(40) - 20);
}

/** Nodes with histograms of random values. Many have the same bounds; a few have more than one packed row can hold. */
function world(random: Random): SplitNodes {
  const series: RandomSeries[] = [];
  const common = ['0.1', '1', '+Inf'];
  for (let node = 0; node < 1 + random.below(5); node++) {
    for (const job of ['api', 'db', 'web']) {
      for (let i = 0; i < 1 + random.below(3); i++) {
        const own = { [nodeLabel]: `n${node}`, job, instance: `${i}` };
        const bounds = random.chance(0.7) ? common : random.some(['0.1', '0.5', '1', '"a","b"', '+Inf'], 0.6);
        for (const le of bounds) series.push(sample({ __name__: 'took_bucket', ...own, le }, anyNumber(random)));
        if (random.chance(0.3)) series.push(sample({ __name__: 'took_bucket', ...own }, anyNumber(random)));
        series.push(sample({ __name__: 'asked', ...own, code: '200' }, anyNumber(random)));
      }
    }
    if (random.chance(0.1)) {
      for (let le = 0; le < 300; le++)
        series.push(sample({ __name__: 'took_bucket', [nodeLabel]: `n${node}`, job: 'wide', le: `${le}` }, le));
    }
  }
  return new SplitNodes(nodeLabel, series);
}

/** Like `nodes`, with each node's part of the answer encoded and decoded as between an agent and a query server. */
function overTheWire(nodes: SplitNodes): Distribution {
  return {
    partitionLabel: nodeLabel,
    run: async (fragment, steps, own, signal) => {
      const results = await nodes.run(fragment, steps, own, signal);
      return (results ?? []).map((result) => {
        const decoder = new PartialDecoder({
          ...{ fragment, steps: steps.count, maxSeries: 1e6, onHeader: () => {}, onColumn: () => {} },
        });
        const cutter = new FrameCutter('answer', 1e9, (message) => decoder.add(message));
        const header = { planHash: '', node: '', labelsOwned: [], minT: null, maxT: null, partitionClean: true };
        for (const frame of encodePartial({ ...header, engineVersion }, result, { waitMs: 0, evaluateMs: 0 }))
          cutter.push(frame);
        cutter.end();
        return decoder.finish().result;
      });
    },
  };
}

const ask = (parts: readonly string[], nodes: SplitNodes, distribution?: Distribution): Promise<PackedAnswer | null> =>
  packedSums(
    parts.map((part) => parse(part)),
    'le',
    at,
    { source: nodes.whole, settings, distribution: distribution ?? nodes },
  );

/** Each element as a line, sorted. */
function lines({ sums }: PackedAnswer): string[] {
  return sums
    .flatMap(({ labels, axis, values }) =>
      axis.map((le, i) => {
        const all = le === '' ? labels : sortedLabels([...labels, ['le', le]]);
        return `${labelsKey(all)} ${Object.is(values[i], -0) ? '-0' : values[i]}`;
      }),
    )
    .sort();
}

async function plain(parts: readonly string[], nodes: SplitNodes): Promise<string[]> {
  const { value } = await engine.instant(parts.join(' or '), at, { source: nodes.whole });
  if (value.type !== 'vector') throw new Error(exactText({ value } as never));
  return value.elements
    .map(({ labels, value: sum }) => `${labelsKey(labels)} ${Object.is(sum, -0) ? '-0' : sum}`)
    .sort();
}

test.each([
  ['one sum', ['sum by (le, job) (took_bucket)']],
  ['several sums', ['sum by (le, job) (took_bucket)', 'sum by (job, code) (asked)']],
  ['a sum that stays on its node', [`sum by (le, ${nodeLabel}) (took_bucket)`]],
])(
  '%s of random numbers over random nodes: the packed and the plain answer are the same, bit for bit',
  async (_, parts) => {
    const random = new Random(77);
    let rows = 0;
    for (let i = 0; i < 60; i++) {
      const nodes = world(random);
      const answer = (await ask(parts, nodes, overTheWire(nodes)))!;
      rows += answer.sums.length;
      expect(lines(answer)).toEqual(await plain(parts, nodes));
    }
    expect(rows).toBeGreaterThan(100);
  },
);

test('the buckets of a histogram are one row', async () => {
  const bounds = ['0.1', '1', '10', '+Inf'];
  const nodes = new SplitNodes(
    nodeLabel,
    ['n1', 'n2'].flatMap((node) => bounds.map((le) => sample({ __name__: 'b', [nodeLabel]: node, le }, 1))),
  );
  const answer = await ask(['sum by (le) (b)'], nodes);
  expect(answer!.sums).toEqual([{ labels: [], axis: bounds.toSorted(), values: Float64Array.of(2, 2, 2, 2) }]);
  expect(nodes.ran).toMatchObject([{ kind: 'agg', op: 'sum', packed: 'le' }] satisfies Partial<FragmentRequest>[]);
});

test('native histograms, other aggregations and series without nodes are left to an engine', async () => {
  const native = { ...sample({ __name__: 'h', [nodeLabel]: 'n1', le: '1' }, 0) };
  const nodes = new SplitNodes(nodeLabel, [
    { ...native, samples: [{ time: at, value: 0, histogram: emptyHistogram }] },
    sample({ __name__: 'b', [nodeLabel]: 'n1', le: '1' }, 1),
  ]);
  expect(await ask(['sum by (le) (h)'], nodes)).toBeNull();
  expect(await ask(['max by (le) (b)'], nodes)).toBeNull();
  expect(await ask(['sum by (le) (b)'], nodes, { ...overTheWire(nodes), aggregates: false })).toBeNull();
  expect(await ask(['sum by (le) (b)'], nodes, { ...overTheWire(nodes), run: async () => null })).toBeNull();
});

test('more series than the caller may touch are refused with the error of an engine', async () => {
  const nodes = new SplitNodes(nodeLabel, [
    sample({ __name__: 'b', [nodeLabel]: 'n1', le: '1' }, 1),
    sample({ __name__: 'b', [nodeLabel]: 'n1', le: '2' }, 1),
  ]);
  const options = { source: nodes.whole, distribution: nodes, maxSeries: 1 };
  const message = 'the query touches 2 series or more, at most 1 are allowed';
  await expect(packedSums([parse('sum by (le) (b)')], 'le', at, { ...options, settings })).rejects.toThrow(message);
  await expect(engine.instant('sum by (le) (b)', at, options)).rejects.toThrow(message);
});

test('the memory of the nodes’ answers is given back once the sums have their own, and when an engine has to answer', async () => {
  const nodes = new SplitNodes(nodeLabel, [
    sample({ __name__: 'b', [nodeLabel]: 'n1', le: '1' }, 1),
    {
      ...sample({ __name__: 'h', [nodeLabel]: 'n1' }, 0),
      samples: [{ time: at, value: 0, histogram: emptyHistogram }],
    },
  ]);
  const heldAfter = async (query: string, heldBytes: number): Promise<number> => {
    let held = heldBytes;
    const memory = { take: (bytes: number) => ((held += bytes), null), give: (bytes: number) => void (held -= bytes) };
    const run: Distribution['run'] = async (...asked) =>
      (await nodes.run(...asked))!.map((result) => ({ ...result, heldBytes }));
    const distribution = { partitionLabel: nodeLabel, run };
    await packedSums([parse(query)], 'le', at, { source: nodes.whole, settings, memory, distribution });
    return held;
  };
  const own = await heldAfter('sum by (le) (b)', 0);
  expect(own).toBeGreaterThan(0);
  expect(await heldAfter('sum by (le) (b)', 5_000)).toBe(own);
  expect(await heldAfter('sum by (le) (h)', 5_000)).toBe(0);
});

test('when a part fails over the data of a node, the memory of the other parts is given back, also of those that come later', async () => {
  const nodes = new SplitNodes(nodeLabel, [sample({ __name__: 'b', [nodeLabel]: 'n1', le: '1' }, 1)]);
  let held = 0;
  const memory = { take: (bytes: number) => ((held += bytes), null), give: (bytes: number) => void (held -= bytes) };
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let answers = 0;
  const run: Distribution['run'] = async (...asked) => {
    const { expr } = asked[0];
    if (expr.includes('fails')) throw new QueryError('execution', 'fails over the data of a node');
    if (expr.includes('later')) await released;
    memory.take(5_000);
    answers++;
    return (await nodes.run(...asked))!.map((result) => ({ ...result, heldBytes: 5_000 }));
  };
  const parts = ['sum by (le) (b)', 'sum by (le) (fails)', 'sum by (le) (later)'].map((part) => parse(part));
  const distribution = { partitionLabel: nodeLabel, run };
  expect(await packedSums(parts, 'le', at, { source: nodes.whole, settings, memory, distribution })).toBeNull();
  release();
  await until('the last part is answered', () => answers === 2);
  await until('nothing is held', () => held === 0);
});
