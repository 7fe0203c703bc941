import type { PortableAnnotation } from '../annotations.ts';
import { malformed } from './numbers.ts';
import type { Annotation } from './partial.pb.ts';

const kinds = [undefined, 'warning', 'info'] as const;

/**
 * An annotation as it is sent. Positions are sent plus one, because a position may be −1: that is the position of an
 * aggregation which a node applies to the text of its part of the query, and which does not occur in the text.
 */
export function messageOf({ kind, position, ...rest }: PortableAnnotation): Annotation {
  return { kind: kinds.indexOf(kind), start: position.start + 1, end: position.end + 1, ...rest };
}

/** Reads an annotation as it was sent. Errors: ERR_INPUT_INVALID for an unknown kind, and for an invalid time. */
export function annotationOf({ kind: code, message, start, end, forced, overlaps }: Annotation): PortableAnnotation {
  const kind = kinds[code];
  if (kind === undefined) throw malformed('annotation of no kind');
  // Times are printed later, so invalid ones are refused here.
  if (forced && ![forced.minTime, forced.maxTime, forced.samples].every(Number.isFinite))
    throw malformed('annotation at no time');
  return { kind, message, position: { start: start - 1, end: end - 1 }, forced, overlaps };
}
