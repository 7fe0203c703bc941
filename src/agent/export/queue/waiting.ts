import type { QueuedSample } from './record.ts';
import { belongTogether } from './segment-writer.ts';

/** What may wait in memory for a disk that stalls. Units: bytes. */
const maxWaitingBytes = 32 * 1024 * 1024;
/** Rough memory of a sample that waits. Units: bytes. */
const sampleBytes = 64;

/** The items that were appended since the last commit. */
export interface Batch {
  readonly samples: readonly QueuedSample[];
  readonly spans: readonly Uint8Array[];
  /** How many items are missing, because too many waited. */
  readonly unheld: number;
  /** Memory of the items. Units: bytes. */
  readonly bytes: number;
}

/** The items of a queue that wait in memory to be written. The memory of a batch counts until it is written. */
export class Waiting {
  #samples: QueuedSample[] = [];
  #spans: Uint8Array[] = [];
  /** Memory of the items that were added and are not written yet. Units: bytes. */
  #bytes = 0;
  /** How many items were dropped since the last batch, because too many waited: the first of these and all after it. */
  #unheld = 0;

  add(sample: QueuedSample): void {
    const before = this.#samples.at(-1);
    // A histogram that has begun is taken whole.
    const has = before !== undefined && belongTogether(before, sample);
    if (this.#takes(sampleBytes, has)) this.#samples.push(sample);
  }

  addSpan(span: Uint8Array): void {
    if (this.#takes(span.length)) this.#spans.push(span);
  }

  #takes(bytes: number, always = false): boolean {
    const fits = this.#unheld === 0 && (always || this.#bytes + bytes <= maxWaitingBytes);
    if (fits) this.#bytes += bytes;
    else this.#unheld++;
    return fits;
  }

  /** Takes what was added since the last call. */
  take(): Batch {
    const [samples, spans, unheld] = [this.#samples, this.#spans, this.#unheld];
    this.#samples = [];
    this.#spans = [];
    this.#unheld = 0;
    return { samples, spans, unheld, bytes: sampleBytes * samples.length + sizeOf(spans) };
  }

  /** To be called when a batch is written or lost. */
  release({ bytes }: Batch): void {
    this.#bytes -= bytes;
  }
}

function sizeOf(spans: readonly Uint8Array[]): number {
  return spans.reduce((sum, span) => sum + span.length, 0);
}
