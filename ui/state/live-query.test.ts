import type { FailureKind } from '../api/client.ts';
import { deadlineOf, waitsForUser } from './live-query.ts';

test.each<[FailureKind, boolean]>([
  ['refused', true],
  ['timeout', true],
  ['too-large', true],
  ['network', false],
  ['unavailable', false],
  ['unauthorized', false],
  ['forbidden', false],
])('a live query that failed by %s waits for the user: %p', (kind, waits) => {
  expect(waitsForUser({ kind })).toBe(waits);
});

test('a query may take as long as the server lets it, and a little longer, so that the server says why it ended', () => {
  expect(deadlineOf({ 'query.timeout': '2m' })).toBe(125_000);
  expect(deadlineOf({ 'query.timeout': '1m30s', 'agent.timeout': '10s' })).toBe(95_000);
  expect([deadlineOf(undefined), deadlineOf({}), deadlineOf({ 'query.timeout': '0s' })]).toEqual(
    Array(3).fill(undefined),
  );
});
