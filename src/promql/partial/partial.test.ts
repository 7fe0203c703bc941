import { encodeFrame, readFrames } from '../../base/wire/frames.ts';
import { OperatorError } from '../../base/errors.ts';
import { WireWriter } from '../../base/wire/protobuf-wire.ts';
import { emptyAnswer } from '../../testing/promql/empty-answer.ts';
import { exactText } from '../../testing/promql/exact-text.ts';
import { randomExpression } from '../../testing/promql/random-expression.ts';
import { nodeLabel, randomSeries } from '../../testing/promql/random-series.ts';
import { Random } from '../../testing/promql/random.ts';
import { SplitNodes } from '../../testing/promql/split-nodes.ts';
import { Engine, engineVersion, type FragmentResult, type PartialHeader, type SampleCounts } from '../index.ts';
import { PartialDecoder } from './decode.ts';
import { encodePartial } from './encode.ts';
import { LabelPool } from './label-pool.ts';
import { decodePartialRequest, encodePartialRequest, planHash, UnsupportedRequest } from './request.ts';

const features = { experimentalFunctions: true, fillModifiers: true, extendedRangeSelectors: true };
const start = 1_700_000_000_000;
const end = start + 30 * 60_000;
const limits = { maxSeries: 1000, maxBytes: 1e9, maxSamples: 1e9, deadlineMs: 1000 };
const stats = { waitMs: 0.5, evaluateMs: 2 };

type Run = Parameters<SplitNodes['run']>;
type Fragment = Run[0];

function headerOf(hash: string): PartialHeader {
  return {
    planHash: hash,
    node: 'n',
    labelsOwned: [nodeLabel],
    minT: start,
    maxT: null,
    partitionClean: true,
    engineVersion,
  };
}

async function decode(frames: readonly Uint8Array[], fragment: Fragment, steps: number): Promise<FragmentResult> {
  const decoder = new PartialDecoder({ fragment, steps, maxSeries: 1000, onHeader: () => {}, onColumn: () => {} });
  for await (const message of readFrames(pieces(frames), 'partial answer')) decoder.add(message);
  return decoder.finish().result;
}

/** Cuts the bytes into pieces that do not line up with the frames. */
async function* pieces(frames: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  const all = Buffer.concat(frames);
  for (let at = 0; at < all.length; at += 777) yield all.subarray(at, at + 777);
}

/** Nodes whose answers go over the wire. */
class WiredNodes extends SplitNodes {
  readonly kept: { fragment: Fragment; steps: number; frames: Uint8Array[] }[] = [];

  override async run(...args: Run): Promise<FragmentResult[] | null> {
    const [fragment, steps, settings] = args;
    const asked = decodePartialRequest(encodePartialRequest({ fragment, steps, settings, ...limits }));
    const results = await super.run(asked.fragment, asked.steps, asked.settings, args[3]);
    const hash = planHash(asked);
    if (results === null) return null;
    const wired = results.map(async (result) => {
      const frames = [...encodePartial(headerOf(hash), result, stats)];
      this.kept.push({ fragment, steps: steps.count, frames });
      return decode(frames, fragment, steps.count);
    });
    return Promise.all(wired);
  }
}

const shape = { start, interval: 30_000, samples: 60, nodes: 3, histograms: true };
const wired = new WiredNodes(nodeLabel, randomSeries(new Random(7), shape));

test.each<[what: string, nodes: WiredNodes, least: number]>([
  ['partial answers', wired, 100],
  ['whole answers', new WiredNodes(nodeLabel, randomSeries(new Random(7), { ...shape, nodes: 1 }), true), 80],
])('random queries give the same answer, bit for bit, when %s go over the wire', async (_, nodes, least) => {
  const random = new Random(99);
  const engines = [new Engine(features), new Engine({ ...features, delayedNameRemoval: true })];
  const told = async (engine: Engine, query: string, distributed: boolean): Promise<string> => {
    const options = { source: nodes.whole, countSamples: true, ...(distributed ? { distribution: nodes } : {}) };
    try {
      const answer = await engine.range(query, start + 10 * 60_000, end, 120_000, options);
      const { queryable, read } = answer.stats.samples!;
      return `${exactText(answer)} ${queryable} ${read}`;
    } catch (error) {
      return `${(error as Error).name} ${(error as Error).message}`;
    }
  };
  const answers = new Set<string>();
  for (let i = 0; i < 120; i++) {
    const query = randomExpression(random, { histograms: true, experimental: true, start, end });
    const engine = engines[i % 2]!;
    const answer = await told(engine, query, false);
    if (!answer.startsWith('QueryError')) answers.add(answer);
    expect({ query, answer: await told(engine, query, true) }).toEqual({ query, answer });
  }
  expect(nodes.kept.length).toBeGreaterThan(least);
  // Errors would be equal either way, so most queries must have answers that differ from each other.
  expect(answers.size).toBeGreaterThan(60);
});

