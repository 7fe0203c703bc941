import { OperatorError } from '../../base/errors.ts';
import type { IndexKind } from './request.ts';
import type { LabelList } from './series-pool.ts';

/** The content type of an answer. */
export const indexContentType = 'application/x-svc-index; v=1';

/** What an agent says of itself and of what it is about to send. */
export interface IndexHeader {
  /** Repeats the request's. */
  readonly kind: IndexKind;
  readonly node: string;
  /** False when a series that is asked for carries another node's name. */
  readonly partitionClean: boolean;
}

/** What the index has, sorted and without repetition: texts, or the label sets of series. */
export interface IndexLists {
  readonly texts: readonly string[];
  readonly series: LabelList;
}

export function malformed(reason: string): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', `index answer: ${reason}`);
}
