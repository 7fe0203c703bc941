import { namespaceLabel, nodeLabel } from '../../api/labels.ts';
import { flowMetric, partLabel, requestFamilies, type RequestFamily } from '../../api/page/request-families.ts';
import type { TopologyGrouping } from '../../api/page/types.ts';
import type { Matcher } from '../../promql/index.ts';
import { anyOf } from '../../base/text/texts.ts';
import { selectorText } from '../custom-metrics/providers/selectors.ts';

/** The value of `partLabel` for flows. */
export const flowPart = 'flows';

export const ownerLabel = 'k8s_owner_name';
const kindLabel = 'k8s_kind';
const podLabel = 'k8s_pod_name';

/** Labels that identify the workload, namespace or node that a series of request metrics is about, by grouping. */
export const subjectLabels: Readonly<Record<TopologyGrouping, readonly string[]>> = {
  workload: [namespaceLabel, ownerLabel, kindLabel],
  namespace: [namespaceLabel],
  node: [nodeLabel, namespaceLabel],
};
const peerLabels = ['server_address', 'db_system_name', 'messaging_system'];
const ends = ['src', 'dst'] as const;
export const flowLabels: readonly string[] = [
  ...['direction', 'transport', nodeLabel],
  ...ends.flatMap((end) => ['namespace', 'owner_name', 'owner_type', 'node_name'].map((what) => `k8s_${end}_${what}`)),
  ...ends.flatMap((end) => [`${end}_address`, `${end}_cidr`]),
];

/** A range of whole milliseconds, as PromQL writes it. */
export const rangeText = (ms: number): string => `${Math.round(ms)}ms`;

/**
 * The series that are read for a family of request metrics: those of all requests (`_bucket` or `_count`), and those of
 * failed requests.
 */
function partsOf({ metric, part, failed }: RequestFamily, all: '_bucket' | '_count') {
  return [
    { name: `${metric}${all}`, part, more: [] },
    { name: `${metric}_count`, part: `${part}!`, more: [failed] },
  ];
}

/**
 * The rates of parts, each marked with its name, added up by labels. The query is one aggregation over the union of all
 * parts: every agent can evaluate it by itself, in one request. A pod without an owner is its own workload. Pure.
 */
function summedRates(parts: ReturnType<typeof partsOf>, by: readonly string[], windowMs: number): string {
  const withOwner = by.includes(ownerLabel);
  const texts = parts.flatMap(({ name, part, more }) => {
    const rate = (...own: readonly Matcher[]): string =>
      `rate(${selectorText(name, [...more, ...own])}[${rangeText(windowMs)}])`;
    const marked = (vector: string): string => `label_replace(${vector}, "${partLabel}", "${part}", "", "")`;
    if (!withOwner) return [marked(rate({ type: '!=', name: namespaceLabel, value: '' }))];
    const alone = rate({ type: '=', name: ownerLabel, value: '' }, { type: '!=', name: podLabel, value: '' });
    return [
      marked(rate({ type: '!=', name: ownerLabel, value: '' })),
      marked(`label_replace(${alone}, "${ownerLabel}", "$1", "${podLabel}", "(.*)")`),
    ];
  });
  return `sum by (${by.join(', ')}) (${texts.join(' or ')})`;
}

/** Rates of the servers' requests and failures, without durations, for a graph over time. Pure. */
export function servedRates(windowMs: number): string {
  const families = requestFamilies.filter(({ side }) => side === 'server');
  const parts = families.flatMap((family) => partsOf(family, '_count'));
  return summedRates(parts, [partLabel, ...subjectLabels.workload], windowMs);
}

/**
 * All numbers of a topology as the parts of one query, so that they are of one moment and lack the same nodes. The
 * first part groups its sums by `le`, too. Pure.
 */
export function topologyQuery(by: TopologyGrouping, windowMs: number): readonly [string, string] {
  const parts = requestFamilies.flatMap((family) => partsOf(family, '_bucket'));
  const requests = summedRates(parts, ['le', partLabel, ...subjectLabels[by], ...peerLabels], windowMs);
  const rates = `sum by (${flowLabels.join(', ')}) (rate(${flowMetric}[${rangeText(windowMs)}]))`;
  return [requests, `label_replace(${rates}, "${partLabel}", "${flowPart}", "", "")`];
}

/** What identifies the requests of one edge, for a query about that edge alone. */
export interface EdgeRequests {
  readonly family: RequestFamily;
  /** Labels of the caller, or of the server when only the server is captured. */
  readonly subject: Readonly<Record<string, string>>;
  /** Values of `server_address`. */
  readonly hosts: readonly string[];
  /** Value of the protocol's label, for a family that has one. */
  readonly system: string | undefined;
}

/** A longer list of hosts makes a query too long to read. */
const mostHosts = 20;

/** PromQL of an edge's requests in one family. Undefined when it would be too long. Pure. */
export function edgeQueries(
  { family, subject, hosts, system }: EdgeRequests,
  windowMs: number,
): { readonly requestRate: string; readonly errorShare: string; readonly p99: string } | undefined {
  if (hosts.length > mostHosts) return undefined;
  const owner = subject[ownerLabel];
  const isAlone = owner !== undefined && (subject[kindLabel] ?? '') === '';
  const matchers: Matcher[] = Object.entries(subject).flatMap(([name, value]): Matcher[] => {
    if (isAlone && name === kindLabel) return [];
    if (!isAlone || name !== ownerLabel) return [{ type: '=', name, value }];
    return [
      { type: '=', name: ownerLabel, value: '' },
      { type: '=', name: podLabel, value: owner },
    ];
  });
  if (family.side === 'client') matchers.push(oneOf('server_address', hosts));
  if (typeof family.protocol === 'object')
    matchers.push({ type: '=', name: family.protocol.label, value: system ?? '' });
  const rate = (suffix: string, ...more: readonly Matcher[]): string =>
    `rate(${selectorText(`${family.metric}${suffix}`, [...matchers, ...more])}[${rangeText(windowMs)}])`;
  const all = `sum(${rate('_count')})`;
  return {
    requestRate: all,
    errorShare: `(sum(${rate('_count', family.failed)}) or vector(0)) / ${all}`,
    p99: `histogram_quantile(0.99, sum by (le) (${rate('_bucket')}))`,
  };
}

/**
 * PromQL of the bytes of the flows of `subject`. With `local`, only what the node of that end (source or destination)
 * captured counts. Pure.
 */
export function flowQuery(
  subject: Readonly<Record<string, string>>,
  local: 'src' | 'dst' | undefined,
  windowMs: number,
): string {
  const matchers = Object.entries(subject).map(([name, value]): Matcher => ({ type: '=', name, value }));
  const selector = selectorText(flowMetric, matchers);
  const rate = `rate(${selector}[${rangeText(windowMs)}])`;
  if (local === undefined) return `sum(${rate})`;
  const node = `k8s_${local}_node_name`;
  const own = `label_replace(count by (k8s_node_name) (${selector}), "${node}", "$1", "k8s_node_name", "(.*)")`;
  return `sum(${rate} and on (k8s_node_name, ${node}) ${own})`;
}

function oneOf(name: string, values: readonly string[]): Matcher {
  if (values.length === 1) return { type: '=', name, value: values[0]! };
  return { type: '=~', name, value: anyOf(values.toSorted()) };
}
