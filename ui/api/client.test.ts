import { jest } from '@jest/globals';

const storage: { getItem: (key: string) => string | null; setItem: (key: string, text: string) => void } = {
  getItem: () => null,
  setItem: () => {
    throw new DOMException('full', 'QuotaExceededError');
  },
};
Object.assign(globalThis, { sessionStorage: storage });
const { ask, onToken, refusalOf, setToken } = await import('./client.ts');

afterEach(() => jest.restoreAllMocks());

test.each([
  [400, 'refused'],
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [422, 'refused'],
  [429, 'unavailable'],
  [500, 'unavailable'],
  [501, 'refused'],
  [503, 'unavailable'],
  [520, 'unavailable'],
])('an answer with status %p is a failure of the kind %s', async (status, kind) => {
  const failure = await refusalOf(new Response('{"error":"a sentence"}', { status }));
  expect([failure.kind, failure.message]).toEqual([kind, 'a sentence']);
});

test('a query that the server ended at its limit has timed out', async () => {
  const body = '{"status":"error","errorType":"timeout","error":"query timed out"}';
  const failure = await refusalOf(new Response(body, { status: 503 }));
  expect([failure.kind, failure.message]).toEqual(['timeout', 'query timed out']);
});

test.each(['null', '7', '[]', '{}', '<html>'])('an answer of 200 with the body %s is an error', async (body) => {
  jest.spyOn(globalThis, 'fetch').mockResolvedValue(new Response(body));
  await expect(ask('query')).rejects.toThrow('The answer is not of the query API.');
});

test('a token that the browser does not store is used for as long as the page is open', async () => {
  const asked = jest.spyOn(globalThis, 'fetch').mockResolvedValue(new Response('{"status":"success","data":[]}'));
  const heard = jest.fn();
  const end = onToken(heard);
  setToken('sesame');
  end();
  expect(heard).toHaveBeenCalledTimes(1);
  await ask('query');
  expect(asked.mock.calls[0]![1]!.headers).toEqual({ authorization: 'Bearer sesame' });
  setToken('');
});
