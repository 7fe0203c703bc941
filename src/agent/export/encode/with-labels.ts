import { compareUtf8, type Labels } from '../../../tsdb/index.ts';
import type { QueuedSample, QueuedSeries } from '../queue/record.ts';

/** The samples of one series, in time order. */
export interface SeriesSamples {
  readonly series: QueuedSeries;
  /** The series' labels with the destination's own labels added, sorted. */
  readonly labels: Labels;
  readonly samples: QueuedSample[];
}

/** Groups samples by series. A destination's label is added to a series that lacks it, like an external label. */
export function bySeries(samples: readonly QueuedSample[], extra: Labels): SeriesSamples[] {
  const found = new Map<QueuedSeries, SeriesSamples>();
  for (const sample of samples) {
    const known = found.get(sample.series);
    if (known) known.samples.push(sample);
    else
      found.set(sample.series, {
        series: sample.series,
        labels: withExtra(sample.series.labels, extra),
        samples: [sample],
      });
  }
  return [...found.values()];
}

function withExtra(labels: Labels, extra: Labels): Labels {
  const missing = extra.filter(([name]) => !labels.some(([have]) => have === name));
  return missing.length === 0 ? labels : [...labels, ...missing].sort((a, b) => compareUtf8(a[0], b[0]));
}
