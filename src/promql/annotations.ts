import { lineColumns, type Position } from './errors.ts';
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

/** What a query keeps of a kind of annotations: a message can be raised for each step or series, and name its value. */
const most = { messages: 500, characters: 500_000 };

/** The messages of one kind: the kept ones, and how often others were raised. */
interface Tally {
  messages: number;
  characters: number;
  omitted: number;
}

const tally = (): Tally => ({ messages: 0, characters: 0, omitted: 0 });

/** The last time that a Date has; the first is its negative. Milliseconds. */
const lastDateMs = 8.64e15;

/** A time in whole seconds. Times that a Date does not have, which `@` can name, become the nearest that it has. */
function rfc3339(ms: number): string {
  const held = Math.min(Math.max(ms, -lastDateMs), lastDateMs);
  return new Date(Math.floor(held / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}

/**
 * Warnings and infos of one query. The same message is kept once, at the position where it was raised last, as
 * Prometheus does; figures of repeated events are merged. The first messages of each kind are kept, the others counted.
 */
export class Annotations {
  // Created with the first annotation: most queries have none.
  #byMessage: Map<string, Annotation> | undefined;
  #forced: Map<string, ForcedMonotonicity> | undefined;
  #overlaps: Map<string, number> | undefined;
  #foreign: Set<string> | undefined;
  readonly #tallies = { warning: tally(), info: tally(), foreign: tally() };

  warn(message: string, position: Position): void {
    this.#add('warning', `PromQL warning: ${message}`, position);
  }

  info(message: string, position: Position): void {
    this.#add('info', `PromQL info: ${message}`, position);
  }

  /** Adds a warning of the source, unchanged. */
  sourceWarning(message: string): void {
    this.#foreign ??= new Set();
    if (this.#admits('foreign', message, this.#foreign)) this.#foreign.add(message);
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

  /** How often warnings were raised that were not kept; those of the source too. */
  get omittedWarnings(): number {
    return this.#tallies.warning.omitted + this.#tallies.foreign.omitted;
  }

  /** How often infos were raised that were not kept. */
  get omittedInfos(): number {
    return this.#tallies.info.omitted;
  }

  /** Adds what was omitted elsewhere. */
  absorbOmitted({ omittedWarnings, omittedInfos }: { omittedWarnings: number; omittedInfos: number }): void {
    this.#tallies.warning.omitted += omittedWarnings;
    this.#tallies.info.omitted += omittedInfos;
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
    const place = lineColumns(query);
    const own = this.#ofKind(kind)
      .map((a) => `${a.detail?.(a.message) ?? a.message} (${place(a.position.start)})`)
      .sort();
    return kind === 'warning' ? [...own, ...[...this.foreign].sort()] : own;
  }

  #ofKind(kind: Kind): Annotation[] {
    return [...(this.#byMessage?.values() ?? [])].filter((a) => a.kind === kind);
  }

  /** Whether a message is kept; one that is not is counted. */
  #admits(kind: Kind | 'foreign', message: string, known: { has: (message: string) => boolean }): boolean {
    if (known.has(message)) return true;
    const of = this.#tallies[kind];
    const characters = of.characters + message.length;
    if (of.messages === most.messages || characters > most.characters) {
      of.omitted++;
      return false;
    }
    of.messages++;
    of.characters = characters;
    return true;
  }

  #set(annotation: Annotation): boolean {
    const { kind, message } = annotation;
    this.#byMessage ??= new Map();
    if (!this.#admits(kind, message, this.#byMessage)) return false;
    this.#byMessage.set(message, annotation);
    return true;
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
    const detail = (text: string): string =>
      `${text}, from buckets ${formatFloatG(merged.minBound)} to ${formatFloatG(merged.maxBound)}, with a max diff of ` +
      `${formatFloatG(merged.maxDiff, 2)}, over ${merged.samples} samples from ${rfc3339(merged.minTime)} to ` +
      rfc3339(merged.maxTime);
    if (this.#set({ kind: 'info', message, position, detail })) (this.#forced ??= new Map()).set(message, merged);
  }

  #overlap(message: string, position: Position, more: number): void {
    const count = (this.#overlaps?.get(message) ?? 0) + more;
    const detail = (text: string): string => (count > 1 ? `${text} (${count} occurrences)` : text);
    if (this.#set({ kind: 'warning', message, position, detail })) (this.#overlaps ??= new Map()).set(message, count);
  }

  #add(kind: Kind, message: string, position: Position): void {
    this.#set({ kind, message, position });
  }
}
