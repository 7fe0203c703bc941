import { exactText } from '../../../testing/promql/exact-text.ts';
import { MemorySource } from '../../../testing/promql/memory-source.ts';
import { Random } from '../../../testing/promql/random.ts';
import { Engine, sortedLabels } from '../../index.ts';

const minute = 60_000;

/** Series with few distinct labels, so that operands share many label sets, and with samples at some minutes only. */
function world(random: Random): MemorySource {
  const source = new MemorySource();
  for (const name of ['a', 'b', 'c', 'd']) {
    for (const job of ['x', 'y', '']) {
      for (const i of ['1', '2', '3']) {
        if (random.chance(0.3)) continue;
        const labels = sortedLabels(Object.entries({ __name__: name, job, i, Zone: random.chance(0.5) ? 'z' : '' }));
        const samples = Array.from({ length: 8 }, (_, k) => ({ time: k * minute, value: random.below(5) }));
        source.load(
          labels,
          samples.filter(() => random.chance(0.6)),
        );
      }
    }
  }
  return source;
}

const operands = [
  'a',
  'b',
  'c > 1',
  'rate(d[3m])',
  '-a',
  'sum by (job) (b)',
  'label_replace(c, "i", "1", "", "")',
  'sort(d)',
  'topk(2, a)',
  'vector(1)',
];
const matchings = ['or', 'or on (job)', 'or ignoring (i)', 'or on ()'];

async function told(engine: Engine, source: MemorySource, query: string): Promise<string[]> {
  const texts: string[] = [];
  for (const run of [
    () => engine.instant(query, 5 * minute, { source }),
    () => engine.range(query, 0, 8 * minute, minute / 2, { source }),
  ]) {
    const text = await run().then(exactText, (error: Error) => `error: ${error.message}`);
    // The parentheses of nested unions shift the positions that annotations name.
    texts.push(text.replaceAll(/ \(\d+:\d+\)$/gm, ''));
  }
  return texts;
}

test('a chain of unions has the result of nested unions, in the same order, or the same error', async () => {
  const random = new Random(2027);
  // A lookback of half a minute, so that samples are missing at some steps.
  const engines = [false, true].map(
    (delayedNameRemoval) => new Engine({ delayedNameRemoval, lookbackDeltaMs: minute / 2 }),
  );
  let errors = 0;
  for (let round = 0; round < 150; round++) {
    const source = world(random);
    const own = Array.from({ length: 2 + random.below(5) }, () => random.pick(operands));
    const or = random.chance(0.6) ? () => 'or' : () => random.pick(matchings);
    let [chain, nested] = [own[0]!, own[0]!];
    for (const operand of own.slice(1)) {
      const operator = or();
      chain = `${chain} ${operator} ${operand}`;
      nested = `(${nested}) ${operator} ${operand}`;
    }
    for (const engine of engines) {
      const answers = await told(engine, source, chain);
      expect([chain, ...answers]).toEqual([chain, ...(await told(engine, source, nested))]);
      errors += answers.filter((text) => text.startsWith('error')).length;
    }
  }
  expect(errors).toBeGreaterThan(0);
  expect(errors).toBeLessThan(150);
});

test('the work of a chain of unions grows with its operands, not with their square', async () => {
  const most = 48;
  const source = new MemorySource();
  for (let name = 0; name < most; name++) {
    for (let i = 0; i < 100; i++) {
      const labels = { __name__: `m${name}`, i: `${name}/${i}` };
      source.load(sortedLabels(Object.entries(labels)), [{ time: 0, value: 1 }]);
    }
  }
  const looks = async (length: number): Promise<number> => {
    let seen = 0;
    const turns = { due: () => (seen++, false), next: () => Promise.resolve() };
    const query = Array.from({ length }, (_, name) => `m${name}`).join(' or ');
    const { value } = await new Engine({ turns }).instant(query, 0, { source });
    expect(value).toMatchObject({ type: 'vector', elements: { length: 100 * length } });
    return seen;
  };
  // Four times the operands: about four times the work, not sixteen times.
  expect(await looks(most)).toBeLessThan(7 * (await looks(most / 4)));
});
