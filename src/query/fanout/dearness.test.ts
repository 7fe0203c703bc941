import { fragmentDemands } from '../../promql/index.ts';
import type { Steps } from '../../promql/index.ts';
import { dearness } from './dearness.ts';

const settings = {
  lookbackDeltaMs: 300_000,
  delayedNameRemoval: false,
  startTimestamps: false,
  typeAndUnitLabels: false,
};
const hour = 3_600_000;

function over(rangeMs: number, stepSeconds: number): Steps {
  const step = stepSeconds * 1000;
  return { start: 1_795_240_800_000, step, count: Math.floor(rangeMs / step) + 1 };
}

test.each<[expr: string, steps: Steps, isDear: boolean]>([
  ['up', { start: 1_795_240_800_000, step: 1, count: 1 }, false],
  ['up', over(6 * hour, 60), false],
  ['up', over(6 * hour, 30), true],
  ['up', over(6 * hour, 15), true],
  ['up', over(hour / 2, 60), false],
  ['rate(up[5m])', over(6 * hour, 60), false],
  ['rate(up[5m])', over(hour / 6, 10), true],
  ['avg_over_time(up[1d])', over(6 * hour, 15), false],
  ['up + up offset 1d', over(6 * hour, 30), false],
])('whether it is cheaper to read %s over %j raw: %p', (expr, steps, isDear) => {
  const fragment = { kind: 'series', expr, op: null, grouping: [], without: false, param: null } as const;
  const reason = dearness(fragmentDemands(fragment, steps, settings), steps);
  if (isDear) expect(reason).toMatch(/^read raw: about \d+ bytes a series against \d+ for its steps$/);
  else expect(reason).toBeNull();
});