/** The shortest answer that takes at least four frames. */
const shortest = (): (typeof wired.kept)[number] => {
  const size = ({ frames }: (typeof wired.kept)[number]): number => Buffer.concat(frames).length;
  return wired.kept.filter(({ frames }) => frames.length >= 4).toSorted((a, b) => size(a) - size(b))[0]!;
};

test('a stream that is cut anywhere is an error, never a shorter answer', async () => {
  const { fragment, steps, frames } = shortest();
  const all = Buffer.concat(frames);
  expect(all.length).toBeGreaterThan(100);
  for (let length = 0; length < all.length; length++) {
    const cut = [all.subarray(0, length)];
    await expect(decode(cut, fragment, steps)).rejects.toBeInstanceOf(OperatorError);
  }
  // Also between two frames.
  expect(frames.length).toBeGreaterThanOrEqual(4);
  for (let n = 0; n < frames.length; n++) {
    await expect(decode(frames.slice(0, n), fragment, steps)).rejects.toThrow(/no header|no trailer/);
  }
});

test('every flipped bit is found by the checksum', async () => {
  const { fragment, steps, frames } = shortest();
  const { length } = Buffer.concat(frames);
  expect(length).toBeGreaterThan(100);
  for (let bit = 0; bit < length * 8; bit++) {
    const all = Buffer.concat(frames);
    all[bit >> 3]! ^= 1 << (bit & 7);
    await expect(decode([all], fragment, steps)).rejects.toBeInstanceOf(OperatorError);
  }
});

test('a wrong message with a right checksum is refused with an OperatorError, or decoded', async () => {
  const random = new Random(11);
  let refused = 0;
  for (let i = 0; i < 600; i++) {
    const { fragment, steps, frames } = random.pick(wired.kept);
    const messages = await collect(frames);
    const message = random.pick(messages);
    const at = random.below(message.length);
    message[at] = random.below(256);
    try {
      await decode(
        messages.map((message) => encodeFrame(message)),
        fragment,
        steps,
      );
    } catch (error) {
      refused++;
      expect(error).toBeInstanceOf(OperatorError);
    }
  }
  expect(refused).toBeGreaterThan(100);
});

async function collect(frames: readonly Uint8Array[]): Promise<Uint8Array[]> {
  const found: Uint8Array[] = [];
  for await (const message of readFrames(pieces(frames), 'partial answer')) found.push(message.slice());
  return found;
}

test.each([
  ['for three steps instead of two', Float64Array.of(1, 2.5e9, 3), 'column of 24 bytes, expected 16'],
  ['that are negative', Float64Array.of(1, -1), 'count that is none'],
  ['that are not whole', Float64Array.of(1, 1.5), 'count that is none'],
  ['that are not numbers', Float64Array.of(1, NaN), 'count that is none'],
])('counts of samples %s are refused', async (_, queryable, reason) => {
  const fragment = { kind: 'series', expr: 'x', op: null, grouping: [], without: false, param: null } as const;
  const answer = (samples: SampleCounts): Promise<FragmentResult> =>
    decode([...encodePartial(headerOf(''), { ...emptyAnswer, samples }, stats)], fragment, 2);
  const read = Float64Array.of(0, 7e12);
  await expect(answer({ queryable, read })).rejects.toThrow(reason);
  await expect(answer({ queryable: read, read: queryable })).rejects.toThrow(reason);
  expect(await answer({ queryable: read, read })).toEqual({ ...emptyAnswer, samples: { queryable: read, read } });
});

