import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Health } from './health.ts';
import { probeHandler } from './probes.ts';

let server: Server;
let base: string;
let metricsText: () => Promise<string>;
let refusal: { status: number; message: string } | undefined;
beforeEach(async () => {
  const liveness = new Health();
  liveness.add('sources', () => {});
  const readiness = new Health();
  readiness.add('caches', () => {});
  readiness.add('agents', () => Promise.reject(new Error('none answers')));
  metricsText = () => Promise.resolve('up 1\n');
  refusal = undefined;
  server = createServer(
    probeHandler({
      liveness,
      readiness,
      metricsText: () => metricsText(),
      refuseScrape: () => Promise.resolve(refusal),
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => new Promise((resolve) => server.close(resolve)));
const get = async (path: string, method = 'GET'): Promise<[number, string]> => {
  const answer = await fetch(base + path, { method, headers: { connection: 'close' } });
  return [answer.status, await answer.text()];
};

test.each<[string, number, string]>([
  ['/healthz', 200, 'ok\n'],
  ['/livez', 200, 'ok\n'],
  ['/livez?verbose', 200, '[+]sources ok\nlivez check passed\n'],
  ['/readyz', 503, '[+]caches ok\n[-]agents failed: none answers\nreadyz check failed\n'],
  ['/readyz?exclude=agents', 200, 'ok\n'],
  ['/readyz?exclude=agents&verbose', 200, '[+]caches ok\n[+]agents excluded: ok\nreadyz check passed\n'],
  ['/readyz/caches', 200, 'ok\n'],
  ['/readyz/agents', 503, '[-]agents failed: none answers\nreadyz check failed\n'],
  ['/readyz/absent', 404, 'not found\n'],
  ['/metrics', 200, 'up 1\n'],
  ['/other', 404, 'not found\n'],
])('GET %s is answered with %d', async (path, status, text) => {
  expect(await get(path)).toEqual([status, text]);
});

test('only reads are served, and metrics that cannot be collected are an error', async () => {
  expect(await get('/healthz', 'POST')).toEqual([405, 'method not allowed\n']);
  metricsText = () => Promise.reject(new Error('no'));
  expect(await get('/metrics')).toEqual([500, 'metrics failed\n']);
});

test('metrics require the permission to scrape, and probes do not', async () => {
  refusal = { status: 401, message: 'a bearer token is required' };
  expect(await get('/metrics')).toEqual([401, 'a bearer token is required\n']);
  expect(await get('/metrics?x')).toEqual([401, 'a bearer token is required\n']);
  expect(await get('/livez')).toEqual([200, 'ok\n']);
});
