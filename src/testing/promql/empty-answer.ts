import type { FragmentResult } from '../../promql/index.ts';

/** A node's answer without anything in it. */
export const emptyAnswer: FragmentResult = {
  columns: [],
  groups: [],
  annotations: [],
  warnings: [],
  omittedWarnings: 0,
  omittedInfos: 0,
  samplesRead: 0,
  seriesRead: 0,
};
