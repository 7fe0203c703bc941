import { compareText } from '../../base/text/texts.ts';
import { namespaceLabel, nodeLabel } from '../../api/labels.ts';
import { sortInTurns } from '../../base/turns/sort-in-turns.ts';
import type { Pacing } from '../../base/turns/turns.ts';
import { partLabel, requestFamilies } from '../../api/page/request-families.ts';
import type { ServiceSummary } from '../../api/page/types.ts';
import type { TrafficMonitor } from '../../api/v1alpha1/index.ts';
import { matchPods } from '../../capture/index.ts';
import type { AddressIndex, IndexedPod, Workload } from '../addresses/address-index.ts';
import type { RateRow } from './assemble.ts';
import { Requests, statsOf } from './measures.ts';
import { flowPart } from './queries.ts';

/** One element of the answer to `servedRates` over a range: a value for each step that has data. */
export interface RateSeries {
  readonly labels: Readonly<Record<string, string>>;
  /** Units: times in ms since the epoch, values per second. */
  readonly points: readonly (readonly [timeMs: number, value: number])[];
}

export interface ServicesInput {
  readonly index: AddressIndex;
  /** The answer to `topologyQuery` by workload. */
  readonly rows: readonly RateRow[];
  /** The answer to `servedRates` at `startMs`, `startMs + stepMs`, … */
  readonly series: readonly RateSeries[];
  readonly startMs: number;
  readonly stepMs: number;
  readonly steps: number;
  /**
   * Namespaces whose pods the caller may read; undefined: all. Workloads of other namespaces are shown where their
   * series are visible.
   */
  readonly pods: ReadonlySet<string> | undefined;
  /** The TrafficMonitors of a namespace; undefined: not known, or not for the caller. */
  readonly monitors: (namespace: string) => readonly TrafficMonitor[] | undefined;
  /** Why the agent of a node does not answer; undefined when it does. */
  readonly missing: (node: string) => string | undefined;
}

interface Row extends Workload {
  readonly pods: IndexedPod[];
  readonly requests: Requests;
  isCaptured: boolean;
  readonly rates: Float64Array;
  readonly failed: Float64Array;
  readonly seen: Uint8Array;
}

/** The work for a pod, for a row without its numbers, and for a comparison. Unit: samples, as `Pacing` counts work. */
const podWork = 50;
const rowWork = 500;
const compareWork = 30;

const familyOf = new Map(requestFamilies.map((family) => [family.part, family]));

/**
 * Every workload that has pods or series, by namespace and name, with its numbers or the reason why it has none.
 * Pure, except that it lets other work run in between.
 */
export async function assembleServices(pacing: Pacing, input: ServicesInput): Promise<ServiceSummary[]> {
  const { index, rows: numbers, series, startMs, stepMs, steps, pods } = input;
  const rows = new Map<string, Row>();
  const rowOf = ({ namespace, kind, name }: Workload): Row => {
    const key = `${namespace}/${kind}/${name}`;
    let row = rows.get(key);
    if (!row) {
      const lines = { rates: new Float64Array(steps), failed: new Float64Array(steps), seen: new Uint8Array(steps) };
      const empty = { pods: [], requests: new Requests(), isCaptured: false };
      rows.set(key, (row = { namespace, kind, name, ...empty, ...lines }));
    }
    return row;
  };
  for (const pod of index.pods()) {
    if (pacing.spend(podWork)) await pacing.turn();
    if (pods?.has(pod.namespace) === false || pod.ended) continue;
    rowOf(index.workloadOf(pod)).pods.push(pod);
  }
  for (const { labels, bounds, values } of numbers) {
    if (pacing.spend(rowWork + values.length)) await pacing.turn();
    const mark = labels[partLabel] ?? '';
    if (mark === flowPart) {
      for (const workload of endsOfFlow(labels)) {
        const row = rows.get(`${workload.namespace}/${workload.kind}/${workload.name}`);
        if (row) row.isCaptured = true;
      }
      continue;
    }
    const workload = subjectOf(labels);
    if (!workload) continue;
    const row = rowOf(workload);
    row.isCaptured = true;
    if (familyOf.get(mark.replace(/!$/, ''))?.side !== 'server') continue;
    const isFailed = mark.endsWith('!');
    bounds.forEach((le, i) => row.requests.add(isFailed ? '' : le, values[i]!));
  }
  for (const { labels, points } of series) {
    if (pacing.spend(rowWork + 10 * points.length)) await pacing.turn();
    const workload = subjectOf(labels);
    if (!workload) continue;
    const row = rowOf(workload);
    const isFailed = (labels[partLabel] ?? '').endsWith('!');
    for (const [timeMs, value] of points) {
      const at = Math.round((timeMs - startMs) / stepMs);
      if (at < 0 || at >= steps) continue;
      (isFailed ? row.failed : row.rates)[at]! += value;
      if (!isFailed) row.seen[at] = 1;
    }
  }
  const keyed = Array.from(rows.values(), (row) => ({ row, key: `${row.namespace}/${row.name}/${row.kind}` }));
  const summaries: ServiceSummary[] = [];
  for (const { row } of await sortInTurns(pacing, keyed, (a, b) => compareText(a.key, b.key), compareWork)) {
    summaries.push(summary(row, input));
    const matched = row.pods.length * (input.monitors(row.namespace)?.length ?? 0);
    if (pacing.spend(rowWork + 10 * steps + podWork * matched)) await pacing.turn();
  }
  return summaries;
}

