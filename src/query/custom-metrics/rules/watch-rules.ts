import { readFile } from 'node:fs/promises';
import type { Clock } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import { errorText } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Labels, Matcher } from '../../../promql/index.ts';
import { readAdapterRules, type AdapterRule, type AdapterRules } from './rule.ts';
import { ruleMetrics } from './rule-series.ts';
import type { RuleMetrics } from './rule-provider.ts';

export interface RuleWatchOptions {
  /** The file with the adapter's rules; a missing file means no rules. */
  readonly file: string;
  /** Labels of the matching series of the last few minutes. */
  readonly series: (matchers: readonly Matcher[], signal: AbortSignal) => Promise<readonly Labels[]>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

const everyMs = 30_000;

/**
 * Reads the rules and looks for their series every half minute. When the rules cannot be read, the last good ones stay
 * in force.
 */
export function watchRules(options: RuleWatchOptions): () => RuleMetrics {
  const { logger, clock, signal } = options;
  let metrics: RuleMetrics = { custom: [], external: [] };
  let rules: AdapterRules = { rules: [], externalRules: [] };
  let text = '';
  let fault = '';
  const readRules = async (): Promise<void> => {
    const now = await readFile(options.file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    if (now === text) return;
    rules = readAdapterRules(now);
    text = now;
    logger.info('rules read', { file: options.file, rules: rules.rules.length });
  };
  const look = async (): Promise<void> => {
    const error = await readRules().then(
      () => '',
      (cause: unknown) => errorText(cause),
    );
    if (error !== '' && error !== fault) {
      logger.warn('rules not read, the last good ones stay', { file: options.file, error });
    }
    fault = error;
    const all = async (list: readonly AdapterRule[]): Promise<RuleMetrics['custom']> =>
      (
        await Promise.all(list.map(async (rule) => ruleMetrics(rule, await options.series(rule.matchers, signal))))
      ).flat();
    metrics = { custom: await all(rules.rules), external: await all(rules.externalRules) };
  };
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await look().catch((error: unknown) =>
        logger.warn('the rules, or the series that they select, could not be read', { error: errorText(error) }),
      );
      await sleep(clock, everyMs, signal).catch(() => {});
    }
  };
  void run();
  return () => metrics;
}
