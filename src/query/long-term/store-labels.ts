import { Pace } from '../../base/turns/turns.ts';
import { compileMatcher, type Matcher, type ReadQuery } from '../../tsdb/index.ts';
import { mergeDuplicates } from '../fanout/merge/duplicates.ts';
import type { ReadSeries } from '../fanout/merge/series-collector.ts';
import type { LongTermStore } from './long-term-store.ts';

/** A label that the store adds to every series and the agents to none: an external label, a tenant, a replica. */
export interface StoreLabel {
  readonly name: string;
  /** Only series with this value belong to this cluster. Undefined: series with any value do. */
  readonly value?: string;
}

/** Parses a text such as `cluster=eu,replica`. */
export function parseStoreLabels(text: string): StoreLabel[] {
  return text === ''
    ? []
    : text.split(',').map((part) => {
        const [, name = '', value] = /^([^=]*)(?:=(.*))?$/.exec(part) ?? [];
        return value === undefined ? { name } : { name, value };
      });
}

/**
 * Removes the labels that only the store adds, so that its series have the agents' labels.
 * Guarantees: series that differ only in these labels are one; a matcher on such a label is evaluated as for an
 * agent's series, which lacks the label.
 */
export function hideStoreLabels(store: LongTermStore, labels: readonly StoreLabel[]): LongTermStore {
  if (labels.length === 0) return store;
  const names = new Set(labels.map(({ name }) => name));
  const selecting = labels.flatMap(({ name, value }): Matcher[] =>
    value === undefined ? [] : [{ type: '=', name, value }],
  );
  const asked = (query: ReadQuery): ReadQuery | undefined => {
    const hidden = query.matchers.filter(({ name }) => names.has(name));
    if (!hidden.every((matcher) => compileMatcher(matcher).matchesEmpty)) return undefined;
    return { ...query, matchers: [...query.matchers.filter(({ name }) => !names.has(name)), ...selecting] };
  };
  const asAgents = (one: ReadSeries): ReadSeries => ({
    ...one,
    labels: one.labels.filter(([name]) => !names.has(name)),
  });
  return {
    async read(queries, options) {
      const all = queries.map(asked);
      const own = all.filter((query) => query !== undefined);
      const answers = own.length === 0 ? [] : await store.read(own, options);
      const pace = new Pace(options.signal);
      let next = 0;
      const results: ReadSeries[][] = [];
      for (const query of all) {
        results.push(query === undefined ? [] : (await mergeDuplicates(answers[next++]!.map(asAgents), pace)).series);
      }
      return results;
    },
  };
}

type Labelled = Pick<ReadSeries, 'labels'>;

/**
 * Names of labels that every series of the store has and no series of the agents has, when both have series. Such
 * series do not match the agents': a series breaks at the time from which agents are read, and the samples near that
 * time count twice. Pure.
 */
export function foreignLabels(old: readonly Labelled[], recent: readonly Labelled[]): string[] {
  const [first, ...others] = old;
  if (first === undefined || recent.length === 0) return [];
  const known = new Set<string>();
  for (const { labels } of recent) for (const [name] of labels) known.add(name);
  let foreign = first.labels.map(([name]) => name).filter((name) => !known.has(name));
  for (const { labels } of others) {
    if (foreign.length === 0) break;
    const own = new Set(labels.map(([name]) => name));
    foreign = foreign.filter((name) => own.has(name));
  }
  return foreign;
}
