import type { MinterCheck } from '../api/v1alpha1/minter-readiness.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { MinterMetrics } from './metrics.ts';
import type { Readiness } from './readiness.ts';
import { activeScopes, allFiles, type RuleSet } from './rules/rule-set.ts';

/** Logs every change of a readiness check, and exports the gates of readiness (rules, key, app) as a metric. */
export function watchReadiness(
  metrics: MinterMetrics,
  logger: Logger,
): (readiness: Readiness, check: MinterCheck | null) => void {
  return (readiness, check) => {
    const { rules, key, app } = readiness.gates;
    for (const [name, ok] of Object.entries({ rules, key, app, all: readiness.ready })) {
      metrics.ready.set({ check: name }, ok ? 1 : 0);
    }
    if (check) logger.info('check changed', { ...check, ready: readiness.ready });
  };
}

/** Reports the result of loading the rules: as metrics, and as the check `RulesValid`. */
export function watchRules(
  metrics: MinterMetrics,
  readiness: Readiness,
  clock: Clock,
  rules: RuleSet,
  result: 'success' | 'faulty' | 'failed',
  found: boolean,
): void {
  metrics.rulesReloads.inc({ result });
  if (result === 'success') metrics.rulesLastSuccess.set(clock.now() / 1000);
  metrics.ruleScopes.set(
    { state: 'active' },
    allFiles(rules).reduce((sum, file) => sum + file.scopes.size, 0),
  );
  metrics.ruleScopes.set({ state: 'faulty' }, rules.faults.length);
  readiness.setUsableScopes(activeScopes(rules).length > 0);
  if (!found) {
    readiness.set('RulesValid', 'False', 'ConfigMapNotFound', 'the rule directory is absent or cannot be listed');
    return;
  }
  const fileFault = rules.faults.find((fault) => fault.scope === undefined);
  const fault = fileFault ?? rules.faults[0];
  if (!fault && activeScopes(rules).length === 0) {
    readiness.set('RulesValid', 'False', 'ConfigMapNotFound', 'the rule directory holds no rules');
  } else if (!fault) {
    readiness.set('RulesValid', 'True', 'Valid', `${allFiles(rules).length} rule files in force`);
  } else {
    const where = `${fault.file}${fault.line === undefined ? '' : `:${fault.line}`}`;
    const scope = fault.scope === undefined ? '' : ` scope ${JSON.stringify(fault.scope)}:`;
    const more = rules.faults.length > 1 ? ` (and ${rules.faults.length - 1} more)` : '';
    readiness.set(
      'RulesValid',
      'False',
      fileFault ? 'FileFaulty' : 'ScopeFaulty',
      `${where}:${scope} ${fault.message}${more}`,
    );
  }
}
