import { OperatorError } from '../../base/errors.ts';
import type { Header } from './index.pb.ts';
import type { IndexKind } from './request.ts';
import type { LabelList } from './series-pool.ts';

/** The content type of an answer with names or values of labels, or with label sets. */
export const indexContentType = 'application/x-svc-index; v=1';

/** The header of an answer, once the kind in it is known to be a valid one. */
export interface IndexHeader extends Header {
  readonly kind: IndexKind;
}

/** The lists of an answer, sorted and without repetition: names or values of labels, or the label sets of series. */
export interface IndexLists {
  readonly texts: readonly string[];
  readonly series: LabelList;
}

export function malformed(reason: string): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', `index answer: ${reason}`);
}
