import { lineColumn, type Position } from './errors.ts';
import { formatFloatG } from './format.ts';
import type { ForcedMonotonicity } from './partial/partial.pb.ts';

/** The severity of an annotation. */
export type Kind = 'warning' | 'info';

interface Annotation {
  kind: Kind;
  message: string;
  position: Position;
  /** Set for a merged annotation: renders its text with the figures collected so far. */
  detail?: (message: string) => string;
}

/** An annotation as plain data, which can be sent to another process and absorbed there. */
export interface PortableAnnotation {
  readonly kind: Kind;
  readonly message: string;
  readonly position: Position;
  /** Merged over all repetitions: `forced` for buckets made monotonic, `overlaps` for overlapping start times. */
  readonly forced: ForcedMonotonicity | null;
  readonly overlaps: number;
}

/** The last time that a Date has; the first is its negative. Milliseconds. */
const lastDateMs = 8.64e15;

/** A time in whole seconds. Times that a Date does not have, which `@` can name, become the nearest that it has. */
function rfc3339(ms: number): string {
  const held = Math.min(Math.max(ms, -lastDateMs), lastDateMs);
  return new Date(Math.floor(held / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}

/**
 * Warnings and infos of one query. The same message is kept once, at the position where it was raised last, as
 * Prometheus does; figures of repeated events are merged.
 */
export class Annotations {
  // Created with the first annotation: most queries have none.
  #byMessage: Map<string, Annotation> | undefined;
  #forced: Map<string, ForcedMonotonicity> | undefined;
  #overlaps: Map<string, number> | undefined;
  #foreign: Set<string> | undefined;

  warn(message: string, position: Position): void {
    this.#add('warning', `PromQL warning: ${message}`, position);
  }

  info(message: string, position: Position): void {
    this.#add('info', `PromQL info: ${message}`, position);
  }

  /** Adds a warning of the source, unchanged. */
  sourceWarning(message: string): void {
    (this.#foreign ??= new Set()).add(message);
  }

  /**
   * Adds the info that classic buckets were made monotonic. Repeated infos are merged into one with the extent over all
   * samples. `time` is in milliseconds.
   */
  forcedMonotonicity(
    metric: string,
    position: Position,
    time: number,
    fixed: { minBound: number; maxBound: number; maxDiff: number },
  ): void {
    const link = 'https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile';
    const base = `PromQL info: input to histogram_quantile needed to be fixed for monotonicity (see ${link})`;
    const message = metric === '' ? base : `${base} for metric name ${JSON.stringify(metric)}`;
    const { minBound, maxBound, maxDiff } = fixed;
    this.#force(message, position, { minTime: time, maxTime: time, minBound, maxBound, maxDiff, samples: 1 });
  }

  /** Adds the warning that a sample's start time lies before the previous sample of the same series. */
  startTimeOverlap(metric: string, position: Position): void {
    const message =
      'PromQL warning: sample has start time that overlaps with previous sample timestamp for metric ' +
      JSON.stringify(metric);
    this.#overlap(message, position, 1);
  }

  /** All annotations of the query itself, in the order of their first occurrence. */
  export(): PortableAnnotation[] {
    return [...(this.#byMessage?.values() ?? [])].map(({ kind, message, position }) => ({
      kind,
      message,
      position,
      forced: this.#forced?.get(message) ?? null,
      overlaps: this.#overlaps?.get(message) ?? 0,
    }));
  }

  /** Warnings of the source, unchanged. */
  get foreign(): readonly string[] {
    return [...(this.#foreign ?? [])];
  }

  /** Adds an annotation from elsewhere; its figures are merged with those of the same message. */
  absorb({ kind, message, forced, overlaps }: PortableAnnotation, position: Position): void {
    if (forced !== null) this.#force(message, position, forced);
    else if (overlaps > 0) this.#overlap(message, position, overlaps);
    else this.#set({ kind, message, position });
  }

  /** The texts without positions, for comparisons. */
  messages(kind: Kind): string[] {
    const own = this.#ofKind(kind).map((a) => a.message);
    return kind === 'warning' ? [...own, ...this.foreign] : own;
  }

  /** The texts with positions, sorted: `… (line:col)`. */
  texts(kind: Kind, query: string): string[] {
    if (this.#byMessage === undefined && this.#foreign === undefined) return [];
    const own = this.#ofKind(kind)
      .map((a) => `${a.detail?.(a.message) ?? a.message} (${lineColumn(query, a.position.start)})`)
      .sort();
    return kind === 'warning' ? [...own, ...[...this.foreign].sort()] : own;
  }

  #ofKind(kind: Kind): Annotation[] {
    return [...(this.#byMessage?.values() ?? [])].filter((a) => a.kind === kind);
  }

  #set(annotation: Annotation): void {
    (this.#byMessage ??= new Map()).set(annotation.message, annotation);
  }

  #force(message: string, position: Position, more: ForcedMonotonicity): void {
    const known = this.#forced?.get(message) ?? more;
    const merged: ForcedMonotonicity = {
      minTime: Math.min(known.minTime, more.minTime),
      maxTime: Math.max(known.maxTime, more.maxTime),
      minBound: Math.min(known.minBound, more.minBound),
      maxBound: Math.max(known.maxBound, more.maxBound),
      maxDiff: Math.max(known.maxDiff, more.maxDiff),
      samples: known === more ? more.samples : known.samples + more.samples,
    };
    (this.#forced ??= new Map()).set(message, merged);
    const detail = (text: string): string =>
      `${text}, from buckets ${formatFloatG(merged.minBound)} to ${formatFloatG(merged.maxBound)}, with a max diff of ` +
      `${formatFloatG(merged.maxDiff, 2)}, over ${merged.samples} samples from ${rfc3339(merged.minTime)} to ` +
      rfc3339(merged.maxTime);
    this.#set({ kind: 'info', message, position, detail });
  }

  #overlap(message: string, position: Position, more: number): void {
    const count = (this.#overlaps?.get(message) ?? 0) + more;
    (this.#overlaps ??= new Map()).set(message, count);
    const detail = (text: string): string => (count > 1 ? `${text} (${count} occurrences)` : text);
    this.#set({ kind: 'warning', message, position, detail });
  }

  #add(kind: Kind, message: string, position: Position): void {
    this.#set({ kind, message, position });
  }
}