function summary(row: Row, { monitors, missing, stepMs }: ServicesInput): ServiceSummary {
  const { namespace, kind, name, pods, requests, isCaptured, rates, failed, seen } = row;
  const matching = monitors(namespace)?.filter(({ spec }) => matchPods(spec, pods).length > 0);
  const isExcluded = matching?.find(({ spec }) => spec.mode === 'Exclude');
  const selecting = matching?.filter(({ spec }) => spec.mode !== 'Exclude').map(({ metadata }) => metadata.name ?? '');
  const nodes = [...new Set(pods.flatMap(({ nodeName }) => nodeName || []))].sort();
  const { requestRate, errorShare, p50Ms, p99Ms } = statsOf(requests.rate > 0 ? requests : undefined, undefined);
  const why = (): string => {
    if (nodes.length === 0) return 'no pod of it is on a node';
    const absent = nodes.flatMap((node) => {
      const reason = missing(node);
      return reason === undefined ? [] : [`${node}: ${reason}`];
    });
    if (absent.length === nodes.length) return `no agent answers where its pods are: ${absent.slice(0, 3).join('; ')}`;
    if (isExcluded) return `TrafficMonitor ${namespace}/${isExcluded.metadata.name} excludes it`;
    const quiet = 'neither a request nor a flow was seen in the window';
    return selecting?.length === 0 ? `${quiet}, and no TrafficMonitor selects its pods` : quiet;
  };
  return {
    ...{ namespace, workload: name, workloadKind: kind, nodes, requestRate, errorShare, p50Ms, p99Ms },
    sparkline: {
      stepSeconds: stepMs / 1000,
      requestRate: Array.from(rates, (rate, i) => (seen[i] ? rate : null)),
      errorShare: Array.from(rates, (rate, i) => (seen[i] && rate > 0 ? Math.min(1, failed[i]! / rate) : null)),
    },
    ...{ monitors: selecting?.sort() ?? null, captured: isCaptured, why: isCaptured ? null : why() },
  };
}

type Labels = Readonly<Record<string, string>>;

function subjectOf(labels: Labels): Workload | undefined {
  const [namespace, name] = [labels[namespaceLabel] ?? '', labels['k8s_owner_name'] ?? ''];
  return namespace === '' || name === '' ? undefined : { namespace, name, kind: labels['k8s_kind'] || 'Pod' };
}

function endsOfFlow(labels: Labels): Workload[] {
  return ['src', 'dst'].flatMap((end) => {
    const of = (what: string): string => labels[`k8s_${end}_${what}`] ?? '';
    // The node that captures a flow adds its name to the ends that are on it. Its series count only for these ends.
    if (of('owner_name') === '' || of('node_name') !== labels[nodeLabel]) return [];
    return [{ namespace: of('namespace'), name: of('owner_name'), kind: of('owner_type') || 'Pod' }];
  });
}
