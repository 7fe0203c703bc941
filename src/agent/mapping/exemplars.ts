import type { Exemplar } from '../otlp/model.ts';
import type { Series } from './series-table.ts';

/**
 * Keeps the newest exemplar of each series: on the bucket that its value falls into, or on the scalar itself.
 * One without a trace says nothing that the series does not, and is left out.
 */
export function noteExemplars(series: readonly Series[], exemplars: readonly Exemplar[]): void {
  for (const exemplar of exemplars) {
    if (exemplar.traceId === '' || Number.isNaN(exemplar.value)) continue;
    const target = series.find(({ component: { suffix, extra } }) =>
      suffix === '_bucket' ? exemplar.value <= boundOf(extra?.[1]) : suffix === '' && extra === null,
    );
    if (target && (target.exemplar?.timeNs ?? 0) <= exemplar.timeNs) target.exemplar = exemplar;
  }
}

function boundOf(text: string | undefined): number {
  return text === '+Inf' ? Infinity : Number(text);
}
