import { ApiError } from '../../cluster/api.ts';
import type { Api } from '../../cluster/api.ts';
import { createTokenSource } from './tokens.ts';
import type { Pod } from '../types.ts';

const pod: Pod = {
  metadata: { name: 'p', namespace: 'd', uid: 'u' },
  spec: { serviceAccountName: 'svc-agent', containers: [] },
};

/** An API server that hands out numbered tokens of ten minutes, and first refuses `refusals` times. */
function scriptedApi(now: () => number, refusals = 0): { api: Api; paths: string[] } {
  const paths: string[] = [];
  const request = (_method: string, path: string): Promise<never> => {
    if (refusals-- > 0) return Promise.reject(new ApiError(403, 'Forbidden', 'no relationship found'));
    paths.push(path);
    const expirationTimestamp = new Date(now() + 600_000).toISOString();
    return Promise.resolve({ status: { token: `token-${paths.length}`, expirationTimestamp } } as never);
  };
  return { api: { request } as unknown as Api, paths };
}

test('requests a new token only after four fifths of the life of the old one', async () => {
  let now = 0;
  const { api, paths } = scriptedApi(() => now);
  const source = createTokenSource(api, () => now);
  expect(source.nextRotationMs()).toBeUndefined();
  expect(await source.token(pod, undefined, 600)).toBe('token-1');
  expect(source.nextRotationMs()).toBe(480_000);
  now = 479_999;
  expect(await source.token(pod, undefined, 600)).toBe('token-1');
  now = 480_000;
  expect(await source.token(pod, undefined, 600)).toBe('token-2');
  expect(paths[0]).toBe('/api/v1/namespaces/d/serviceaccounts/svc-agent/token');
});

test('keeps a token for each audience', async () => {
  const { api } = scriptedApi(() => 0);
  const source = createTokenSource(api, () => 0);
  expect(await source.token(pod, 'a', 600)).toBe('token-1');
  expect(await source.token(pod, 'b', 600)).toBe('token-2');
  expect(await source.token(pod, 'a', 600)).toBe('token-1');
});

test('waits while the API server does not know yet which node the pod is on', async () => {
  const { api } = scriptedApi(() => 0, 2);
  expect(await createTokenSource(api, () => 0).token(pod, undefined, 600)).toBe('token-1');
});