describe('an answer that no agent writes', () => {
  const series = { kind: 'series', expr: 'x', op: null, grouping: [], without: false, param: null } as const;
  const sum = { ...series, kind: 'agg', op: 'sum' } as const;

  /** Why the messages after a header are refused when at most `limit` bytes are held. */
  async function refusal(
    messages: readonly WireWriter[],
    { fragment = series as Fragment, steps = 1_000, limit = Infinity } = {},
  ): Promise<string> {
    let held = 0;
    const hold = (bytes: number): void => {
      held += bytes;
      if (held > limit) throw new Error('out of memory');
    };
    const checks = { onHeader: () => {}, onColumn: () => {}, hold };
    const decoder = new PartialDecoder({ fragment, steps, maxSeries: 1e6, ...checks });
    try {
      decoder.add((await collect([...encodePartial(headerOf(''), emptyAnswer, stats)]))[0]!);
      for (const message of messages) decoder.add(message.finish());
    } catch (error) {
      return (error as Error).message.replace('partial answer: ', '');
    }
    return 'none';
  }

  const message = (field: number, count: number, element: (m: WireWriter, i: number) => void): WireWriter =>
    new WireWriter().message(field, (m) => {
      for (let i = 0; i < count; i++) element(m, i);
    });
  const dictionary = (...texts: string[]): WireWriter => message(2, texts.length, (m, i) => m.string(1, texts[i]!));
  const texts = (count: number): WireWriter => message(2, count, (m, i) => m.string(1, `text-${i}`.padEnd(100)));
  const labels = (m: WireWriter, ...numbers: number[]): WireWriter => m.bytes(1, Uint8Array.from(numbers));
  /** A series that is 0 at every step. */
  const zeros = (m: WireWriter): WireWriter => m.bytes(3, Uint8Array.of(1)).bytes(4, Uint8Array.of(0));
  const none = new Uint8Array(0);

  test.each<[string, WireWriter[], string]>([
    ['an empty text', [dictionary('')], 'empty text in the dictionary'],
    ['a text twice', [dictionary('a', 'b', 'a')], 'text that the dictionary has already'],
    ['a text again', [dictionary('a'), dictionary('a')], 'text that the dictionary has already'],
    ['a long dictionary', [texts(45_000)], 'list that goes on after 4194304 bytes'],
    [
      'more labels than texts',
      [dictionary('a', 'b'), message(3, 1, (m) => m.message(1, (row) => labels(row, 0, 1, 0, 1, 0, 1)))],
      'more labels than texts',
    ],
    ['a long list of series', [message(3, 600_000, (m) => m.uint(2, 1))], 'list that goes on after 1048576 bytes'],
    ['a long list of groups', [message(4, 600_000, (m) => m.uint(2, 1))], 'list that goes on after 1048576 bytes'],
    [
      'more histograms than steps',
      [
        message(3, 1, (m) =>
          m.message(1, (row) => {
            for (let i = 0; i <= 1_000; i++) row.bytes(5, none);
          }),
        ),
      ],
      'series has more histograms than steps',
    ],
    ['a long trailer', [message(5, 3_000_000, (m) => m.bytes(4, none))], 'trailer of more than 4210304 bytes'],
  ])('is refused: %s', async (_, messages, reason) => {
    expect(await refusal(messages)).toBe(reason);
  });

  test('is refused: a long header', () => {
    const onHeader = (): void => {};
    const decoder = new PartialDecoder({ fragment: series, steps: 1, maxSeries: 1, onHeader, onColumn: () => {} });
    const header = message(1, 40_000, (m) => m.bytes(3, none)).finish();
    expect(() => decoder.add(header)).toThrow('partial answer: header of more than 65536 bytes');
  });

  test.each<[string, WireWriter[], Parameters<typeof refusal>[1]]>([
    ['texts', [texts(2_000)], { limit: 50_000 }],
    ['a series', [message(3, 1, (m) => m.message(1, zeros))], { steps: 100_000, limit: 500_000 }],
    [
      'histograms',
      [
        message(3, 1, (m) =>
          m.message(1, (row) => {
            for (let i = 0; i < 1_000; i++) row.bytes(5, none);
          }),
        ),
      ],
      { limit: 200_000 },
    ],
    [
      'buckets of a histogram',
      [
        message(3, 1, (m) =>
          m.message(1, (row) =>
            row.message(5, (histogram) =>
              histogram.message(6, (buckets) => {
                for (let i = 0; i < 100_000; i++) buckets.uint(1, 2);
              }),
            ),
          ),
        ),
      ],
      { limit: 1_500_000 },
    ],
    [
      'a group',
      [message(4, 1, (m) => m.message(1, (row) => [3, 7, 8].forEach((field) => row.bytes(field, Uint8Array.of(0)))))],
      { fragment: sum, steps: 1e12, limit: 1e12 },
    ],
    [
      'series with histograms of a group',
      [
        message(4, 1, (m) =>
          m.message(1, (row) => {
            for (let i = 0; i < 100; i++) row.message(6, zeros);
          }),
        ),
      ],
      { fragment: sum, steps: 100_000, limit: 50_000_000 },
    ],
    [
      'remainders of sums',
      [
        message(4, 1, (m) =>
          m.message(1, (row) => {
            for (let i = 0; i < 1_000; i++) row.message(9, (rest) => rest.bytes(9, none));
          }),
        ),
      ],
      { fragment: sum, limit: 50 },
    ],
    ['annotations', [message(5, 1_000, (m) => m.bytes(3, none))], { limit: 100_000 }],
  ])('takes its memory before it is read: %s', async (_, messages, options) => {
    expect(await refusal(messages, options)).toBe('out of memory');
  });
});

test('a pool takes memory for each text, name and pair once', () => {
  let held = 0;
  const pool = new LabelPool((bytes) => (held += bytes));
  const row = ['name', 'value'].map((text) => pool.number(text));
  const texts = held;
  expect(texts).toBeGreaterThan(9);
  const { labels } = pool.pooled(row, 2, undefined);
  const both = held;
  expect(both).toBeGreaterThan(texts);
  expect([pool.number('name'), pool.labelsOf(row, 2, [], [])]).toEqual([0, labels]);
  expect(held).toBe(both);
});

