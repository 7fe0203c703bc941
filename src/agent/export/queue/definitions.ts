import { type Definitions, readSeries, recordKinds } from './record.ts';
import { recordsOf, type Segment } from './segments.ts';

/** The definitions of a segment before an offset. */
export interface Defined {
  readonly known: Definitions;
  upTo: number;
}

/** The definitions of the segment that is written, and of those that are read. */
export class SegmentDefinitions {
  readonly #bySegment = new Map<number, Defined>();

  /** Those of a new segment, to which its writer adds: it sets `upTo` when they are on the disk. */
  begin(segment: Segment, known: Definitions): Defined {
    const begun: Defined = { known, upTo: 0 };
    this.#bySegment.set(segment.number, begun);
    return begun;
  }

  /** The definitions of a segment before an offset: known from writing or reading it, else read from its start. */
  async before(segment: Segment, offset: number): Promise<Defined> {
    const had = this.#bySegment.get(segment.number);
    if (had && had.upTo >= offset) return had;
    const made = this.begin(segment, { series: [], texts: [] });
    if (offset === 0) return made;
    for await (const { payload, end } of recordsOf(segment, 0)) {
      if (end > offset) break;
      learn(made, payload, end);
    }
    made.upTo = Math.max(made.upTo, offset);
    return made;
  }

  /** They are read again if they are needed again. */
  forget(segment: Segment): void {
    this.#bySegment.delete(segment.number);
  }
}

/** Adds what a record defines that ends at an offset, unless it is known. Errors: ERR_STORE_CORRUPT. */
export function learn(defined: Defined, payload: Uint8Array, end: number): void {
  if (end <= defined.upTo) return;
  if (payload[0] === recordKinds.series) readSeries(payload, defined.known);
  defined.upTo = end;
}
