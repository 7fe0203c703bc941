import { createServer } from 'node:http';
import { OperatorError } from '../../base/errors.ts';
import { silentLogger } from '../../base/logger.ts';
import { closeServer, listen } from '../../net/listen.ts';
import type { Matcher } from '../../tsdb/index.ts';
import { routed } from './routes.ts';
import { storeAdminRoute } from './store-admin-server.ts';

let calls: unknown[] = [];
let allowed = true;
let failure: Error | undefined;
const store = {
  snapshot: () => Promise.resolve('/data/store/snapshots/20260101T000000000Z'),
  prepare: (matchers: readonly Matcher[], mint: number, maxt: number) => {
    const isRefused = failure !== undefined && matchers.some(({ value }) => value === 'refused');
    if (!isRefused) return Promise.resolve(matchers.map((matcher) => ({ ...matcher, prepared: [mint, maxt] })));
    return Promise.reject(failure!);
  },
  delete: (matchers: readonly Matcher[], mint: number, maxt: number) => {
    calls.push([matchers, mint, maxt]);
    return Promise.resolve(1);
  },
};
const handler = routed([storeAdminRoute({ store, allowed: () => allowed, logger: silentLogger })], (res) =>
  res.end('next'),
);
const server = createServer(handler);
let url = '';

beforeAll(async () => void (url = `http://127.0.0.1:${await listen('admin', server, { host: '127.0.0.1', port: 0 })}`));
afterAll(() => closeServer(server, 100));
beforeEach(() => {
  calls = [];
  allowed = true;
  failure = undefined;
});

const post = (path: string): Promise<Response> => fetch(`${url}/api/v1/admin/tsdb/${path}`, { method: 'POST' });

describe('admin calls of the store', () => {
  test('a snapshot is answered with its name, as Prometheus answers', async () => {
    const response = await post('snapshot');
    expect([response.status, await response.json()]).toEqual([
      200,
      { status: 'success', data: { name: '20260101T000000000Z' } },
    ]);
  });

  test('a delete takes selectors, and times in seconds or RFC 3339; its answer has no body', async () => {
    const response = await post('delete_series?match[]=up{a=~"b|c"}&start=1.5&end=1970-01-01T00:00:02Z');
    expect(response.status).toBe(204);
    expect(calls).toEqual([
      [
        [expect.objectContaining({ name: 'a', type: '=~', value: 'b|c', prepared: [1500, 2000] }), nameIs('up')],
        1500,
        2000,
      ],
    ]);
    await post('delete_series?match[]=up&match[]=down');
    expect(calls.slice(1)).toEqual([
      [[nameIs('up')], -Infinity, Infinity],
      [[nameIs('down')], -Infinity, Infinity],
    ]);
  });

  test.each([
    ['delete_series', 'no match[] parameter provided'],
    ['delete_series?match[]=up&start=soon', 'invalid parameter "start"'],
    ['delete_series?match[]=up&start=2024-02-31T00:00:00Z', 'invalid parameter "start"'],
    ['delete_series?match[]=up&end=0x10', 'invalid parameter "end"'],
    ['delete_series?match[]=up{', 'unexpected'],
  ])('%s is refused with 400 and deletes nothing', async (path, message) => {
    const response = await post(path);
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: string }).error).toContain(message);
    expect(calls).toEqual([]);
  });

  test('where a selector exceeds a limit of the store, that is told, and nothing is deleted', async () => {
    failure = new OperatorError('ERR_SELECTION_LIMIT', 'matcher on path: label value of 90 characters');
    const response = await post('delete_series?match[]=up&match[]=refused');
    const error = 'matcher on path: label value of 90 characters';
    expect([response.status, await response.json()]).toEqual([400, { status: 'error', errorType: 'bad_data', error }]);
    expect(calls).toEqual([]);
  });

  test('a caller that may only read is refused; paths outside /api/v1/admin go to the next handler', async () => {
    allowed = false;
    expect((await post('snapshot')).status).toBe(403);
    expect(await (await fetch(`${url}/api/v1/read`)).text()).toBe('next');
    expect((await fetch(`${url}/api/v1/admin/tsdb/other`, { method: 'POST' })).status).toBe(403);
  });
});

function nameIs(value: string): unknown {
  return expect.objectContaining({ name: '__name__', type: '=', value });
}
