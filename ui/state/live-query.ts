/** When a live query is sent again, and how long it may take. Pure. */
import type { ApiFailure, FailureKind } from '../api/client.ts';
import { secondsOf } from './duration.ts';

/** The same query would fail again, after as much work. */
const lasting: readonly FailureKind[] = ['refused', 'timeout', 'too-large'];

/** Whether a live query that failed so is sent again only when the user runs or changes it. */
export const waitsForUser = ({ kind }: Pick<ApiFailure, 'kind'>): boolean => lasting.includes(kind);

/** The server ends a query at its limit and says so. Its answer may take this long. Unit: ms. */
const graceMs = 5_000;

/** How long the answer to a query may take by the flags of the server; undefined if they do not say. Unit: ms. */
export function deadlineOf(flags: Readonly<Record<string, string>> | undefined): number | undefined {
  const limit = secondsOf(flags?.['query.timeout'] ?? '');
  return limit === undefined ? undefined : limit * 1_000 + graceMs;
}
