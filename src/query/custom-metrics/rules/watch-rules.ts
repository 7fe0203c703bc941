import { readFile } from 'node:fs/promises';
import type { Clock } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import { errorText } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Labels, Matcher } from '../../../promql/index.ts';
import type { AgentDirectory } from '../../agents/directory.ts';
import { readAdapterRules, type AdapterRule, type AdapterRules } from './rule.ts';
import { ruleMetrics, unitedMetrics, type RuleMetric, type RuleMetrics } from './rule-series.ts';

export interface RuleWatchOptions {
  /** The file with the adapter's rules; a missing file means no rules. */
  readonly file: string;
  /** Labels of the matching series of the last few minutes. */
  readonly series: (matchers: readonly Matcher[], signal: AbortSignal) => Promise<FoundSeries>;
  /** No agent is asked before they are listed. */
  readonly directory: Pick<AgentDirectory, 'synced'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface FoundSeries {
  readonly result: Iterable<Labels>;
  readonly missingNodes: readonly string[];
}

export interface WatchedRules {
  readonly metrics: () => RuleMetrics;
  /** Why the metrics are not known yet; undefined once they are, or when there are no rules. */
  readonly notReady: () => string | undefined;
}

const everyMs = 30_000;
/** The first pause after a look that failed or lacks nodes; it doubles up to `everyMs`. Units: ms. */
const retryMs = 1_000;
/**
 * A query that is refused for good, or a node that stays lost, keeps the server from being ready, and new rules from
 * applying, for this long. Units: ms.
 */
const patienceMs = 30_000;
/** The most keys that one line of the log names. */
const maxNamedKeys = 10;

/** The rules as they were read, and what each has made of its series. */
interface RuleSet extends AdapterRules {
  readonly known: Map<AdapterRule, { readonly shown: readonly RuleMetric[]; readonly whole: readonly RuleMetric[] }>;
  /** By the monotonic clock. Units: ms. */
  readonly readAt: number;
}

/**
 * Reads the rules and looks for their series every half minute, and soon again after a look that failed or lacks nodes.
 * Guarantees: when the rules cannot be read, the last good ones stay in force. A rule whose series cannot be read keeps
 * its metrics. An answer that lacks nodes takes no metric away: it is united with the last whole one. Rules that were
 * edited apply when all their series are known, or `patienceMs` after they were read; until then the ones before them
 * do.
 */
export function watchRules(options: RuleWatchOptions): WatchedRules {
  const { logger, clock, signal } = options;
  /** The rules of the file, whose series are looked for. */
  let latest: RuleSet | undefined;
  /** The rules that make the metrics. */
  let shown: RuleSet | undefined;
  let text = '';
  let fault = '';
  let hasLooked = false;
  let firstLookAt: number | undefined;
  const readRules = async (): Promise<void> => {
    const now = await readFile(options.file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    if (now === text && latest) return;
    const { rules, externalRules, unread } = readAdapterRules(now);
    text = now;
    // A rule that the edit left as it was keeps what is known.
    const before = new Map([...(shown?.known ?? []), ...(latest?.known ?? [])].map(([rule, is]) => [rule.text, is]));
    const known: RuleSet['known'] = new Map();
    for (const rule of [...rules, ...externalRules]) {
      const is = before.get(rule.text);
      if (is) known.set(rule, is);
    }
    latest = { rules, externalRules, known, readAt: clock.monotonic() };
    logger.info('rules read', { file: options.file, rules: rules.length });
    if (unread.length > 0) {
      const keys = unread.slice(0, maxNamedKeys).join(', ');
      logger.warn('some keys of the rules take no effect', { file: options.file, count: unread.length, keys });
    }
  };
  const readAgain = async (): Promise<RuleSet> => {
    const error = await readRules().then(
      () => '',
      (cause: unknown) => errorText(cause),
    );
    if (error !== '' && error !== fault) {
      logger.warn('rules not read, the last good ones stay', { file: options.file, error });
    }
    fault = error;
    latest ??= { rules: [], externalRules: [], known: new Map(), readAt: clock.monotonic() };
    shown ??= latest;
    return latest;
  };
  /** Whether the answer lacks no node. */
  const lookFor = async (rule: AdapterRule, { known }: RuleSet): Promise<boolean> => {
    const { result, missingNodes } = await options.series(rule.matchers, signal);
    const found = ruleMetrics(rule, result);
    const isWhole = missingNodes.length === 0;
    const whole = isWhole ? found : (known.get(rule)?.whole ?? []);
    known.set(rule, { whole, shown: isWhole ? found : unitedMetrics(whole, found) });
    return isWhole;
  };
  /** Looks for the series of all rules. Returns whether every answer is whole. */
  const look = async (): Promise<boolean> => {
    const set = await readAgain();
    const list = [...set.rules, ...set.externalRules];
    if (list.length === 0) {
      shown = set;
      return (hasLooked = true);
    }
    if (!options.directory.synced) return false;
    firstLookAt ??= clock.monotonic();
    const looks = await Promise.allSettled(list.map((rule) => lookFor(rule, set)));
    const failed = looks.find((one) => one.status === 'rejected');
    if (failed && !signal.aborted) {
      logger.warn('the series that the rules select could not be read', { error: errorText(failed.reason) });
    }
    const isWhole = looks.every((one) => one.status === 'fulfilled' && one.value);
    hasLooked ||= isWhole;
    if (isWhole || clock.monotonic() - set.readAt > patienceMs) shown = set;
    return isWhole;
  };
  const run = async (): Promise<void> => {
    let pauseMs = retryMs;
    while (!signal.aborted) {
      const isWhole = await look();
      await sleep(clock, isWhole ? everyMs : pauseMs, signal).catch(() => {});
      const isFirst = isWhole || firstLookAt === undefined;
      pauseMs = isFirst ? retryMs : Math.min(everyMs, 2 * pauseMs);
    }
  };
  void run();
  const metricsOf = (list: 'rules' | 'externalRules'): readonly RuleMetric[] =>
    shown?.[list].flatMap((rule) => shown?.known.get(rule)?.shown ?? []) ?? [];
  return {
    metrics: () => ({ custom: metricsOf('rules'), external: metricsOf('externalRules') }),
    notReady: () => {
      const isLate = firstLookAt !== undefined && clock.monotonic() - firstLookAt > patienceMs;
      return hasLooked || isLate ? undefined : 'the series of the rules are not known';
    },
  };
}
