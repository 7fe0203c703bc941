import { encodeFrame, readFrames } from '../../base/wire/frames.ts';
import { OperatorError } from '../../base/errors.ts';
import { exactText } from '../../testing/promql/exact-text.ts';
import { randomExpression } from '../../testing/promql/random-expression.ts';
import { nodeLabel, randomSeries } from '../../testing/promql/random-series.ts';
import { Random } from '../../testing/promql/random.ts';
import { SplitNodes } from '../../testing/promql/split-nodes.ts';
import { Engine, engineVersion, type FragmentResult, type PartialHeader, type SampleCounts } from '../index.ts';
import { PartialDecoder } from './decode.ts';
import { encodePartial } from './encode.ts';
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
  const nothing = { columns: [], groups: [], annotations: [], warnings: [], samplesRead: 0, seriesRead: 0 };
  const answer = (samples: SampleCounts): Promise<FragmentResult> =>
    decode([...encodePartial(headerOf(''), { ...nothing, samples }, stats)], fragment, 2);
  const read = Float64Array.of(0, 7e12);
  await expect(answer({ queryable, read })).rejects.toThrow(reason);
  await expect(answer({ queryable: read, read: queryable })).rejects.toThrow(reason);
  expect(await answer({ queryable: read, read })).toEqual({ ...nothing, samples: { queryable: read, read } });
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
    [{ v: 2, visible: [[{ type: '=', name: '', value: '' }]] }, 'visible[0][0].name'],
  ])('with a wrong field (%j) is refused, and the error names the field', (change, field) => {
    expect(() => decodePartialRequest(body(change))).toThrow(`partial request: ${field}: `);
  });
});
