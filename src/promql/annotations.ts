import { lineColumn, type Position } from './errors.ts';
import { formatFloatG } from './format.ts';

type Kind = 'warning' | 'info';

interface Annotation {
  kind: Kind;
  message: string;
  position: Position;
  /** Set for a merged annotation: its text with the figures collected so far. */
  detail?: (message: string) => string;
}

interface Forced {
  minTime: number;
  maxTime: number;
  minBound: number;
  maxBound: number;
  maxDiff: number;
  samples: number;
}

const rfc3339 = (ms: number): string => new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');

/**
 * Warnings and infos of one query. The same message is kept once, at the position where it was raised last, as
 * Prometheus does; figures of repeated events are merged.
 */
export class Annotations {
  #byMessage = new Map<string, Annotation>();
  #forced = new Map<string, Forced>();
  #overlaps = new Map<string, number>();
  #foreign = new Set<string>();

  warn(message: string, position: Position): void {
    this.#add('warning', `PromQL warning: ${message}`, position);
  }

  info(message: string, position: Position): void {
    this.#add('info', `PromQL info: ${message}`, position);
  }

  /** A warning of the source, passed on as it is. */
  sourceWarning(message: string): void {
    this.#foreign.add(message);
  }

  /** Classic buckets had to be made monotonic: one info with the extent over all samples. Times in milliseconds. */
  forcedMonotonicity(
    metric: string,
    position: Position,
    time: number,
    fixed: { minBound: number; maxBound: number; maxDiff: number },
  ): void {
    const link = 'https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile';
    const base = `PromQL info: input to histogram_quantile needed to be fixed for monotonicity (see ${link})`;
    const message = metric === '' ? base : `${base} for metric name ${JSON.stringify(metric)}`;
    const known = this.#forced.get(message);
    const merged: Forced = {
      minTime: Math.min(known?.minTime ?? time, time),
      maxTime: Math.max(known?.maxTime ?? time, time),
      minBound: Math.min(known?.minBound ?? Infinity, fixed.minBound),
      maxBound: Math.max(known?.maxBound ?? -Infinity, fixed.maxBound),
      maxDiff: Math.max(known?.maxDiff ?? 0, fixed.maxDiff),
      samples: (known?.samples ?? 0) + 1,
    };
    this.#forced.set(message, merged);
    const detail = (text: string): string =>
      `${text}, from buckets ${formatFloatG(merged.minBound)} to ${formatFloatG(merged.maxBound)}, with a max diff of ` +
      `${formatFloatG(merged.maxDiff, 2)}, over ${merged.samples} samples from ${rfc3339(merged.minTime)} to ` +
      rfc3339(merged.maxTime);
    this.#byMessage.set(message, { kind: 'info', message, position, detail });
  }

  /** A sample's start time lies before the previous sample of the same series. */
  startTimeOverlap(metric: string, position: Position): void {
    const message =
      'PromQL warning: sample has start time that overlaps with previous sample timestamp for metric ' +
      JSON.stringify(metric);
    const count = (this.#overlaps.get(message) ?? 0) + 1;
    this.#overlaps.set(message, count);
    const detail = (text: string): string => (count > 1 ? `${text} (${count} occurrences)` : text);
    this.#byMessage.set(message, { kind: 'warning', message, position, detail });
  }

  /** The texts without positions, for comparisons. */
  messages(kind: Kind): string[] {
    const own = [...this.#byMessage.values()].filter((a) => a.kind === kind).map((a) => a.message);
    return kind === 'warning' ? [...own, ...this.#foreign] : own;
  }

  /** The texts with positions: `… (line:col)`. */
  texts(kind: Kind, query: string): string[] {
    const own = [...this.#byMessage.values()]
      .filter((a) => a.kind === kind)
      .map((a) => `${a.detail?.(a.message) ?? a.message} (${lineColumn(query, a.position.start)})`);
    return kind === 'warning' ? [...own, ...this.#foreign] : own;
  }

  #add(kind: Kind, message: string, position: Position): void {
    this.#byMessage.set(message, { kind, message, position });
  }
}
