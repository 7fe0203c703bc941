import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MemoryPool, type Memory } from '../../base/memory-pool.ts';
import { parseSelector } from '../../promql/index.ts';
import {
  buildStreamedRead,
  createRemoteReadHandler,
  encodePoints,
  labelsFromObject,
  type ReadQuery,
} from '../../tsdb/index.ts';
import { closeServer, listen } from '../../net/listen.ts';
import { LoopWatch } from '../../testing/loop-watch.ts';
import { ShiftedClock } from '../../testing/shifted-clock.ts';
import { createHttpStore, type HttpStoreOptions } from './http-store.ts';

const end = 1_700_000_000_000;
let server: Server | undefined;
afterEach(async () => {
  if (server) await closeServer(server, 0);
  server = undefined;
});

async function storeOver(handler: RequestListener, more: Partial<HttpStoreOptions>) {
  server = createServer(handler);
  const port = await listen('store', server, { host: '127.0.0.1', port: 0 });
  const options = { api: 'query', tokenFile: '', caFile: '', tenant: '', clock: new ShiftedClock(end) } as const;
  return createHttpStore({ ...options, url: `http://127.0.0.1:${port}`, ...more });
}

const queries = [
  { startMs: end - 60_000, endMs: end, matchers: [{ type: '=' as const, name: '__name__', value: 'x' }], hints: {} },
];
const read = (left = 1e6) => ({
  deadlineMs: 5_000,
  budget: { left },
  signal: new AbortController().signal,
});

test.each(['read', 'query'] as const)(
  'through the %s API, an answer beyond the size cap is cut off, and the read is not repeated',
  async (api) => {
    let asked = 0;
    let sent = 0;
    const store = await storeOver(
      (_req, res) => {
        asked++;
        res.writeHead(200, { 'content-type': 'application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse' });
        const more = (): void => {
          // A frame that announces far more than the cap, and never ends by itself.
          sent += 64 * 1024;
          if (sent > 64 * 1024 * 1024) return void res.end();
          const part = Buffer.alloc(64 * 1024, 0x20);
          if (sent === 64 * 1024) Buffer.from([0x80, 0x80, 0x80, 0x10, 0, 0, 0, 0]).copy(part);
          if (res.write(part)) setImmediate(more);
          else res.once('drain', more);
        };
        more();
      },
      { api, maxBytes: 1024 * 1024 },
    );
    await expect(store.read(queries, read())).rejects.toMatchObject({
      reason: 'over limit',
      message: 'answer is larger than 1048576 bytes',
    });
    expect(asked).toBe(1);
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  },
);

test('each request carries the tenant and the current token of the file', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'store-token-'));
  const tokenFile = join(dir, 'token');
  writeFileSync(tokenFile, 'first\n');
  const seen: unknown[] = [];
  const store = await storeOver(
    (req, res) => {
      seen.push([req.headers['x-scope-orgid'], req.headers.authorization, req.url?.split('?')[0], req.method]);
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ status: 'success', data: { resultType: 'matrix', result: [] } }));
    },
    { tenant: 'team-a', tokenFile },
  );
  expect(await store.read(queries, read())).toEqual([[]]);
  writeFileSync(tokenFile, 'second');
  expect(await store.read(queries, read())).toEqual([[]]);
  expect(seen).toEqual(['first', 'second'].map((token) => ['team-a', `Bearer ${token}`, '/api/v1/query', 'POST']));
  rmSync(dir, { recursive: true });
});