describe('a request', () => {
  const fragment = { kind: 'agg', expr: 'x', op: 'topk', grouping: [], without: false, param: Infinity } as const;
  const steps = { start, step: 1, count: 3, end: start + 2 };
  const settings = { lookbackDeltaMs: 1, delayedNameRemoval: false, startTimestamps: false, typeAndUnitLabels: false };
  const body = (change: object): string =>
    JSON.stringify({
      ...(JSON.parse(encodePartialRequest({ fragment, steps, settings, ...limits })) as object),
      ...change,
    });

  test('reads back as it was written, infinities included', () => {
    const hash = planHash({ fragment, steps, settings });
    expect(decodePartialRequest(body({}))).toEqual({ fragment, steps, settings, ...limits, planHash: hash });
  });

  test('restricted to visible series has a version that older agents refuse, and its own plan hash', () => {
    const visible = [[{ type: '=~', name: 'ns', value: 'a|b' } as const]];
    const request = { fragment, steps, settings, visible, ...limits };
    const text = encodePartialRequest(request);
    expect((JSON.parse(text) as { v: number }).v).toBe(2);
    expect(decodePartialRequest(text)).toEqual({ ...request, planHash: planHash(request) });
    expect(planHash(request)).not.toBe(planHash({ fragment, steps, settings }));
  });

  test('for packed rows has a version that older agents refuse, with and without a restriction', () => {
    const plain = { ...fragment, op: 'sum', grouping: ['le'], without: false, param: null } as const;
    const own = { ...plain, packed: 'le' };
    for (const visible of [undefined, [[{ type: '=', name: 'ns', value: 'a' } as const]]]) {
      const request = { fragment: own, steps, settings, ...(visible ? { visible } : {}), ...limits };
      const text = encodePartialRequest(request);
      expect((JSON.parse(text) as { v: number }).v).toBe(3);
      expect(decodePartialRequest(text)).toEqual({ ...request, planHash: planHash(request) });
    }
    expect(planHash({ fragment: own, steps, settings })).not.toBe(planHash({ fragment: plain, steps, settings }));
  });

  test('with sample counts has the plan hash of one without, so an agent that does not know counts accepts it', () => {
    const request = { fragment: { ...fragment, countSamples: true }, steps, settings, ...limits };
    expect(decodePartialRequest(encodePartialRequest(request))).toEqual({ ...request, planHash: planHash(request) });
    expect(planHash(request)).toBe(planHash({ fragment, steps, settings }));
    expect(JSON.parse(encodePartialRequest(request))).toEqual({
      ...(JSON.parse(body({})) as object),
      countSamples: true,
    });
  });

  test.each([
    [{ v: 4 }, 'version 4 is none of 1, 2 and 3'],
    [{ engineVersion: 'other' }, `engine other is not ${engineVersion}`],
    [{ op: 'quantile' }, 'op "quantile"'],
    [{ mode: 'other' }, 'mode "other"'],
  ])('of another version or with an unknown part (%j) is not supported', (change, message) => {
    expect(() => decodePartialRequest(body(change))).toThrow(new UnsupportedRequest(message));
  });

  test.each([
    [{ expr: 5 }, 'expr'],
    [{ count: 0 }, 'count'],
    [{ count: 1e9 }, 'count'],
    [{ by: 'a' }, 'by'],
    [{ planHash: '0' }, 'planHash'],
    [{ param: {} }, 'param'],
    [{ lookback: null }, 'lookback'],
    [{ countSamples: 1 }, 'countSamples'],
    [{ v: 2 }, 'visible'],
    [{ visible: [[]] }, 'visible'],
    [{ v: 2, visible: [] }, 'visible'],
    [{ v: 3 }, 'packed'],
    [{ packed: 'a' }, 'packed'],
    [{ v: 3, packed: 'not_grouped_by' }, 'packed'],
    [{ v: 2, visible: [[{ type: '=', name: 5, value: '' }]] }, 'visible[0][0].name'],
  ])('with a wrong field (%j) is refused, and the error names the field', (change, field) => {
    expect(() => decodePartialRequest(body(change))).toThrow(`partial request: ${field}: `);
  });

  test.each(['by', 'without'])('with more labels in `%s` than a query may list is refused', (list) => {
    const labels = Array.from({ length: 2_001 }, (_, i) => `l${i}`);
    const changed = { by: undefined, [list]: labels };
    const message = `partial request: ${list}: has 2001 entries, at most 2000`;
    expect(() => decodePartialRequest(body(changed))).toThrow(message);
    expect(() => decodePartialRequest(body({ ...changed, [list]: labels.slice(1) }))).not.toThrow(message);
  });
});
