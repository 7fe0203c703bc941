import { WireWriter } from '../../../base/wire/protobuf-wire.ts';
import { type Labels, labelValue } from '../../../tsdb/index.ts';
import type { QueuedExemplar, QueuedSample, SeriesMeta } from '../queue/record.ts';
import { writeAttribute, writeFixed, writeResource, writeTime } from './otlp-wire.ts';
import { otlpAttributeName, otlpMetricName } from './semantic-names.ts';
import { bySeries } from './with-labels.ts';

const cumulative = 2;
const noRecordedValue = 1;

/** A data point: the sample of one series, or those of all series that make up a histogram or summary. */
interface PointParts {
  readonly attributes: Labels;
  readonly timeMs: number;
  stale: boolean;
  value: number;
  count: number | null;
  sum: number | null;
  /** Cumulative counts by bound, or values by quantile. */
  readonly parts: [bound: number, value: number][];
  readonly exemplars: QueuedExemplar[];
}

/**
 * Encodes a batch as `ExportMetricsServiceRequest`. Sums and histograms are cumulative and have no start time, since a
 * reset shows as a falling value. Histograms are reassembled from their buckets. A stale marker becomes a point without
 * a value. Labels are attributes of the points: a receiver that promotes no Resource attributes loses no label.
 */
export function encodeOtlpMetrics(
  samples: readonly QueuedSample[],
  extra: Labels,
  resource: Readonly<Record<string, string>>,
): Uint8Array {
  const families = collect(samples, extra);
  const out = new WireWriter(64 * 1024);
  out.message(1, (rm) => {
    writeResource(rm, resource);
    rm.message(2, (sm) => {
      sm.message(1, (scope) => scope.string(1, 'svc-agent'));
      for (const { meta, points } of families.values())
        sm.message(2, (m) => writeMetric(m, meta, [...points.values()]));
    });
  });
  return out.finish();
}

function collect(
  samples: readonly QueuedSample[],
  extra: Labels,
): Map<string, { meta: SeriesMeta; points: Map<string, PointParts> }> {
  const families = new Map<string, { meta: SeriesMeta; points: Map<string, PointParts> }>();
  for (const { series, labels, samples: values } of bySeries(samples, extra)) {
    const { meta } = series;
    const key = `${meta.type} ${meta.family}`;
    let family = families.get(key);
    if (!family) families.set(key, (family = { meta, points: new Map() }));
    const composed = meta.type === 'histogram' || meta.type === 'summary';
    const bound = composed ? labelValue(labels, meta.type === 'histogram' ? 'le' : 'quantile') : '';
    const attributes = labels.filter(
      ([name]) => name !== '__name__' && !(composed && (name === 'le' || name === 'quantile')),
    );
    const base = JSON.stringify(attributes);
    const suffix = labelValue(labels, '__name__').slice(meta.family.length);
    for (const { timeMs, value, stale, exemplar } of values) {
      const at = `${timeMs} ${base}`;
      let point = family.points.get(at);
      if (!point) {
        point = { attributes, timeMs, stale, value, count: null, sum: null, parts: [], exemplars: [] };
        family.points.set(at, point);
      }
      point.stale ||= stale;
      if (exemplar) point.exemplars.push(exemplar);
      if (composed && suffix === '_count') point.count = value;
      else if (composed && suffix === '_sum') point.sum = value;
      else if (composed) point.parts.push([bound === '+Inf' ? Infinity : Number(bound), value]);
    }
  }
  return families;
}

function writeMetric(out: WireWriter, meta: SeriesMeta, points: readonly PointParts[]): void {
  out.string(1, otlpMetricName(meta.family)).string(2, meta.help).string(3, meta.unit);
  const each = (data: WireWriter, write: (w: WireWriter, p: PointParts) => void): void => {
    for (const point of points) data.message(1, (w) => write(w, point));
  };
  switch (meta.type) {
    case 'counter':
      out.message(7, (data) => {
        each(data, writeNumber);
        data.uint(2, cumulative).uint(3, 1);
      });
      return;
    case 'histogram':
      out.message(9, (data) => {
        each(data, writeHistogram);
        data.uint(2, cumulative);
      });
      return;
    case 'summary':
      out.message(11, (data) => each(data, writeSummary));
      return;
    default:
      out.message(5, (data) => each(data, writeNumber));
  }
}

function writeCommon(out: WireWriter, field: number, { attributes, timeMs }: PointParts): void {
  for (const [name, value] of attributes) writeAttribute(out, field, otlpAttributeName(name), value);
  writeTime(out, 3, timeMs);
}

function writeNumber(out: WireWriter, point: PointParts): void {
  writeCommon(out, 7, point);
  if (point.stale) out.uint(8, noRecordedValue);
  else out.double(4, point.value);
  writeExemplars(out, 5, point);
}

function writeExemplars(out: WireWriter, field: number, { exemplars }: PointParts): void {
  for (const { timeMs, value, traceId, spanId } of exemplars) {
    out.message(field, (w) => {
      writeTime(w, 2, timeMs);
      w.double(3, value);
      if (spanId !== '') w.bytes(4, Buffer.from(spanId, 'hex'));
      w.bytes(5, Buffer.from(traceId, 'hex'));
    });
  }
}

function writeHistogram(out: WireWriter, point: PointParts): void {
  writeCommon(out, 9, point);
  if (point.stale) return void out.uint(10, noRecordedValue);
  const parts = point.parts.toSorted((a, b) => a[0] - b[0]);
  const bounds = parts.map(([bound]) => bound).filter((bound) => bound !== Infinity);
  const total = Math.max(point.count ?? 0, parts.at(-1)?.[1] ?? 0);
  writeFixed(out, 4, wholeNumber(total));
  if (point.sum !== null) out.double(5, point.sum);
  const counts = new WireWriter(8 * parts.length);
  const limits = new WireWriter(8 * bounds.length);
  let before = 0;
  for (const value of [...bounds.map((_, i) => parts[i]![1]), total]) {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, wholeNumber(value - before), true);
    counts.raw(bytes);
    before = Math.max(before, value);
  }
  for (const bound of bounds) {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setFloat64(0, bound, true);
    limits.raw(bytes);
  }
  out.bytes(6, counts.finish()).bytes(7, limits.finish());
  writeExemplars(out, 8, point);
}

function writeSummary(out: WireWriter, point: PointParts): void {
  writeCommon(out, 7, point);
  if (point.stale) return void out.uint(8, noRecordedValue);
  writeFixed(out, 4, wholeNumber(point.count ?? 0));
  out.double(5, point.sum ?? 0);
  for (const [quantile, value] of point.parts) out.message(6, (w) => w.double(1, quantile).double(2, value));
}

function wholeNumber(value: number): bigint {
  return Number.isFinite(value) && value > 0 ? BigInt(Math.round(value)) : 0n;
}
