import { countSamples } from '../../promql/index.ts';
import type { Expr, QueryResult, SampleCounts, Steps } from '../../promql/index.ts';
import type { LostNode } from '../fanout/failure.ts';

/** The sample counts of a query, with the warnings about them. */
export interface CountedSamples {
  readonly samples: SampleCounts;
  readonly warnings: readonly string[];
}

/** Evaluates one of the counting queries over the nodes that the query itself had. */
export type RunCount = (
  text: string,
  steps: Steps,
) => Promise<{ readonly result: QueryResult; readonly lost: ReadonlyMap<string, LostNode> }>;

/**
 * Counts the samples of a query that has been answered.
 * Guarantees: a node that took part in the answer and does not answer the counting queries is named in a warning.
 */
export async function countQuery(
  expr: Expr,
  span: { readonly start: number; readonly end: number; readonly step: number },
  steps: Steps,
  run: RunCount,
): Promise<CountedSamples> {
  const lost = new Set<string>();
  const samples = await countSamples(expr, span, steps, async (text, at) => {
    const counted = await run(text, at);
    for (const node of counted.lost.keys()) lost.add(node);
    return stepValues(counted.result, at);
  });
  const warnings = [...lost]
    .sort()
    .map((node) => `the samples in "stats" lack those of ${node}, which did not answer again`);
  return { samples, warnings };
}

function stepValues({ value }: QueryResult, { start, step, count }: Steps): Float64Array {
  const found = new Float64Array(count);
  if (value.type !== 'matrix') return found;
  for (const { timestamps, values } of value.series) {
    for (let i = 0; i < timestamps.length; i++) found[Math.round((timestamps[i]! - start) / step)]! += values[i]!;
  }
  return found;
}
