import fc from 'fast-check';
import { isOperatorError } from '../../base/errors.ts';
import { readFrames } from '../../base/wire/frames.ts';
import { WireWriter } from '../../base/wire/protobuf-wire.ts';
import { compareLabels, compareStrings } from '../labels.ts';
import type { Labels } from '../types.ts';
import type { IndexHeader, IndexLists } from './answer.ts';
import { IndexDecoder } from './decode.ts';
import { encodeIndexAnswer } from './encode.ts';
import type { IndexKind } from './request.ts';
import { PooledSeries, SeriesPool } from './series-pool.ts';

const header = (kind: IndexKind): IndexHeader => ({ kind, node: 'n', partitionClean: true });

async function messagesOf(frames: Iterable<Uint8Array>): Promise<Uint8Array[]> {
  async function* stream(): AsyncGenerator<Uint8Array> {
    yield* frames;
  }
  const messages: Uint8Array[] = [];
  for await (const message of readFrames(stream(), 'answer')) messages.push(message.slice());
  return messages;
}

function decoded(messages: readonly Uint8Array[], kind: IndexKind, limit = 0): IndexLists {
  const onSeries = (): void => {};
  const decoder = new IndexDecoder({ kind, limit, pool: new SeriesPool(), onHeader: () => {}, onSeries });
  for (const message of messages) decoder.add(message);
  return decoder.finish();
}

const text = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' });

test('the names or values in an encoded answer are decoded as they were', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(text, { maxLength: 200 }), async (all) => {
      const texts = all.sort(compareStrings);
      const messages = await messagesOf(encodeIndexAnswer(header('values'), { texts, series: [] }));
      expect(decoded(messages, 'values').texts).toEqual(texts);
    }),
    { numRuns: 50 },
  );
});

test('label sets in an encoded answer of several frames are decoded as they were', async () => {
  const many: Labels[] = Array.from({ length: 30_000 }, (_, i) => [
    ['a', `v${i % 7}`],
    ['b', String(i)],
  ]);
  const series = many.sort(compareLabels);
  const messages = await messagesOf(encodeIndexAnswer(header('series'), { texts: [], series }));
  expect(messages.length).toBeGreaterThan(5);
  const found = [...decoded(messages, 'series').series];
  expect(found).toEqual(series);
  // Series share the pairs that they have in common.
  expect(found[0]![0]).toBe(found[1]![0]);
});

test('an answer without a trailer, with something after it, or of another kind is refused', async () => {
  const messages = await messagesOf(encodeIndexAnswer(header('names'), { texts: ['a', 'b'], series: [] }));
  expect(() => decoded(messages.slice(0, -1), 'names')).toThrow('no trailer');
  expect(() => decoded(messages.slice(1), 'names')).toThrow('the header does not come first');
  expect(() => decoded([...messages, messages[1]!], 'names')).toThrow('something follows the trailer');
  expect(() => decoded([messages[0]!, ...messages], 'names')).toThrow('two headers');
  expect(() => decoded([messages[0]!, messages[2]!], 'names')).toThrow('0 elements, the trailer states 2');
  expect(() => decoded(messages, 'values')).toThrow('"names", asked for values');
  expect(() => decoded(messages, 'names', 1)).toThrow('more than 1 elements');
  expect(() => decoded([], 'names')).toThrow('no header');
});

test.each<[string, IndexKind, IndexLists, string]>([
  ['texts out of order', 'names', { texts: ['b', 'a'], series: [] }, 'texts are not in order'],
  ['the same text twice', 'names', { texts: ['a', 'a'], series: [] }, 'texts are not in order'],
  ['an empty string', 'names', { texts: [''], series: [] }, 'texts are not in order'],
  ['series among texts', 'names', { texts: [], series: [[['a', 'b']]] }, 'series among names'],
  ['texts among series', 'series', { texts: ['a'], series: [] }, 'text among series'],
  ['series out of order', 'series', { texts: [], series: [[['a', '2']], [['a', '1']]] }, 'series are not in order'],
  ['the same series twice', 'series', { texts: [], series: [[['a', '1']], [['a', '1']]] }, 'series are not in order'],
  [
    'names out of order',
    'series',
    {
      texts: [],
      series: [
        [
          ['b', '1'],
          ['a', '1'],
        ],
      ],
    },
    'labels are not in order',
  ],
  ['an empty value', 'series', { texts: [], series: [[['a', '']]] }, 'empty text in the dictionary'],
])('refuses %s', async (_, kind, lists, reason) => {
  const messages = await messagesOf(encodeIndexAnswer(header(kind), lists));
  expect(() => decoded(messages, kind)).toThrow(reason);
});

test('references to strings that are not in the dictionary, and half a label, are refused', async () => {
  const [first] = await messagesOf(encodeIndexAnswer(header('series'), { texts: [], series: [] }));
  const row = (...numbers: number[]): Uint8Array => Uint8Array.from(numbers);
  const message = (refs: Uint8Array): Uint8Array => new WireWriter().message(3, (m) => void m.bytes(1, refs)).finish();
  expect(() => decoded([first!, message(row(0, 1))], 'series')).toThrow('label without a name or a value');
  expect(() => decoded([first!, message(row(0))], 'series')).toThrow('label without a name or a value');
});

