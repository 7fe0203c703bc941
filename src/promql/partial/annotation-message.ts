import type { WireReader, WireWriter } from '../../base/wire/protobuf-wire.ts';
import type { ForcedMonotonicity, PortableAnnotation } from '../annotations.ts';
import { malformed } from './numbers.ts';

/** Writes an annotation as field `field`. Positions are shifted by one: −1 stands for the aggregation around the text. */
export function writeAnnotation(out: WireWriter, field: number, annotation: PortableAnnotation): void {
  const { kind, message, position, forced, overlaps } = annotation;
  out.message(field, (m) => {
    m.uint(1, kind === 'warning' ? 1 : 2).string(2, message);
    m.uint(3, position.start + 1)
      .uint(4, position.end + 1)
      .uint(5, overlaps);
    if (forced === null) return;
    const { minTime, maxTime, minBound, maxBound, maxDiff, samples } = forced;
    m.message(6, (f) => {
      for (const [i, value] of [minTime, maxTime, minBound, maxBound, maxDiff, samples].entries())
        f.double(i + 1, value);
    });
  });
}

export function readAnnotation(reader: WireReader): PortableAnnotation {
  const found = { kind: 0, message: '', start: 0, end: 0, overlaps: 0 };
  let forced: ForcedMonotonicity | null = null;
  while (!reader.done) {
    const key = reader.key();
    if (key === 8) found.kind = reader.uint();
    else if (key === 18) found.message = reader.string();
    else if (key === 24) found.start = reader.uint();
    else if (key === 32) found.end = reader.uint();
    else if (key === 40) found.overlaps = reader.uint();
    else if (key === 50) forced = readForced(reader.message());
    else reader.skip(key & 7);
  }
  if (found.kind !== 1 && found.kind !== 2) throw malformed('annotation of no kind');
  return {
    kind: found.kind === 1 ? 'warning' : 'info',
    message: found.message,
    position: { start: found.start - 1, end: found.end - 1 },
    forced,
    overlaps: found.overlaps,
  };
}

function readForced(reader: WireReader): ForcedMonotonicity {
  const figures = [NaN, NaN, NaN, NaN, NaN, NaN];
  while (!reader.done) {
    const key = reader.key();
    if ((key & 7) === 1 && key >> 3 <= 6) figures[(key >> 3) - 1] = reader.double();
    else reader.skip(key & 7);
  }
  const [minTime, maxTime, minBound, maxBound, maxDiff, samples] = figures as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  // Times are printed later, so invalid ones are refused here.
  if (![minTime, maxTime, samples].every((value) => Math.abs(value) <= 8.64e15))
    throw malformed('annotation at no time');
  return { minTime, maxTime, minBound, maxBound, maxDiff, samples };
}
