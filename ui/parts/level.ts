/** How bad a share of failed requests is. Pure. */
export type Level = 'none' | 'good' | 'warn' | 'bad';

/** From this share on an edge or a service is shown as failing. */
export const badShare = 0.05;

export function levelOf(share: number | null | undefined): Level {
  if (share === null || share === undefined) return 'none';
  if (share >= badShare) return 'bad';
  return share > 0 ? 'warn' : 'good';
}

/** What stands beside the colour. */
export const signs: Readonly<Record<Level, string>> = { none: '', good: '', warn: '▲', bad: '✕' };
