import { runSoak } from './soak.ts';

/**
 * `npm run soak:runtime -- --minutes=10 --seed=1 --rate=20` prints figures as JSON lines on stdout, and each violation
 * as a sentence on stderr. With any violation it exits with 1.
 */

const flag = (name: string, otherwise: number): number => {
  const at = process.argv.findIndex((a) => a === `--${name}` || a.startsWith(`--${name}=`));
  if (at < 0) return otherwise;
  const value = Number(process.argv[at]!.split('=')[1] ?? process.argv[at + 1]);
  if (!(value > 0)) throw new Error(`--${name} must be a number above 0`);
  return value;
};
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const seed = flag('seed', Date.now() % 1_000_000);
say(`seed ${seed}`);
const { figures, violations } = await runSoak({ minutes: flag('minutes', 10), seed, rate: flag('rate', 20), log: say });
for (const { name, unit, value, goal } of figures) {
  const ours = Math.round(value * 1000) / 1000;
  const met = goal === null ? null : value <= goal;
  process.stdout.write(`${JSON.stringify({ name, unit, ours, peer: null, ratio: null, goal, met })}\n`);
}
for (const violation of violations) say(`violated: ${violation}`);
process.exit(violations.length === 0 ? 0 : 1);
