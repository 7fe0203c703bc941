/**
 * Compares our PromQL engine with a real Prometheus over random expressions and series:
 *   node scripts/fuzz-promql.ts [--count N] [--seed N] [--only EXPRESSION]
 * Prints each disagreement and ends with `fuzz: A/N agree, K of them answered (seed S)`: K queries got a value, not an
 * error. Exits with 1 if there is a disagreement. A difference that the last digits of the samples can cause (as in the
 * cosine of a number of a hundred digits) is counted apart. The same seed repeats a run; --only evaluates one
 * expression over the series of the seed. The first run builds Prometheus, which takes a few minutes.
 *
 *   node scripts/fuzz-promql.ts --hostile [--count N] [--seed N]
 * sends a query server and its agents queries that are made to block them, and prints each query that does. Exits with
 * 1 if there is such a query. This mode needs an idle machine.
 */
import { parseArgs } from 'node:util';
import { fuzz } from '../e2e/promql/fuzz.ts';
import { fuzzHostile } from '../e2e/promql/fuzz-hostile.ts';

const { values: flags } = parseArgs({
  options: {
    count: { type: 'string' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    hostile: { type: 'boolean', default: false },
  },
});
const [count, seed] = [Number(flags.count ?? (flags.hostile ? '200' : '1000')), Number(flags.seed)];
if (!(count > 0) || !Number.isInteger(seed) || (flags.hostile && flags.only !== undefined)) {
  process.stderr.write('usage: fuzz-promql [--count N] [--seed N] [--only EXPRESSION | --hostile]\n');
  process.exit(2);
}
process.exitCode = flags.hostile ? await hostile() : await compared();

async function compared(): Promise<number> {
  const { agreed, undecided, answered, disagreements } = await fuzz({
    count,
    seed,
    ...(flags.only === undefined ? {} : { only: flags.only }),
    found: ({ query, mode, what }) => console.log(`${query}\n    ${mode}: ${what}`),
  });
  const total = agreed + undecided + disagreements.length;
  const apart = undecided === 0 ? '' : `; the last digits of samples decide ${undecided} more`;
  console.log(`fuzz: ${agreed}/${total} agree, ${answered} of them answered (seed ${seed})${apart}`);
  return disagreements.length === 0 ? 0 : 1;
}

async function hostile(): Promise<number> {
  const { held, byStatus } = await fuzzHostile({
    count,
    seed,
    found: (question, broken) => console.log(`${JSON.stringify(question)}\n    ${broken.join('; ')}`),
  });
  const statuses = Object.entries(byStatus).map(([status, times]) => `${times} × ${status}`);
  console.log(`fuzz: ${held}/${count} held nothing up (seed ${seed}); answers: ${statuses.join(', ')}`);
  return held === count ? 0 : 1;
}
