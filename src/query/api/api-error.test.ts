import { OperatorError } from '../../base/errors.ts';
import { toApiError } from './api-error.ts';

test('a request that the pool of memory refuses is answered with 503 and the reason', () => {
  const { status, errorType, message } = toApiError(new OperatorError('ERR_QUERY_MEMORY', 'all queries hold all'));
  expect([status, errorType, message]).toEqual([503, 'unavailable', 'all queries hold all']);
});
