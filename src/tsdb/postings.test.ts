import { jest } from '@jest/globals';
import fc from 'fast-check';
import { Pace } from '../base/turns/turns.ts';
import { compileMatcher, compileMatchers, type Matcher, type MatchType } from './index.ts';
import { MemoryPostings, type PostingList, type PostingsIndex, rememberMatches, selectPostings } from './postings.ts';

const matcher = fc.record<Matcher>({
  type: fc.constantFrom('=', '!=', '=~', '!~'),
  name: fc.constantFrom('a', 'b', 'node'),
  value: fc.constantFrom('', 'x', 'y', 'own', 'x|y', 'x|y|x', 'y|y', '(|x|)', 'z|own', '.+', 'o.*', '[xz]?'),
});

/** A series' values of the labels `a`, `b` and `node`; empty for an absent label. Most have `node="own"`. */
const series = fc.record({
  a: fc.constantFrom('', 'x', 'y'),
  b: fc.constantFrom('', 'x', 'z'),
  node: fc.constantFrom('own', 'own', 'own', 'own', 'y', ''),
});

test('the index finds exactly the series that satisfy every matcher', () => {
  fc.assert(
    fc.property(
      fc.array(series, { maxLength: 120 }),
      fc.array(matcher, { maxLength: 6 }),
      fc.boolean(),
      (all, asked, onOneNode) => {
        const index = new MemoryPostings();
        const known = all.map((one, i) => ({ ...one, ...(onOneNode ? { node: 'own' } : {}), ref: 3 * i + 1 }));
        for (const { ref, ...labels } of known) {
          index.begin(ref);
          for (const [name, value] of Object.entries(labels)) if (value !== '') index.add(ref, name, value);
        }
        const matchers = asked.map(compileMatcher);
        const expected = known.filter((one) => matchers.every(({ name, matches }) => matches(one[name as 'a'])));
        expect(Array.from(selectPostings(index, matchers))).toEqual(expected.map(({ ref }) => ref));
        expect([index.size, index.count('node', 'own')]).toEqual([
          known.length,
          known.filter(({ node }) => node === 'own').length,
        ]);
      },
    ),
    { numRuns: 300 },
  );
});

/** 1,000 series on one node, each with a pod of its own and one of two zones. */
const thousand = new MemoryPostings();
for (let ref = 0; ref < 1_000; ref++) {
  thousand.begin(ref);
  thousand.add(ref, '__name__', 'load');
  thousand.add(ref, 'node', 'n1');
  thousand.add(ref, 'pod', `pod-${ref}`);
  thousand.add(ref, 'zone', `z${ref % 2}`);
}

/** How many series a selection finds, the elements of the lists that it is given, and the values that it tests. */
function counted(...asked: readonly [name: string, type: MatchType, value: string][]): {
  found: number;
  elements: number;
  tested: number;
} {
  let elements = 0;
  let tested = 0;
  const seen = <T extends PostingList | undefined>(list: T): T => {
    elements += list?.length ?? 0;
    return list;
  };
  const index: PostingsIndex = {
    size: thousand.size,
    all: () => seen(thousand.all()),
    names: () => thousand.names(),
    values: (name) => thousand.values(name),
    postings: (name, value) => seen(thousand.postings(name, value)),
    count: (name, value) => thousand.count(name, value),
  };
  const matchers = compileMatchers(asked.map(([name, type, value]) => ({ name, type, value }))).map((one) => ({
    ...one,
    matches: (value: string) => {
      tested++;
      return one.matches(value);
    },
  }));
  const { length: found } = selectPostings(index, matchers);
  return { found, elements, tested };
}

const many = (one: (i: number) => [name: string, type: MatchType, value: string]) =>
  Array.from({ length: 1_990 }, (_, i) => one(i));

