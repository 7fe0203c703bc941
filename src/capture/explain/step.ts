import type { ExplainStep } from '../../api/page/types.ts';

export const yes = (asks: string, fact: string): ExplainStep => ({ asks, answer: 'yes', fact });
export const no = (asks: string, fact: string, way: string): ExplainStep => ({ asks, answer: 'no', fact, way });
export const note = (asks: string, fact: string, way?: string): ExplainStep => ({
  asks,
  answer: 'note',
  fact,
  ...(way === undefined ? {} : { way }),
});
export const unknown = (asks: string, fact: string): ExplainStep => ({ asks, answer: 'unknown', fact });

/** The first step that explains why there is no data. */
export function firstNo(steps: readonly ExplainStep[]): ExplainStep | undefined {
  return steps.find(({ answer }) => answer === 'no');
}
