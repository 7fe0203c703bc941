import { namespaceLabel } from '../../../api/labels.ts';
import { anyOf } from '../../../base/text/texts.ts';
import { planHash } from '../../../promql/index.ts';
import { compareLabels } from '../../../tsdb/index.ts';
import type { Labels, Matcher, MatchType, ReadQuery } from '../../../tsdb/index.ts';
import type { LongTermStore } from '../../long-term/long-term-store.ts';
import type { AgentReader } from './agent-reader.ts';
import type { IndexReader } from './index-reader.ts';
import type { PartialCall, PartialReader } from './partial-reader.ts';

/** The namespace labels of a series: its subject, and the two ends of a flow. */
const namespaceLabels = [namespaceLabel, 'k8s_src_namespace', 'k8s_dst_namespace'] as const;

/**
 * A reader that returns only the series of the given namespaces, and the flows with an end in one of them. Everything
 * that the query server reads passes through such a reader, so no endpoint and no part of a query can bypass the
 * restriction.
 *
 * How: each selector becomes three selectors that have no series in common, each with additional matchers for the
 * namespaces.
 * A series without any of the labels (a node's own state) concerns no namespace and is not shown.
 */
export function restrictReader(reader: AgentReader, namespaces: ReadonlySet<string>): AgentReader {
  const visible = visibleSets(namespaces);
  return (agent, queries, options) => restricted(queries, visible, (all) => reader(agent, all, options));
}

/** As `restrictReader`, for lists of labels and series, which agents answer from their indexes. */
export function restrictIndex(reader: IndexReader, namespaces: ReadonlySet<string>): IndexReader {
  const visible = visibleSets(namespaces);
  return async (agent, question, options) => {
    if (visible.length === 0) return { texts: [], series: [], foreign: false };
    const sets = question.sets.flatMap((matchers) => restrictedSets(matchers, visible));
    return reader(agent, { ...question, sets }, options);
  };
}

/**
 * As `restrictReader`, for partial answers: agents evaluate over the visible series only. An agent that does not know
 * restrictions refuses, and the query is executed in another way. Returns undefined if no namespace is visible: no
 * agent is asked then.
 */
export function restrictPartials(
  reader: PartialReader | undefined,
  namespaces: ReadonlySet<string>,
): PartialReader | undefined {
  if (reader === undefined || namespaces.size === 0) return undefined;
  const visible = visibleSets(namespaces);
  // A call goes to many agents; its hash is computed once.
  const restricted = new WeakMap<PartialCall, PartialCall>();
  return (agent, call, options) => {
    let own = restricted.get(call);
    if (own === undefined) restricted.set(call, (own = { ...call, visible, hash: planHash({ ...call, visible }) }));
    return reader(agent, own, options);
  };
}

/** As `restrictReader`, for the long-term store. */
export function restrictStore(store: LongTermStore, namespaces: ReadonlySet<string>): LongTermStore {
  const visible = visibleSets(namespaces);
  return { read: (queries, options) => restricted(queries, visible, (all) => store.read(all, options)) };
}

/** Whether a series concerns one of the namespaces. */
export function concerns(labels: Readonly<Record<string, string>>, namespaces: ReadonlySet<string>): boolean {
  return namespaceLabels.some((name) => namespaces.has(labels[name] ?? ''));
}

async function restricted<T extends { readonly labels: Labels }>(
  queries: readonly ReadQuery[],
  visible: readonly Matcher[][],
  read: (queries: readonly ReadQuery[]) => Promise<T[][]>,
): Promise<T[][]> {
  if (visible.length === 0) return queries.map(() => []);
  const variants = queries.map((query) =>
    restrictedSets(query.matchers, visible).map((matchers) => ({ ...query, matchers })),
  );
  const answers = await read(variants.flat());
  let next = 0;
  return variants.map((list) => {
    const parts = list.map(() => answers[next++]!).filter((part) => part.length > 0);
    if (parts.length < 2) return parts[0] ?? [];
    return parts.flat().sort((a, b) => compareLabels(a.labels, b.labels));
  });
}

/** Selectors without common series that together select what `matchers` selects among the visible series. */
function restrictedSets(matchers: readonly Matcher[], visible: readonly Matcher[][]): Matcher[][] {
  return visible.map((own) => [...matchers, ...own]);
}

/** Disjoint selectors whose union is all series of the namespaces; none without a namespace. */
function visibleSets(namespaces: ReadonlySet<string>): Matcher[][] {
  if (namespaces.size === 0) return [];
  // A list of a thousand namespaces is long: it is made once, not for each selector and agent.
  const value = anyOf([...namespaces].sort());
  const matcher = (type: MatchType, name: string): Matcher => ({ type, name, value });
  return namespaceLabels.map((name, i) => {
    const others = namespaceLabels.slice(0, i).map((before) => matcher('!~', before));
    return [...others, matcher('=~', name)];
  });
}
