import { executionError } from '../errors.ts';
import { textLength } from '../labels.ts';
import { queryLimits } from '../limits.ts';
import type { Labels } from '../types.ts';

/**
 * Labels that a query has made, unchanged. Series may share the texts of their labels, but not what is made of them:
 * keys, messages and answers.
 * Errors: `execution` for labels that are too long together.
 */
export function labelsWithin(labels: Labels): Labels {
  const length = textLength(labels);
  if (length <= queryLimits.labelsLength) return labels;
  throw executionError(`labels of ${length} characters, at most ${queryLimits.labelsLength}`);
}
