import type { DeferredSeries, Matcher, SelectRequest, SelectResult, Series, SeriesSource } from '../../promql/index.ts';
import { compareLabels } from '../../tsdb/index.ts';

/**
 * A source that shows only the series that match one of the given selectors whole. The selectors have no series in
 * common. Everything that an evaluation reads passes its source, so no part of an expression can leave them out.
 */
export class VisibleSource implements SeriesSource {
  readonly #source: SeriesSource;
  readonly #visible: readonly (readonly Matcher[])[];

  constructor(source: SeriesSource, visible: readonly (readonly Matcher[])[]) {
    this.#source = source;
    this.#visible = visible;
  }

  async select(request: SelectRequest): Promise<SelectResult> {
    const parts = await Promise.all(
      this.#visible.map((set) => this.#source.select({ ...request, matchers: [...request.matchers, ...set] })),
    );
    const series: (Series | DeferredSeries)[] = parts.flatMap((part) => part.series);
    const isSorted = parts.filter((part) => part.series.length > 0).length < 2 && parts.every(({ sorted }) => sorted);
    if (!isSorted) series.sort((a, b) => compareLabels(a.labels, b.labels));
    return {
      series,
      sorted: true,
      heldBytes: parts.reduce((sum, { heldBytes = 0 }) => sum + heldBytes, 0),
      warnings: parts.flatMap(({ warnings = [] }) => warnings),
    };
  }
}
