import type { Check, Stage } from './check.ts';
import { access } from './check-access.ts';
import { autoscaling } from './check-autoscaling.ts';
import { chaos } from './chaos/check-chaos.ts';
import { edits } from './check-edits.ts';
import { failures } from './check-failures.ts';
import { pods } from './check-pods.ts';
import { policies } from './check-policies.ts';
import type { Outcome } from './report.ts';
import { rollouts } from './check-rollouts.ts';
import { uninstall } from './check-uninstall.ts';
import { upgrade } from './check-upgrade.ts';

/** The groups of checks, in the order in which they run: the last ones break and remove the product. */
const groups: Readonly<Record<string, readonly Check[]>> = {
  pods,
  access,
  policies,
  autoscaling,
  edits,
  rollouts,
  failures,
  upgrade,
  chaos,
  uninstall,
};

/** Runs the checks one after the other. Prints a line for each, and returns its outcome. */
export async function runChecks(stage: Stage): Promise<Outcome[]> {
  const { only } = stage.orders;
  const unknown = only.filter((name) => !(name in groups));
  if (unknown.length > 0)
    throw new Error(`--only: ${unknown.join(', ')}: choose from ${Object.keys(groups).join(', ')}`);
  const outcomes: Outcome[] = [];
  for (const [group, checks] of Object.entries(groups)) {
    if (only.length > 0 && !only.includes(group)) continue;
    for (const { what, run } of checks) {
      const startTime = Date.now();
      const seen = await run(stage).then(
        (text) => ({ passed: true, text: text ?? '' }),
        (error: unknown) => ({ passed: false, text: (error as Error).message }),
      );
      const endTime = Date.now();
      const took = `${((endTime - startTime) / 1000).toFixed(1)} s`;
      stage.log(`${seen.passed ? 'ok   ' : 'FAIL '} ${group}: ${what}${seen.text ? `: ${seen.text}` : ''} (${took})`);
      outcomes.push({ group, what, passed: seen.passed, startTime, endTime });
    }
  }
  return outcomes;
}
