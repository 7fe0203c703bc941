import type { CaptureConfig, CaptureMonitorRule } from '../../capture/index.ts';
import type { Pair } from './label-set.ts';
import type { Charge } from './series-table.ts';

export type LimitScope = 'node' | 'namespace' | 'monitor';

/** The value that every label but namespace and node takes in a series that stands for those beyond a limit. */
export const overflowValue = '__overflow__';

/** What is counted for one monitor. */
export interface MonitorCounts {
  readonly rule: CaptureMonitorRule;
  activeSeries: number;
  /** Series now left out or folded into the overflow series. */
  droppedSeries: number;
  /** Newest sample of its pods, ms; 0 before the first. */
  lastSampleMs: number;
}

/**
 * Counts live series by node, namespace and monitor, and tells when one more would exceed a limit.
 * A pod that several monitors match counts for each of them.
 */
export class SeriesLimits {
  #limits: CaptureConfig['limits'];
  #node = 0;
  #overflow = 0;
  #namespaces = new Map<string, number>();
  #monitors: MonitorCounts[] = [];
  #byPod = new Map<string, MonitorCounts[]>();

  constructor(limits: CaptureConfig['limits'], rules: readonly CaptureMonitorRule[]) {
    this.#limits = limits;
    this.#index(rules, new Map());
  }

  get monitors(): readonly MonitorCounts[] {
    return this.#monitors;
  }

  get onLimit(): 'Aggregate' | 'Drop' {
    return this.#limits.onLimit;
  }

  get nodeSeries(): number {
    return this.#node;
  }

  /** Takes new rules. Times of last samples are kept; series counts are not: the caller binds every stream anew. */
  reset(limits: CaptureConfig['limits'], rules: readonly CaptureMonitorRule[]): void {
    const seen = new Map(this.#monitors.map((m) => [monitorKey(m.rule), m.lastSampleMs]));
    this.#limits = limits;
    this.#node = 0;
    this.#overflow = 0;
    this.#namespaces = new Map();
    this.#index(rules, seen);
  }

  /** The monitors that cover a pod, strongest first. */
  monitorsOf(namespace: string, pod: string): readonly MonitorCounts[] {
    return (pod && this.#byPod.get(`${namespace}/${pod}`)) || none;
  }

  /** The first limit that `count` more series would exceed. */
  exceeded(base: readonly Pair[], monitors: readonly MonitorCounts[], count: number): LimitScope | null {
    const limits = this.#limits;
    if (this.#node + count > limits.maxSeriesPerNode) return 'node';
    const namespace = namespaceOf(base);
    if (namespace && (this.#namespaces.get(namespace) ?? 0) + count > limits.maxSeriesPerNamespace) return 'namespace';
    for (const { activeSeries, rule } of monitors) {
      const max = Math.min(limits.maxSeriesPerMonitor, rule.maxSeries ?? Infinity);
      if (activeSeries + count > max) return 'monitor';
    }
    return null;
  }

  /** A place to count the series of one label set. */
  charge(base: readonly Pair[], monitors: readonly MonitorCounts[]): Charge {
    const namespace = namespaceOf(base);
    return {
      add: (series) => {
        this.#node += series;
        if (namespace) this.#namespaces.set(namespace, (this.#namespaces.get(namespace) ?? 0) + series);
        for (const monitor of monitors) monitor.activeSeries += series;
      },
    };
  }

  /** True while series that stand for others may still be made: they are bounded too, by a tenth of the node's limit. */
  mayOverflow(count: number): boolean {
    return this.#overflow + count <= Math.max(1_000, this.#limits.maxSeriesPerNode / 10);
  }

  /** Counts overflow series, which weigh on the node alone and are never refused by its limit. */
  overflowCharge(): Charge {
    return {
      add: (series) => {
        this.#overflow += series;
      },
    };
  }

  #index(rules: readonly CaptureMonitorRule[], lastSamples: ReadonlyMap<string, number>): void {
    this.#byPod = new Map();
    this.#monitors = rules.map((rule) => {
      const counts = { rule, activeSeries: 0, droppedSeries: 0, lastSampleMs: lastSamples.get(monitorKey(rule)) ?? 0 };
      for (const pod of rule.pods) {
        const key = `${rule.namespace}/${pod}`;
        const list = this.#byPod.get(key);
        if (list) list.push(counts);
        else this.#byPod.set(key, [counts]);
      }
      return counts;
    });
  }
}

/**
 * Labels of the series that stands for all those of one metric beyond a limit. The names stay, so that a query by
 * any of them shows the remainder as `__overflow__`; the node stays, and the namespace unless the node itself is full.
 */
export function overflowLabels(base: readonly Pair[], scope: LimitScope): readonly Pair[] {
  return base.map(([name, value]) => [
    name,
    name === 'k8s_node_name' || (scope !== 'node' && name === 'k8s_namespace_name') ? value : overflowValue,
  ]);
}

const none: readonly MonitorCounts[] = [];

function monitorKey(rule: CaptureMonitorRule): string {
  return `${rule.namespace}/${rule.name}`;
}

function namespaceOf(base: readonly Pair[]): string {
  return labelOf(base, 'k8s_namespace_name') || labelOf(base, 'k8s_src_namespace');
}

function labelOf(base: readonly Pair[], name: string): string {
  for (const pair of base) if (pair[0] === name) return pair[1];
  return '';
}
