import fc from 'fast-check';
import type { Level } from '../rules/permissions.ts';
import { checkGrant, type GrantRequest } from './grant.ts';

const now = Date.UTC(2026, 0, 1);
const inMs = (ms: number): string => new Date(now + ms).toISOString();
const request: GrantRequest = {
  org: 'acme',
  repositories: ['gitops', 'extra'],
  permissions: new Map<string, Level>([['contents', 'write']]),
};
const repository = (name: string, login = 'acme'): object => ({ name, owner: { login } });
const good = {
  token: 'ghs_x',
  expires_at: inMs(3_600_000),
  repositories: [repository('gitops'), repository('extra')],
  permissions: { contents: 'write', metadata: 'read' },
};
const result = (change: object): string => {
  const checked = checkGrant({ ...good, ...change }, request, now);
  return 'ok' in checked ? 'ok' : checked.mismatch;
};

test.each<[sentence: string, change: object, expected: string]>([
  ['exactly what was requested', {}, 'ok'],
  ['no permission beyond the requested one, not even to read metadata', { permissions: { contents: 'write' } }, 'ok'],
  [
    'names in another case than the requested ones, as the platform spells them',
    { repositories: [repository('GitOps', 'Acme'), repository('extra')] },
    'ok',
  ],
  ['an expiry with a fraction of a second', { expires_at: '2026-01-01T00:59:59.123456Z' }, 'ok'],
  ['no token', { token: undefined }, 'no_token'],
  ['an empty token', { token: '' }, 'no_token'],
  ['a token with a space', { token: 'a b' }, 'no_token'],
  ['a token with a line feed', { token: 'a\n' }, 'no_token'],
  ['a token of 5000 characters', { token: 'x'.repeat(5000) }, 'no_token'],
  ['a token beyond ASCII', { token: 'ü' }, 'no_token'],
  ['no repositories', { repositories: undefined }, 'no_repositories'],
  ['an empty list of repositories', { repositories: [] }, 'missing_repository'],
  ['one repository missing', { repositories: [repository('gitops')] }, 'missing_repository'],
  [
    'one repository twice and one missing',
    { repositories: [repository('gitops'), repository('gitops')] },
    'missing_repository',
  ],
  ['one more repository', { repositories: [...good.repositories, repository('secret')] }, 'other_repository'],
  ['another owner', { repositories: [repository('gitops', 'evil'), repository('extra')] }, 'other_owner'],
  ['no owner', { repositories: [{ name: 'gitops' }, repository('extra')] }, 'other_owner'],
  ['repositories as object', { repositories: { gitops: {} } }, 'no_repositories'],
  ['a null among the repositories', { repositories: [null] }, 'other_repository'],
  ['no permissions', { permissions: undefined }, 'no_permissions'],
  ['permissions as list', { permissions: ['contents'] }, 'no_permissions'],
  ['fewer permissions', { permissions: { metadata: 'read' } }, 'fewer_permissions'],
  ['a lower level', { permissions: { contents: 'read' } }, 'fewer_permissions'],
  ['a higher level', { permissions: { contents: 'admin' } }, 'higher_permission'],
  ['one more permission', { permissions: { contents: 'write', issues: 'read' } }, 'more_permissions'],
  ['metadata to write', { permissions: { contents: 'write', metadata: 'write' } }, 'more_permissions'],
  ['an unknown level', { permissions: { contents: 'root' } }, 'unknown_level'],
  ['no expiry', { expires_at: undefined }, 'no_expiry'],
  ['an expiry as number', { expires_at: now + 1000 }, 'no_expiry'],
  ['an expiry that is not a time', { expires_at: 'tomorrow' }, 'no_expiry'],
  ['an expiry with an offset', { expires_at: '2026-01-01T00:30:00+01:00' }, 'no_expiry'],
  ['an expiry on the 99th of a month', { expires_at: '2026-01-99T00:30:00Z' }, 'expired'],
  ['an expiry in the past', { expires_at: inMs(-1) }, 'expired'],
  ['an expiry in 61 minutes and a second', { expires_at: inMs(3_661_000) }, 'lives_too_long'],
])('the verdict on a grant with %s', (_sentence, change, expected) => {
  expect(result(change)).toBe(expected);
});

test('a mismatch carries the token to revoke, when there is one', () => {
  expect(checkGrant({ ...good, permissions: {} }, request, now)).toEqual({
    mismatch: 'fewer_permissions',
    token: 'ghs_x',
  });
  expect(checkGrant(null, request, now)).toEqual({ mismatch: 'no_token', token: undefined });
});

test('whatever comes in, an accepted grant is never wider than the request', () => {
  const nameArb = fc.constantFrom('gitops', 'extra', 'secret', '', '__proto__');
  const loginArb = fc.constantFrom('acme', 'evil');
  const othersToo = [repository('gitops', 'evil'), repository('extra')];
  const levelArb = fc.constantFrom('read', 'write', 'admin', 'root');
  // Mostly what was requested, so that accepted answers and near misses both occur.
  const mostly = <T>(asked: T, other: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
    fc.oneof({ weight: 4, arbitrary: fc.constant(asked) }, { weight: 1, arbitrary: other });
  const repositoryArb = fc.oneof(fc.record({ name: nameArb, owner: fc.record({ login: loginArb }) }), fc.jsonValue());
  const permissionArb = fc.constantFrom('contents', 'metadata', 'administration', '__proto__');
  const answerArb = fc.record(
    {
      token: mostly('t', fc.constant('')),
      expires_at: mostly(inMs(1000), fc.constantFrom(inMs(4_000_000), 'x')),
      repositories: fc
        .tuple(
          mostly(good.repositories, fc.constantFrom([], othersToo)),
          fc.array(repositoryArb, { maxLength: 2 }),
          fc.nat(3),
        )
        .map(([asked, more, at]) => (asked as object[]).concat(at === 0 ? (more as object[]) : [])),
      permissions: mostly(good.permissions, fc.dictionary(permissionArb, levelArb)),
    },
    { requiredKeys: ['token', 'repositories', 'permissions'] },
  );
  let granted = 0;
  fc.assert(
    fc.property(fc.oneof(answerArb, fc.jsonValue()), (answer) => {
      const checked = checkGrant(answer, request, now);
      if (!('ok' in checked)) return;
      granted++;
      const { repositories, permissions } = answer as typeof good;
      const whose = (repositories as { name: string; owner: { login: string } }[]).map(
        (r) => `${r.owner.login}/${r.name}`,
      );
      expect(new Set(whose)).toEqual(new Set(['acme/gitops', 'acme/extra']));
      expect(
        Object.entries(permissions).every(
          ([n, l]) => (n === 'contents' && l === 'write') || (n === 'metadata' && l === 'read'),
        ),
      ).toBe(true);
    }),
    { numRuns: 1_000 },
  );
  expect(granted).toBeGreaterThan(20);
  expect(granted).toBeLessThan(900);
});
