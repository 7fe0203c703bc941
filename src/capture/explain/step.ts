/** One question about why an object has data or not, and its answer: yes, no, a remark (`note`), or unknown. */
export interface Step {
  readonly asks: string;
  readonly answer: 'yes' | 'no' | 'note' | 'unknown';
  /** The fact behind the answer. */
  readonly fact: string;
  /** The remedy; present for every `no`. */
  readonly way?: string;
}

export const yes = (asks: string, fact: string): Step => ({ asks, answer: 'yes', fact });
export const no = (asks: string, fact: string, way: string): Step => ({ asks, answer: 'no', fact, way });
export const note = (asks: string, fact: string, way?: string): Step => ({
  asks,
  answer: 'note',
  fact,
  ...(way === undefined ? {} : { way }),
});
export const unknown = (asks: string, fact: string): Step => ({ asks, answer: 'unknown', fact });

/** The first step that explains why there is no data. */
export function firstNo(steps: readonly Step[]): Step | undefined {
  return steps.find(({ answer }) => answer === 'no');
}
