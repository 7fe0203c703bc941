import type { Check, Stage } from './check.ts';
import { access } from './check-access.ts';
import { autoscaling } from './check-autoscaling.ts';
import { chaos } from './chaos/check-chaos.ts';
import { edits } from './check-edits.ts';
import { failures } from './check-failures.ts';
import { pods } from './check-pods.ts';
import { policies } from './check-policies.ts';
import { rollouts } from './check-rollouts.ts';
import { uninstall } from './check-uninstall.ts';
import { upgrade } from './check-upgrade.ts';

/** In this order; the last ones take the product apart. */
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

/** Runs them one after the other; each is reported in a line. Resolves with how many failed. */
export async function runChecks(stage: Stage): Promise<number> {
  const { only } = stage.orders;
  const unknown = only.filter((name) => !(name in groups));
  if (unknown.length > 0) throw new Error(`--only: ${unknown.join(', ')}: choose of ${Object.keys(groups).join(', ')}`);
  let failed = 0;
  for (const [name, checks] of Object.entries(groups)) {
    if (only.length > 0 && !only.includes(name)) continue;
    for (const check of checks) {
      const started = performance.now();
      const took = (): string => `${((performance.now() - started) / 1000).toFixed(1)} s`;
      try {
        const seen = await check.run(stage);
        stage.log(`ok    ${name}: ${check.what}${seen ? `: ${seen}` : ''} (${took()})`);
      } catch (error) {
        failed++;
        stage.log(`FAIL  ${name}: ${check.what}: ${(error as Error).message} (${took()})`);
      }
    }
  }
  return failed;
}