test.each<[string, [name: string, type: MatchType, value: string][]]>([
  ['equal ones that want a label', many(() => ['pod', '!=', ''])],
  ['different alternatives that all series have', many((i) => ['node', '=~', `n1|${i}`])],
  ['different alternatives that half of the series have', many((i) => ['zone', '=~', `z1|${i}`])],
  ['different alternatives or no label', many((i) => ['zone', '=~', `|z1|${i}`])],
  ['different refusals of what no series has', many((i) => ['pod', '!~', `n1|${i}`])],
  ['equal prefixes', many(() => ['pod', '=~', 'pod-.*'])],
])('1,990 matchers read each list of their label once: %s', (_, asked) => {
  const { found, elements, tested } = counted(['__name__', '=~', '.+'], ...asked);
  expect(found).toBeGreaterThanOrEqual(500);
  // The names, one list of the matchers' label, and all series.
  expect(elements).toBeLessThanOrEqual(3_000);
  expect(tested).toBeLessThan(10_000);
});

test('one value of all series, or of none, needs no list', () => {
  expect(counted(['node', '=', 'n1'], ['zone', '=', 'z1'])).toMatchObject({ found: 500, elements: 500 });
  expect(counted(['node', '!=', 'n2'], ['zone', '=', 'z1'])).toMatchObject({ found: 500, elements: 500 });
  expect(counted(['pod', '=~', '.+'], ['node', '!=', 'n1'])).toMatchObject({ found: 0, elements: 0 });
  expect(counted(['pod', '=~', '.+'], ['node', '!~', 'n1|n2'])).toMatchObject({ found: 0, elements: 0 });
  expect(counted(['node', '=', 'n1'], ['node', '!=', 'n1'])).toMatchObject({ found: 0, elements: 0 });
  expect(counted(['pod', '=~', '.+'], ['node', '=', 'n2'])).toMatchObject({ found: 0, elements: 0 });
});

test('matchers that would be tested on values too often are refused, with the limit and the label', async () => {
  const remember = (count: number, type: MatchType): Promise<void> => {
    const all = Array.from({ length: count }, (_, i) => ({ name: 'pod', type, value: `x${i}.*` }));
    return rememberMatches(compileMatchers(all), [thousand, thousand], new Pace());
  };
  await remember(500, '!~');
  await expect(remember(501, '!~')).rejects.toMatchObject({
    code: 'ERR_SELECTION_LIMIT',
    message: 'selector: too many tests of label values: more than 1000000 (at label pod)',
  });
  // A test that fails is the last one of its value.
  await remember(2_000, '=~');
});

test('label values are not tested where another matcher matches no series', async () => {
  const many = Array.from({ length: 2_000 }, (_, i) => ({ name: 'pod', type: '!~', value: `x${i}.*` }) as const);
  const matchers = compileMatchers([...many, { name: '__name__', type: '=', value: 'other' }]);
  const spend = jest.fn(() => false);
  await rememberMatches(matchers, [thousand], { spend, turn: async () => {} });
  expect([spend.mock.calls.length, selectPostings(thousand, matchers).length]).toEqual([0, 0]);
});

test('every test that a selection makes has been made before, with turns in between', async () => {
  const asked: Matcher[] = [
    { name: 'zone', type: '=~', value: 'z0|z2' },
    { name: 'zone', type: '=~', value: '[yz]\\d' },
    { name: 'pod', type: '=~', value: 'pod-\\d+7' },
    { name: 'pod', type: '!=', value: 'pod-17' },
    { name: 'pod', type: '!~', value: '.+8.+' },
  ];
  let tests: string[] = [];
  const matchers = compileMatchers(asked).map((one) => ({
    ...one,
    matches: (value: string): boolean => {
      tests.push(`${one.name}${one.type}${one.value}: ${value}`);
      return one.matches(value);
    },
  }));
  let work = 0;
  let turns = 0;
  const turn = async (): Promise<void> => void ((work = 0), turns++);
  await rememberMatches(matchers, [thousand], { spend: (more) => (work += more) > 2_000, turn });
  expect(turns).toBeGreaterThan(10);
  const known = new Set(tests);
  tests = [];
  expect(selectPostings(thousand, matchers)).toHaveLength(0);
  expect(tests.length).toBeGreaterThan(1_000);
  expect(tests.filter((test) => !known.has(test))).toEqual([]);
});