type Matchers = ReadQuery['matchers'];
const anyName = '__name__!=""';
test.each<[title: string, matchers: Matchers, selector: string]>([
  ['without matchers', [], `{${anyName}}`],
  [
    'whose matchers all match the empty value',
    [
      { type: '=', name: 'pod', value: '' },
      { type: '=~', name: 'job', value: '.*' },
    ],
    `{pod="",job=~".*",${anyName}}`,
  ],
  ['with a matcher that refuses the empty value', [{ type: '!=', name: 'pod', value: '' }], '{pod!=""}'],
])('a store is asked for a selector that it does not refuse: for one %s', async (_, matchers, selector) => {
  const asked: unknown[] = [];
  const store = await storeOver((req, res) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of req) parts.push(part as Buffer);
      const form = new URLSearchParams(Buffer.concat(parts).toString());
      const text = form.get('match[]') ?? form.get('query')!.replace(/\[\w+\]$/, '');
      asked.push([req.url, text]);
      // As in Prometheus, whose parser refuses a selector that matches the empty value.
      try {
        parseSelector(text);
      } catch (error) {
        return void res.writeHead(400).end(JSON.stringify({ status: 'error', error: (error as Error).message }));
      }
      const result = [{ __name__: 'x' }];
      const data = req.url === '/api/v1/series' ? result : { resultType: 'matrix', result: [] };
      res.end(JSON.stringify({ status: 'success', data }));
    })();
  }, {});
  const span = { startMs: end - 60_000, endMs: end, matchers };
  const listed = await store.read([{ ...span, hints: { func: 'series' } }], read());
  expect(listed.map((all) => all.map(({ labels }) => labels))).toEqual([[[['__name__', 'x']]]]);
  expect(await store.read([{ ...span, hints: {} }], read())).toEqual([[]]);
  expect(asked).toEqual(['series', 'query'].map((path) => [`/api/v1/${path}`, selector]));
});

test('samples beyond the query’s budget fail the query, not the store', async () => {
  const values = Array.from({ length: 50 }, (_, i) => [end / 1000 - 50 + i, '1']);
  const store = await storeOver((_req, res) => {
    res.setHeader('content-type', 'application/json');
    const result = [{ metric: { __name__: 'x' }, values }];
    res.end(JSON.stringify({ status: 'success', data: { resultType: 'matrix', result } }));
  }, {});
  await expect(store.read(queries, read(10))).rejects.toMatchObject({ name: 'QueryError', errorType: 'execution' });
});

test('an answer of the query API is charged to the memory limit as series, not as the text it comes in', async () => {
  const values = Array.from({ length: 5_000 }, (_, i) => [end / 1000 - 50 + i / 100, '1']);
  const result = Array.from({ length: 20 }, (_, i) => ({ metric: { pod: `p${i}` }, values }));
  const body = JSON.stringify({ status: 'success', data: { resultType: 'matrix', result } });
  const store = await storeOver((_req, res) => {
    res.setHeader('content-type', 'application/json');
    res.end(body);
  }, {});
  const readWith = async (limitBytes: number): Promise<number> => {
    const memory = new MemoryPool({ limitBytes, freeBytes: 0 });
    const account = memory.open('user');
    const { signal } = new AbortController();
    // Longer than a busy machine needs for megabytes of samples.
    const options = { ...read(), deadlineMs: 60_000 };
    await account.run(signal, ({ part }) =>
      store.read(queries, { ...options, budget: { ...options.budget, memory: part() } }),
    );
    return memory.heldBytes;
  };
  const whole = 20 * (16 * values.length + 300);
  expect(whole).toBeLessThan(body.length);
  // While a series is read, its samples are there twice.
  expect(await readWith(whole + 32 * values.length)).toBe(whole);
  await expect(readWith(whole)).rejects.toMatchObject({ name: 'QueryError', code: 'ERR_QUERY_LIMIT' });
});

test('an answer of any length is read without holding up what else the process does', async () => {
  const values = Array.from({ length: 20_000 }, (_, i) => `[${(end - 60_000 + 3 * i) / 1000},"${i * 31}"]`).join();
  const one = Buffer.from(`{"metric":{"pod":"p"},"values":[${values}]}`);
  const store = await storeOver((_req, res) => {
    res.write('{"status":"success","data":{"resultType":"matrix","result":[');
    let sent = 0;
    const more = (): void => {
      if (sent > 0) res.write(',');
      res.write(one);
      if (++sent === 60) res.end(']}}');
      else setImmediate(more);
    };
    more();
  }, {});
  const watch = new LoopWatch();
  watch.start();
  try {
    const [series] = await store.read(queries, { ...read(1e7), deadlineMs: 120_000 });
    expect([series!.length, series!.at(-1)!.timestamps.length]).toEqual([60, 20_000]);
    expect(series![0]!.values.slice(0, 3)).toEqual(Float64Array.of(0, 31, 62));
    expect(watch.report().longestCpuMs).toBeLessThan(150);
  } finally {
    watch.stop();
  }
});

