import { Engine } from '../../promql/index.ts';
import { isSmooth, isWithinReach, withOtherLastDigits } from './input-error.ts';
import { MemorySource } from './memory-source.ts';
import { Random } from './random.ts';

const engine = new Engine({});

/** Our numbers for a query over the samples 142.5 and 143.5, and over the same with other last digits. */
async function numbersOf(query: string): Promise<number[]> {
  const random = new Random(1);
  const found: number[] = [];
  for (let turn = 0; turn < 17; turn++) {
    const source = new MemorySource();
    for (const [i, value] of [142.5, 143.5].entries()) {
      const samples = [{ time: 0, value }];
      const labels = [
        ['__name__', 'x'],
        ['i', `${i}`],
      ] as const;
      source.load(labels, turn === 0 ? samples : withOtherLastDigits(samples, random));
    }
    const { value } = await engine.instant(query, 0, { source });
    found.push(value.type === 'vector' ? value.elements[0]!.value : NaN);
  }
  return found;
}

test.each([
  ['the cosine of a number of a hundred digits', 'cos(10 ^ avg(x))', -0.6191871648079075, true],
  ['a cosine beyond 1', 'cos(10 ^ avg(x))', 4, false],
  ['a power', '10 ^ avg(x)', 1.0000000000000002e143, true],
  ['a power that is wrong in its tenth digit', '10 ^ avg(x)', 1.0000000001e143, false],
  ['the cosine of a small number, in its last digit', 'cos(avg(x))', Math.cos(143) + 1e-16, true],
  ['the cosine of a small number, in its tenth digit', 'cos(avg(x))', Math.cos(143) + 1e-10, false],
  ['a difference of equal numbers', 'avg(x) - 143', 3e-14, true],
  ['no number, where ours are numbers', 'avg(x)', NaN, false],
])('%s: another engine may answer %s with %d: %s', async (_, query, other, expected) => {
  expect(isWithinReach(other, await numbersOf(query))).toBe(expected);
});

test.each([
  ['cos(10 ^ avg without (job) (x{job!="a"} offset 1m))', true],
  ['count_values("value %", stdvar(x))', true],
  ['floor(x)', false],
  ['x % 2', false],
  ['x{a="b"} >= bool 1', false],
  ['topk(2, x)', false],
  ['day_of_week(x)', false],
])('the answer to %s changes with its samples continuously, without jumps: %s', (query, smooth) => {
  expect(isSmooth(query)).toBe(smooth);
});
