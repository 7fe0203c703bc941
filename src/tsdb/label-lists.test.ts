import { jest } from '@jest/globals';
import fc from 'fast-check';
import { silentLogger } from '../base/logger.ts';
import { Pace, turns } from '../base/turns/turns.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { MemoryFiles } from '../testing/tsdb/memory-files.ts';
import { decodePoints } from './chunk/index.ts';
import { compareLabels, compareUtf8, labelsFromObject, labelsKey, openStore } from './index.ts';
import type { Labels, Matcher, MatcherSets, Store } from './index.ts';

const start = Date.UTC(2026, 0, 1);
const hour = 3_600_000;
const text = fc.constantFrom('a', 'b', 'c', 'é', '\u{1f600}');
const name = fc.constantFrom('x', 'y', 'z');
const matcher: fc.Arbitrary<Matcher> = fc.record({
  type: fc.constantFrom('=', '!=', '=~', '!~'),
  name,
  value: fc.oneof(text, fc.constantFrom('', '.+', 'a|b', 'b|a|b', '[bc]')),
});
/** Minutes after the start. */
const minute = fc.oneof(fc.nat(600), fc.constantFrom(-1e9, 1e9));
const question = fc.record({
  sets: fc.array(fc.array(matcher, { maxLength: 2 }), { maxLength: 3 }),
  from: minute,
  to: minute,
  label: name,
  limit: fc.constantFrom(0, 1, 2, 5, Infinity),
});
/** Runs of samples of one series. The samples of a run are a minute apart. */
const stretches = fc.array(fc.record({ at: fc.nat(580), count: fc.integer({ min: 1, max: 130 }) }), {
  minLength: 1,
  maxLength: 3,
});
const world = fc.record({
  series: fc.array(fc.record({ labels: fc.dictionary(name, text, { maxKeys: 3 }), stretches }), { maxLength: 8 }),
  deleted: fc.option(fc.record({ matchers: fc.array(matcher, { maxLength: 1 }), from: fc.nat(600), for: fc.nat(200) })),
  questions: fc.array(question, { minLength: 1, maxLength: 8 }),
});

/** The series that a list must contain, found by reading the samples. */
function withSamples(store: Store, sets: MatcherSets, mint: number, maxt: number): Labels[] {
  const found = new Map<string, Labels>();
  for (const matchers of sets.length > 0 ? sets : [[]]) {
    for (const series of store.select(matchers, mint, maxt)) {
      const { labels } = series;
      const points = series.chunks().flatMap(decodePoints);
      if (points.some(({ t }) => t >= mint && t <= maxt)) found.set(labelsKey(labels), labels);
    }
  }
  return [...found.values()].sort(compareLabels);
}

test('lists of names, values and series match the samples, in head and blocks, around gaps and deletions', async () => {
  const reached = { blocks: 0, heads: 0, deleted: 0, found: 0 };
  await fc.assert(
    fc.asyncProperty(world, async ({ series, deleted, questions }) => {
      const clock = new FakeClock(start);
      const options = { dir: '/s', files: new MemoryFiles(), clock, logger: silentLogger, outOfOrderMs: 24 * hour };
      const store = await openStore(options);
      try {
        const at = (minutes: number): number => start + minutes * 60_000;
        const samples = series.flatMap(({ labels, stretches }) =>
          stretches.flatMap(({ at: from, count }) =>
            Array.from({ length: count }, (_, i) => ({ labels: labelsFromObject(labels), minute: from + i })),
          ),
        );
        samples.sort((a, b) => a.minute - b.minute);
        for (const [i, { labels, minute: when }] of samples.entries()) {
          clock.jumpWall(at(when) - clock.now());
          store.append(labels, at(when), i);
        }
        await store.maintain();
        if (store.stats().blocks > 0) reached.blocks++;
        if (store.stats().series > 0) reached.heads++;
        if (deleted && samples.length > 0) reached.deleted++;
        if (deleted) await store.delete(deleted.matchers, at(deleted.from), at(deleted.from + deleted.for));
        for (const { sets, from, to, label, limit } of questions) {
          const [mint, maxt] = [at(from), at(to)];
          const all = withSamples(store, sets, mint, maxt);
          if (all.length > 0) reached.found++;
          const texts = (list: string[]): string[] => [...new Set(list)].sort(compareUtf8).slice(0, limit);
          expect(await store.series(sets, mint, maxt, { limit })).toEqual(all.slice(0, limit));
          expect(await store.labelNames(sets, mint, maxt, { limit })).toEqual(
            texts(all.flatMap((labels) => labels.map(([own]) => own))),
          );
          expect(await store.labelValues(label, sets, mint, maxt, { limit })).toEqual(
            texts(all.flatMap((labels) => labels.flatMap(([own, value]) => (own === label ? [value] : [])))),
          );
        }
      } finally {
        await store.close();
      }
    }),
    { numRuns: 150 },
  );
  expect(Object.entries(reached).filter(([, times]) => times < 20)).toEqual([]);
});

test('a selector is not refused for label values of blocks outside of its time range', async () => {
  const clock = new FakeClock(start);
  const store = await openStore({ dir: '/s', files: new MemoryFiles(), clock, logger: silentLogger });
  const append = (path: string): unknown => store.append(labelsFromObject({ path }), clock.now(), 1);
  append('b'.repeat(200));
  clock.jumpWall(6 * hour);
  await store.maintain();
  append('b');
  expect(store.stats()).toMatchObject({ blocks: 1, series: 1 });
  const pattern: Matcher = { type: '=~', name: 'path', value: '(b|c)*b(b|c){600}|b' };
  const pace = new Pace();
  const [late, early] = [[clock.now() - hour, clock.now()] as const, [start, start + hour] as const];
  await store.prepare([pattern], ...late, pace);
  expect(await store.series([[pattern]], ...late)).toEqual([[['path', 'b']]]);
  const refused = { code: 'ERR_SELECTION_LIMIT' };
  await expect(store.prepare([pattern], ...early, pace)).rejects.toMatchObject(refused);
  await expect(store.series([[pattern]], ...early)).rejects.toMatchObject(refused);
  await store.close();
});

test('a list takes turns between selectors and blocks, also where none finds a series', async () => {
  const clock = new FakeClock(start);
  const store = await openStore({ dir: '/s', files: new MemoryFiles(), clock, logger: silentLogger });
  store.append(labelsFromObject({ x: 'a' }), start, 1);
  clock.jumpWall(6 * hour);
  await store.maintain();
  const sets = Array.from({ length: 20 }, (_, i): Matcher[] => [{ type: '=', name: 'x', value: `${i}` }]);
  const turn = jest.spyOn(turns, 'next');
  expect(await store.labelNames(sets, -Infinity, Infinity)).toEqual([]);
  // One for each selector in the head, and one for each in the block.
  expect(turn.mock.calls.length).toBeGreaterThanOrEqual(2 * sets.length);
  turn.mockRestore();
  await store.close();
});

test('a list whose request was aborted ends when it next yields to other work', async () => {
  const store = await openStore({
    dir: '/s',
    files: new MemoryFiles(),
    clock: new FakeClock(start),
    logger: silentLogger,
  });
  for (let i = 0; i < 5_000; i++) store.append(labelsFromObject({ x: String(i) }), start, 1);
  const gone = new AbortController();
  const list = store.series([], start, start, { signal: gone.signal });
  gone.abort(new Error('the client disconnected'));
  await expect(list).rejects.toThrow('the client disconnected');
  await store.close();
});
