import { WireWriter } from '../../../base/wire/protobuf-wire.ts';
import type { Labels } from '../../../tsdb/index.ts';
import type { SeriesMeta } from '../queue/record.ts';
import { exemplarLabels } from './exemplar-labels.ts';
import { writeSamples } from './samples.ts';
import type { SeriesSamples } from './with-labels.ts';

/** The number of each metric type. Both versions of the protocol share these numbers. */
export const metricTypes: Readonly<Record<SeriesMeta['type'], number>> = {
  unknown: 0,
  counter: 1,
  gauge: 2,
  histogram: 3,
  summary: 5,
};

/**
 * `prometheus.WriteRequest`: time series with their exemplars, and the metadata of the families given.
 * Source: Prometheus Remote-Write 1.0.
 */
export function encodeWrite1(series: readonly SeriesSamples[], families: readonly SeriesMeta[]): Uint8Array {
  const out = new WireWriter(64 * 1024);
  for (const { labels, samples } of series) {
    out.message(1, (ts) => {
      writeLabels(ts, labels);
      writeSamples(ts, samples, 3, (w, exemplar) => writeLabels(w, exemplarLabels(exemplar)));
    });
  }
  for (const { type, family, help, unit } of families) {
    out.message(3, (w) => w.uint(1, metricTypes[type]).string(2, family).string(4, help).string(5, unit));
  }
  return out.finish();
}

function writeLabels(out: WireWriter, labels: Labels): void {
  for (const [name, value] of labels) out.message(1, (w) => w.string(1, name).string(2, value));
}