test('a text that the dictionary has already, and a list that goes on without end, are refused', async () => {
  const [first] = await messagesOf(encodeIndexAnswer(header('series'), { texts: [], series: [] }));
  const message = (field: number, count: number, element: (m: WireWriter) => void): Uint8Array =>
    new WireWriter()
      .message(field, (m) => {
        for (let i = 0; i < count; i++) element(m);
      })
      .finish();
  const text = message(2, 1, (m) => m.string(1, 'a'));
  expect(() => decoded([first!, text, text], 'series')).toThrow('text that the dictionary has already');
  const endless = message(3, 600_000, (m) => m.uint(2, 1));
  expect(() => decoded([first!, endless], 'series')).toThrow('list that goes on after 1048576 bytes');
});

test('texts, pairs of a name and a value, and sets of these take memory before they are kept', async () => {
  const heldBy = async (kind: IndexKind, lists: IndexLists): Promise<number[]> => {
    const held = { texts: 0, pairs: 0 };
    const decoder = new IndexDecoder({
      kind,
      limit: 0,
      pool: new SeriesPool((bytes) => (held.pairs += bytes)),
      onHeader: () => {},
      onSeries: () => {},
      hold: (bytes) => (held.texts += bytes),
    });
    for (const message of await messagesOf(encodeIndexAnswer(header(kind), lists))) decoder.add(message);
    return [held.texts, held.pairs];
  };
  const [oneText] = await heldBy('names', { texts: ['a'], series: [] });
  expect(oneText).toBeGreaterThan(0);
  expect(await heldBy('names', { texts: ['a', 'b'], series: [] })).toEqual([2 * oneText!, 0]);
  const one: Labels = [['a', '1']];
  const [entries, pairAndSet] = await heldBy('series', { texts: [], series: [one] });
  const [set, label] = [32, 4];
  expect(pairAndSet).toBeGreaterThan(set);
  const two: Labels = [...one, ['b', '1']];
  expect(await heldBy('series', { texts: [], series: [one, two] })).toEqual([
    (entries! / 2) * 3,
    2 * pairAndSet! + label,
  ]);
  const long: Labels = [['a', '1'.repeat(1_001)]];
  expect(await heldBy('series', { texts: [], series: [long] })).toEqual([entries, pairAndSet! + 1_000]);
});

test('arbitrary bytes and answers with changed bytes are either refused or decoded', async () => {
  const outcomes = { refused: 0, understood: 0 };
  const take = (messages: readonly Uint8Array[]): void => {
    try {
      const series = [...decoded(messages, 'series').series];
      expect(series).toEqual(series.toSorted(compareLabels));
      outcomes.understood++;
    } catch (error) {
      if (!isOperatorError(error, 'ERR_INPUT_INVALID')) throw error;
      outcomes.refused++;
    }
  };
  fc.assert(fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 5 }), take));
  const series: Labels[] = ['1', '2', '3'].map((value) => [
    ['a', value],
    ['b', 'x'],
  ]);
  const good = await messagesOf(encodeIndexAnswer(header('series'), { texts: [], series }));
  const change = fc.tuple(fc.nat(good.length - 1), fc.nat(), fc.nat(255));
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      const messages = good.map((message) => Uint8Array.from(message));
      for (const [which, at, value] of changes) messages[which]![at % messages[which]!.length] = value;
      take(messages);
    }),
    { numRuns: 1_000 },
  );
  expect(Math.min(outcomes.refused, outcomes.understood)).toBeGreaterThan(2);
});

describe('a pool of label sets', () => {
  const labelSet = fc
    .uniqueArray(fc.tuple(text, text), { selector: ([name]) => name, maxLength: 5 })
    .map((labels) => labels.sort(([a], [b]) => compareStrings(a, b)) as Labels);

  test('returns the sets that it was given, and orders them as compareLabels does', () => {
    fc.assert(
      fc.property(fc.array(labelSet, { maxLength: 30 }), (sets) => {
        const pool = new SeriesPool();
        const { places } = PooledSeries.of(sets, pool);
        expect([...new PooledSeries(pool, places)]).toEqual(sets);
        for (const [i, a] of places.entries()) {
          for (const [j, b] of places.entries()) {
            expect(Math.sign(pool.compare(a, b))).toBe(Math.sign(compareLabels(sets[i]!, sets[j]!)));
          }
        }
      }),
      { numRuns: 50 },
    );
  });

  test('grows to store a set of any length and any number of sets', () => {
    const pool = new SeriesPool();
    const wide: Labels = Array.from({ length: 300_000 }, (_, i) => [`l${String(i).padStart(6, '0')}`, 'v']);
    const sets: Labels[] = [
      [['a', '1']],
      wide,
      [],
      ...Array.from({ length: 200_000 }, (_, i): Labels => [['b', `${i}`]]),
    ];
    const list = PooledSeries.of(sets, pool);
    expect(list).toHaveLength(sets.length);
    let i = 0;
    for (const labels of list) if (compareLabels(labels, sets[i++]!) !== 0) throw new Error(`another set at ${i - 1}`);
    expect(pool.compare(list.places[1]!, list.places[0]!)).toBeGreaterThan(0);
  });
});
