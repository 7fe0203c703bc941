import type { KubeClient } from './client.ts';
import { ApiReviews } from './reviews.ts';

const jwt = (payload: object): string => `e30.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.sig`;
const apiServer = 'https://kubernetes.default.svc';
const own = jwt({ sub: 'system:serviceaccount:svc-system:svc-query', aud: [apiServer] });

function subject(status: object, ownToken: string | undefined = own) {
  const asked: Record<string, unknown>[] = [];
  const client = {
    create: (_resource: unknown, review: { spec: Record<string, unknown> }) => {
      asked.push(review.spec);
      return Promise.resolve({ ...review, status });
    },
  } as unknown as KubeClient;
  const reviews = new ApiReviews(client, { audience: 'svc-query', ownToken: () => Promise.resolve(ownToken) });
  return { asked, review: () => reviews.reviewToken('abc', new AbortController().signal) };
}
const ann = { authenticated: true, user: { username: 'ann' } };

test('a review of a token names our program and the API server as audiences', async () => {
  const { asked, review } = subject({ ...ann, audiences: [apiServer] });
  expect(await review()).toEqual({ username: 'ann' });
  expect(asked).toEqual([{ token: 'abc', audiences: ['svc-query', apiServer] }]);
});

test.each<[string, object, boolean]>([
  ['only our program as audience', { ...ann, audiences: ['svc-query'] }, true],
  ['no audience', ann, true],
  ['another audience', { ...ann, audiences: ['vault'] }, false],
  ['a token that is not authenticated', { authenticated: false, audiences: [apiServer] }, false],
  ['a user without a name', { authenticated: true, user: {}, audiences: [apiServer] }, false],
])('whether a token is valid if the answer to its review has %s', async (_what, status, valid) => {
  expect((await subject(status).review()) !== undefined).toBe(valid);
});

test.each<[string, string]>([
  ['no token', ''],
  ['a token of another kind', 'opaque'],
  ['a token of a person, whose audience is a client of the issuer', jwt({ sub: 'ann', aud: 'kubectl' })],
  ['a token of a service account without audiences', jwt({ sub: 'system:serviceaccount:a:b' })],
])('if our program has %s, the review names no audience: the API server uses its own', async (_what, token) => {
  const { asked, review } = subject(ann, token);
  expect(await review()).toEqual({ username: 'ann' });
  expect(asked[0]).toEqual({ token: 'abc' });
});
