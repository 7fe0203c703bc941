import { OperatorError } from '../../base/errors.ts';
import { toApiError } from './api-error.ts';

test('a request that the pool of memory refuses is answered with 503 and the reason', () => {
  const { status, errorType, message } = toApiError(new OperatorError('ERR_QUERY_MEMORY', 'all queries hold all'));
  expect([status, errorType, message]).toEqual([503, 'unavailable', 'all queries hold all']);
});

test('a limit that a selector exceeds is told with 422', () => {
  const { status, errorType, message } = toApiError(new OperatorError('ERR_SELECTION_LIMIT', 'label value of 90'));
  expect([status, errorType, message]).toEqual([422, 'execution', 'label value of 90']);
});