test.each([
  ['a sample without a value', '[1700000000]', 'a sample is not a pair of time and value'],
  ['a sample that is a number', '7', 'a sample is not a pair of time and value'],
  [
    'samples that are not in time order',
    '[1699999999,"1"],[1699999998,"2"]',
    'samples of a series are not in time order',
  ],
  ['an empty value', '[1699999999,""]', 'the value of a sample is not a number'],
  ['a blank value', '[1699999999," "]', 'the value of a sample is not a number'],
  ['a value that is a word', '[1699999999,"constructor"]', 'the value of a sample is not a number'],
])('an answer with %s is refused, and not requested again', async (_, sample, message) => {
  let asked = 0;
  const store = await storeOver((_req, res) => {
    asked++;
    const series = `{"metric":{},"values":[${sample}]}`;
    res.end(`{"status":"success","data":{"resultType":"matrix","result":[${series}]}}`);
  }, {});
  await expect(store.read(queries, read())).rejects.toMatchObject({ reason: 'protocol', message });
  expect(asked).toBe(1);
});

test('a sample that a store without deduplication gives twice counts once; the values may be no finite numbers', async () => {
  const at = (ms: number) => (end - 10_000 + ms) / 1000;
  const values = [
    ...[0, 0, 1, 1, 1].map((ms, i) => [at(ms), String(5 + i)]),
    ...['NaN', '+Inf', '-Inf', '1e+300'].map((text, i) => [at(2 + i), text]),
  ];
  const store = await storeOver((_req, res) => {
    const result = ['a', 'b'].map((pod) => ({ metric: { pod }, values }));
    res.end(JSON.stringify({ status: 'success', data: { resultType: 'matrix', result } }));
  }, {});
  const [series] = await store.read(queries, read());
  expect(series!.map(({ timestamps }) => [...timestamps])).toEqual(
    Array(2).fill([0, 1, 2, 3, 4, 5].map((ms) => end - 10_000 + ms)),
  );
  expect(series!.map((one) => [...one.values])).toEqual(Array(2).fill([5, 7, NaN, Infinity, -Infinity, 1e300]));
});

test('a failed read aborts the parallel ones, and the budget is restored before all are repeated', async () => {
  const values = Array.from({ length: 50 }, (_, i) => [end / 1000 - 50 + i, '1']);
  const body = JSON.stringify({ status: 'success', data: { resultType: 'matrix', result: [{ metric: {}, values }] } });
  const budget: { left: number; memory?: Memory } = { left: 1e6 };
  const hanging: ServerResponse[] = [];
  let hangingAtRepetition: number | undefined;
  let asked = 0;
  const store = await storeOver((req, res) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of req) parts.push(part as Buffer);
      const [, name] = /"([xyz])"/.exec(new URLSearchParams(Buffer.concat(parts).toString()).get('query')!)!;
      if (++asked > 3) {
        hangingAtRepetition ??= hanging.length;
        return void res.end(body);
      }
      if (name === 'x') return void res.end(body);
      if (name === 'y') {
        hanging.push(res);
        res.on('close', () => hanging.pop());
        return void res.write(body.slice(0, 10));
      }
      // `z` fails after the answer for `x` was read and that for `y` has begun. In the meantime, a reader other than
      // these three takes 7 samples from the same budget.
      while (budget.left === 1e6 || hanging.length === 0) await nextTurn();
      budget.left -= 7;
      res.writeHead(503).end('busy');
    })();
  }, {});
  const named = (value: string) => ({ ...queries[0]!, matchers: [{ type: '=' as const, name: '__name__', value }] });
  const pool = new MemoryPool({ limitBytes: 1e7, freeBytes: 0 });
  const { signal } = new AbortController();
  await pool.open('user').run(signal, ({ part }) => {
    budget.memory = part();
    return store.read(['x', 'y', 'z'].map(named), { ...read(), budget });
  });
  expect({ asked, hangingAtRepetition }).toEqual({ asked: 6, hangingAtRepetition: 0 });
  expect([budget.left, pool.heldBytes]).toEqual([1e6 - 150 - 7, 3 * (50 * 16 + 200)]);
});

