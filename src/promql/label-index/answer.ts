import { OperatorError } from '../../base/errors.ts';
import type { IndexKind } from './request.ts';
import type { LabelList } from './series-pool.ts';

/** The content type of an answer. */
export const indexContentType = 'application/x-svc-index; v=1';

/** The header of an agent's answer: about the agent and the data that follows. */
export interface IndexHeader {
  /** Repeats the request's value. */
  readonly kind: IndexKind;
  readonly node: string;
  /** False when a matching series carries another node's name. */
  readonly partitionClean: boolean;
}

/** The content of the index, sorted and without repetition: texts, or the label sets of series. */
export interface IndexLists {
  readonly texts: readonly string[];
  readonly series: LabelList;
}

export function malformed(reason: string): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', `index answer: ${reason}`);
}
