/** The severity of an error share. Pure. */
export type Level = 'none' | 'good' | 'warn' | 'bad';

/** An edge or a service with this error share or more is shown as failing. */
export const badShare = 0.05;

export function levelOf(share: number | null | undefined): Level {
  if (share === null || share === undefined) return 'none';
  if (share >= badShare) return 'bad';
  return share > 0 ? 'warn' : 'good';
}

/** The sign next to an error share, for users who do not see the colour. */
export const signs: Readonly<Record<Level, string>> = { none: '', good: '', warn: '▲', bad: '✕' };
