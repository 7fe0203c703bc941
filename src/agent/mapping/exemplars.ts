import type { ExemplarRing } from '../exemplars/exemplar-ring.ts';
import type { Exemplar } from '../otlp/model.ts';
import type { Series } from './series-table.ts';

/**
 * Keeps the newest exemplar of each series. An exemplar of a histogram is kept at the series of the bucket that its
 * value falls into. Only an exemplar that is newer than the previous one also goes into the ring (the agent's newest
 * exemplars), because senders repeat the last one with every point. An exemplar without a trace adds nothing to the
 * series and is left out.
 */
export function noteExemplars(series: readonly Series[], exemplars: readonly Exemplar[], ring: ExemplarRing): void {
  for (const exemplar of exemplars) {
    if (exemplar.traceId === '' || Number.isNaN(exemplar.value)) continue;
    const target = series.find(({ component: { suffix, extra } }) =>
      suffix === '_bucket' ? exemplar.value <= boundOf(extra?.[1]) : suffix === '' && extra === null,
    );
    if (!target) continue;
    const known = target.exemplar;
    if (known !== null && known.timeNs > exemplar.timeNs) continue;
    if (known === null || known.timeNs < exemplar.timeNs) ring.add(target, exemplar);
    target.exemplar = exemplar;
  }
}

function boundOf(text: string | undefined): number {
  return text === '+Inf' ? Infinity : Number(text);
}
