/**
 * Compares our PromQL engine with a real Prometheus over random expressions and series:
 *   node scripts/fuzz-promql.ts [--count N] [--seed N] [--only EXPRESSION]
 * Prints each disagreement and ends with `fuzz: A/N agree (seed S)`; exit 1 when any is left. A run is repeated by its
 * seed; --only asks one expression over that seed's series. Prometheus is built the first time (a few minutes).
 */
import { parseArgs } from 'node:util';
import { fuzz } from '../e2e/promql/fuzz.ts';

const { values: flags } = parseArgs({
  options: {
    count: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
});
const [count, seed] = [Number(flags.count), Number(flags.seed)];
if (!(count > 0) || !Number.isInteger(seed)) {
  process.stderr.write('usage: fuzz-promql [--count N] [--seed N] [--only EXPRESSION]\n');
  process.exit(2);
}
const { agreed, answered, disagreements } = await fuzz({
  count,
  seed,
  ...(flags.only === undefined ? {} : { only: flags.only }),
  found: ({ query, mode, what }) => console.log(`${query}\n    ${mode}: ${what}`),
});
const total = agreed + disagreements.length;
console.log(`fuzz: ${agreed}/${total} agree, ${answered} of them answered (seed ${seed})`);
process.exitCode = disagreements.length === 0 ? 0 : 1;
