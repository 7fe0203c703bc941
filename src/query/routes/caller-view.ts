import { errorText } from '../../base/errors.ts';
import { ApiError } from '../api/api-error.ts';
import type { HandlerDeps } from '../api/call.ts';

/**
 * The result of a review of the caller's rights. Errors: ApiError `unavailable` when the review fails, so that the
 * caller is shown nothing.
 */
export async function reviewed<T>(review: () => T, { logger }: Pick<HandlerDeps, 'logger'>): Promise<Awaited<T>> {
  try {
    return await review();
  } catch (error) {
    logger.warn('rights could not be reviewed', { error: errorText(error) });
    throw new ApiError('unavailable', 'what you may see could not be reviewed by the API server; try again');
  }
}

/**
 * Why the agent of a node does not answer; undefined when it does. `missingNodes` are the nodes that an answer lacks.
 */
export function absences(
  { runner }: Pick<HandlerDeps, 'runner'>,
  missingNodes: readonly string[],
): (node: string) => string | undefined {
  const absent = new Map(runner.agents().map(({ node, absence }) => [node, absence]));
  return (node) => {
    if (!absent.has(node)) return 'no agent is expected there';
    return absent.get(node) ?? (missingNodes.includes(node) ? 'the agent does not answer' : undefined);
  };
}
