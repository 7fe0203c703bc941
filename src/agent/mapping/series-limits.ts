import { namespaceLabel, nodeLabel } from '../../api/labels.ts';
import { appendTo, changeCount } from '../../base/collections/counts.ts';
import type { CaptureConfig, CaptureMonitorRule } from '../../capture/index.ts';
import type { Pair } from './label-set.ts';

export type LimitScope = 'node' | 'namespace' | 'monitor';

/**
 * The value of every label but namespace and node in an overflow series, which stands for all series beyond a limit.
 */
export const overflowValue = '__overflow__';

/** The namespaces and monitors against whose limits the series of a label set count. */
export interface Charged {
  /** `''` stands for unknown senders. */
  readonly namespaces: readonly string[];
  readonly monitors: readonly MonitorCounts[];
  readonly isFlow: boolean;
}

/** The counts of one monitor. */
export interface MonitorCounts {
  readonly rule: CaptureMonitorRule;
  activeSeries: number;
  /** Series now left out or folded into the overflow series. */
  droppedSeries: number;
  /** When the newest sample of its pods arrived: monotonic time in ms, null before the first. */
  lastSampleAt: number | null;
}

/** Where a group's series are counted, whichever stream they are for. */
export interface Charge {
  /** Gets the number of new series, negative for series that ended. */
  readonly add: (series: number) => void;
  /** The limit that `series` more would exceed; `own` as in `SeriesLimits.exceeded`. */
  readonly exceeded: (series: number, own: number) => LimitScope | null;
}

/**
 * Counts live series by node, namespace and monitor, and reports when one more would exceed a limit.
 * A pod that several monitors match counts for each of them.
 */
export class SeriesLimits {
  #limits: CaptureConfig['limits'];
  #node = 0;
  #overflow = 0;
  #overflows = new Map<string, number>();
  #namespaces = new Map<string, number>();
  /** How many of each namespace's series are series of flows. */
  #flows = new Map<string, number>();
  #monitors: MonitorCounts[] = [];
  #byPod = new Map<string, MonitorCounts[]>();

  constructor(limits: CaptureConfig['limits'], rules: readonly CaptureMonitorRule[]) {
    this.#limits = limits;
    this.#index(rules, new Map());
  }

  get monitors(): readonly MonitorCounts[] {
    return this.#monitors;
  }

  get maxNodeSeries(): number {
    return this.#limits.maxSeriesPerNode;
  }

  get onLimit(): 'Aggregate' | 'Drop' {
    return this.#limits.onLimit;
  }

  get nodeSeries(): number {
    return this.#node;
  }

  /**
   * Applies new rules. Times of last samples are kept. Series counts are not, because the caller binds every stream
   * again.
   */
  reset(limits: CaptureConfig['limits'], rules: readonly CaptureMonitorRule[]): void {
    const seen = new Map(this.#monitors.map((m) => [monitorKey(m.rule), m.lastSampleAt]));
    this.#limits = limits;
    this.#node = 0;
    this.#overflow = 0;
    this.#overflows = new Map();
    this.#namespaces = new Map();
    this.#flows = new Map();
    this.#index(rules, seen);
  }

  /** The monitors that cover a pod, strongest first. */
  monitorsOf(namespace: string, pod: string): readonly MonitorCounts[] {
    return (pod && this.#byPod.get(`${namespace}/${pod}`)) || none;
  }

  /**
   * The first limit that `count` more series would exceed. Flows have at most half of what a namespace may have: any
   * sender of packets to a pod creates flows of it, and they must not displace the pod's own series.
   * `own`: the number of series that each namespace may have when others have filled the node; unknown senders have no
   * such share.
   */
  exceeded({ namespaces, monitors, isFlow }: Charged, count: number, own: number): LimitScope | null {
    const limits = this.#limits;
    const isWithin = (namespace: string, max: number): boolean =>
      (this.#namespaces.get(namespace) ?? 0) + count <= max &&
      (!isFlow || (this.#flows.get(namespace) ?? 0) + count <= Math.ceil(max / 2));
    const isFull = this.#node + count > limits.maxSeriesPerNode;
    if (isFull && !namespaces.every((namespace) => namespace !== '' && isWithin(namespace, own))) return 'node';
    if (!namespaces.every((namespace) => isWithin(namespace, limits.maxSeriesPerNamespace))) return 'namespace';
    for (const { activeSeries, rule } of monitors) {
      const max = Math.min(limits.maxSeriesPerMonitor, rule.maxSeries ?? Infinity);
      if (activeSeries + count > max) return 'monitor';
    }
    return null;
  }

  /** Returns a charge that counts the series of one label set for the namespaces of its senders. */
  charge(charged: Charged): Charge {
    const { namespaces, monitors, isFlow } = charged;
    return {
      exceeded: (series, own) => this.exceeded(charged, series, own),
      add: (series) => {
        this.#node += series;
        for (const namespace of namespaces) {
          changeCount(this.#namespaces, namespace, series);
          if (isFlow) changeCount(this.#flows, namespace, series);
        }
        for (const monitor of monitors) monitor.activeSeries += series;
      },
    };
  }

  /**
   * True while further overflow series may be created: they too are limited, to a tenth of the node's limit (but not
   * below 1,000), and for one namespace to a tenth of the namespace's limit (but not below 500).
   */
  mayOverflow([namespace = '']: readonly string[], count: number): boolean {
    const { maxSeriesPerNode, maxSeriesPerNamespace } = this.#limits;
    return (
      this.#overflow + count <= Math.max(1_000, maxSeriesPerNode / 10) &&
      (this.#overflows.get(namespace) ?? 0) + count <= Math.max(500, maxSeriesPerNamespace / 10)
    );
  }

  /** Returns a charge for overflow series, which count only against the limits of `mayOverflow`. */
  overflowCharge(namespaces: readonly string[]): Charge {
    const [namespace = ''] = namespaces;
    return {
      exceeded: (series) => (this.mayOverflow(namespaces, series) ? null : 'node'),
      add: (series) => {
        this.#overflow += series;
        changeCount(this.#overflows, namespace, series);
      },
    };
  }

  #index(rules: readonly CaptureMonitorRule[], lastSamples: ReadonlyMap<string, number | null>): void {
    this.#byPod = new Map();
    this.#monitors = rules.map((rule) => {
      const counts = {
        rule,
        activeSeries: 0,
        droppedSeries: 0,
        lastSampleAt: lastSamples.get(monitorKey(rule)) ?? null,
      };
      for (const pod of rule.pods) appendTo(this.#byPod, `${rule.namespace}/${pod}`, counts);
      return counts;
    });
  }
}

/**
 * Labels of the overflow series of one metric. The label names stay, so that a query by any of them shows the remainder
 * as `__overflow__`. The node label stays, and so does the namespace unless the node itself is full.
 */
export function overflowLabels(base: readonly Pair[], scope: LimitScope): readonly Pair[] {
  return base.map(([name, value]) => [
    name,
    name === nodeLabel || (scope !== 'node' && name === namespaceLabel) ? value : overflowValue,
  ]);
}

const none: readonly MonitorCounts[] = [];

function monitorKey(rule: CaptureMonitorRule): string {
  return `${rule.namespace}/${rule.name}`;
}