test.each(['read', 'query'] as const)(
  'when two reads over the %s API break off and are repeated, each takes from the shared budget only once',
  async (api) => {
    const times = Array.from({ length: 240 }, (_, i) => end - 59_000 + 100 * i);
    const points = times.map((t) => ({ t, low: 0, high: 0x3ff00000 }));
    const stored = { labels: labelsFromObject({ __name__: 'x' }), chunks: () => encodePoints(points, 120) };
    const streamed = createRemoteReadHandler({ select: () => [stored] });
    const values = times.map((t) => [t / 1000, '1']);
    const json = { status: 'success', data: { resultType: 'matrix', result: [{ metric: { __name__: 'x' }, values }] } };
    let asked = 0;
    const store = await storeOver(
      (_req, res) => {
        void (async () => {
          const breaksOff = ++asked <= 2;
          const { headers, body } = buildStreamedRead(queries);
          const answer = await streamed({ headers, body });
          res.writeHead(200, api === 'read' ? answer.headers : {});
          const parts = api === 'read' ? answer.body : [JSON.stringify(json)];
          for await (const part of parts) res.write(part);
          // The connection is closed before the answer has ended.
          if (breaksOff) setImmediate(() => res.destroy());
          else res.end();
        })();
      },
      { api },
    );
    const pool = new MemoryPool({ limitBytes: 1e7, freeBytes: 0 });
    const budget: { left: number; memory?: Memory } = { left: 480 };
    let alone = 0;
    await pool.open('user').run(new AbortController().signal, async ({ part }) => {
      budget.memory = part();
      const both = await Promise.all([1, 2].map(() => store.read(queries, { ...read(), budget })));
      expect(both.map(([series]) => series!.map(({ timestamps }) => timestamps.length))).toEqual([[240], [240]]);
      expect([asked, budget.left]).toEqual([4, 0]);
      const before = pool.heldBytes;
      budget.left = 240;
      await store.read(queries, { ...read(), budget });
      alone = pool.heldBytes - before;
      expect(before).toBe(2 * alone);
    });
    expect(alone).toBeGreaterThan(240 * 16);
  },
);

test.each([
  [
    'warns of a part that did not answer',
    { warnings: ['store 10.0.0.7 is away'] },
    /not whole: store 10\.0\.0\.7 is away/,
  ],
  ['says that its answer is partial', { isPartial: true }, /not whole/],
])('a store that %s counts as failed', async (_, more, reason) => {
  const store = await storeOver((_req, res) => {
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ status: 'success', data: { resultType: 'matrix', result: [] }, ...more }));
  }, {});
  await expect(store.read(queries, read())).rejects.toMatchObject({
    reason: 'protocol',
    message: expect.stringMatching(reason),
  });
});

test('a series with both native histograms and floats is refused', async () => {
  const store = await storeOver((_req, res) => {
    const result = [{ metric: { __name__: 'x' }, values: [[end / 1000, '1']], histograms: [[end / 1000 - 1, {}]] }];
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ status: 'success', data: { resultType: 'matrix', result } }));
  }, {});
  await expect(store.read(queries, read())).rejects.toMatchObject({
    message: expect.stringContaining('native histograms'),
  });
});

test('a store’s error is reported in its own words; if the store lacks remote read, a remedy is added', async () => {
  const refusing = await storeOver((_req, res) => {
    res.writeHead(422, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ status: 'error', errorType: 'execution', error: 'too many samples' }));
  }, {});
  await expect(refusing.read(queries, read())).rejects.toMatchObject({ message: 'HTTP 422: too many samples' });
  await closeServer(server!, 0);
  const without = await storeOver((_req, res) => res.writeHead(404).end('404 page not found\n'), { api: 'read' });
  await expect(without.read(queries, read())).rejects.toMatchObject({
    message: 'HTTP 404: 404 page not found (a store without remote read needs --long-term-api=query)',
  });
});

test('only the beginning of a long error text of a store is read', async () => {
  let sent = 0;
  const store = await storeOver((_req, res) => {
    res.writeHead(500);
    const more = (): void => {
      sent += 64 * 1024;
      if (sent > 64 * 1024 * 1024) return void res.end();
      if (res.write('x'.repeat(64 * 1024))) setImmediate(more);
      else res.once('drain', more);
    };
    more();
  }, {});
  await expect(store.read(queries, read())).rejects.toMatchObject({
    reason: 'protocol',
    message: expect.stringMatching(/^HTTP 500: x+ … x+$/),
  });
  expect(sent).toBeLessThan(16 * 1024 * 1024);
});
