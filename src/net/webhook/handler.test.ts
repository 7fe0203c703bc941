import { jest } from '@jest/globals';
import { createServer, request as httpRequest, type ClientRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger, silentLogger } from '../../base/logger.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import type { AdmissionRequest, AdmissionVerdict } from './admission.ts';
import { webhookHandler } from './handler.ts';

const clock = new FakeClock();
let verdict: (request: AdmissionRequest) => AdmissionVerdict | Promise<AdmissionVerdict>;
let seen: [string, number][];
let server: Server;
let base: string;
beforeEach(async () => {
  seen = [];
  verdict = () => ({ allowed: true });
  const handler = webhookHandler({
    validators: { '/validate/widgets': (request) => verdict(request) },
    converters: {
      'example.dev/Widget': {
        v1: { v2: (o) => ({ ...o, spec: { length: (o['spec'] as { size: number }).size } }) },
        v2: { v1: (o) => ({ ...o, spec: { size: (o['spec'] as { length: number }).length } }) },
      },
    },
    clock,
    logger: silentLogger,
    observe: (webhook) => (code) => void seen.push([webhook, code]),
  });
  server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const review = (request: object = {}): object => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'u1',
    operation: 'CREATE',
    resource: { group: 'example.dev', version: 'v1', resource: 'widgets' },
    name: 'one',
    namespace: 'shop',
    userInfo: { username: 'anna' },
    object: { apiVersion: 'example.dev/v1', kind: 'Widget', metadata: { name: 'one' } },
    oldObject: null,
    ...request,
  },
});
async function post(path: string, body: unknown): Promise<[number, Record<string, unknown>]> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await fetch(base + path, { method: 'POST', body: text });
  return [answer.status, (await answer.json()) as Record<string, unknown>];
}

test('an allowed request is answered with its uid and with warnings cut to the limit of the API', async () => {
  verdict = () => ({ allowed: true, warnings: ['x'.repeat(300)] });
  const [status, body] = await post('/validate/widgets', review());
  expect([status, body]).toEqual([
    200,
    {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: 'u1', allowed: true, warnings: ['x'.repeat(256)] },
    },
  ]);
  expect(seen).toEqual([['/validate/widgets', 200]]);
});

test('a denied request carries the status that kubectl shows, and the validator gets the user', async () => {
  let request: AdmissionRequest | undefined;
  verdict = (r) => {
    request = r;
    return { allowed: false, reason: 'Forbidden', message: 'not like that' };
  };
  const [, body] = await post('/validate/widgets', review());
  expect(body['response']).toEqual({
    uid: 'u1',
    allowed: false,
    status: { code: 403, reason: 'Forbidden', message: 'not like that' },
  });
  expect(request).toMatchObject({ username: 'anna', namespace: 'shop', oldObject: undefined, dryRun: false });
});

test.each<[string, () => AdmissionVerdict | Promise<AdmissionVerdict>]>([
  [
    'throws',
    () => {
      throw new TypeError('a fault');
    },
  ],
  ['rejects', () => Promise.reject(new Error('no caches'))],
])('a validator that %s gives 500 and never allows the request', async (_name, broken) => {
  verdict = broken;
  const [status, body] = await post('/validate/widgets', review());
  expect([status, body['response']]).toEqual([500, undefined]);
  expect(seen).toEqual([['/validate/widgets', 500]]);
});

test('a validator that takes too long gives 500 in time', async () => {
  let asked = false;
  verdict = () => {
    asked = true;
    return new Promise(() => {});
  };
  const answer = post('/validate/widgets', review());
  while (!asked) await clock.advance(0);
  await clock.advance(4_000);
  expect((await answer)[0]).toBe(500);
});

test.each<[string, unknown, string]>([
  ['is not JSON', 'not json', 'not JSON'],
  ['is of another kind', { apiVersion: 'v1', kind: 'Pod' }, 'apiVersion, kind'],
  ['has no request', { ...review(), request: undefined }, 'request'],
  ['has no uid', review({ uid: '' }), 'request.uid'],
  ['has an unknown operation', review({ operation: 'PATCH' }), 'request.operation'],
  ['has a string as object', review({ object: 'x' }), 'request.object'],
])('a review that %s gives 400 with a message that says so', async (_name, body, field) => {
  const [status, answer] = await post('/validate/widgets', body);
  expect([status, answer['message']]).toEqual([400, expect.stringContaining(field)]);
});

test('other paths and methods are refused', async () => {
  expect((await post('/validate/other', review()))[0]).toBe(404);
  expect((await post('/toString', review()))[0]).toBe(404);
  expect((await fetch(`${base}/validate/widgets`)).status).toBe(405);
});

const conversion = (desiredAPIVersion: string, ...objects: object[]): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'ConversionReview',
  request: { uid: 'c1', desiredAPIVersion, objects },
});
const widget = { apiVersion: 'example.dev/v1', kind: 'Widget', metadata: { name: 'one' }, spec: { size: 3 } };

test('objects are converted, and objects already in the requested version stay as they are', async () => {
  const there = { ...widget, apiVersion: 'example.dev/v2', spec: { length: 4 } };
  const [, body] = await post('/convert', conversion('example.dev/v2', widget, there));
  expect(body['response']).toEqual({
    uid: 'c1',
    result: { status: 'Success' },
    convertedObjects: [{ ...widget, apiVersion: 'example.dev/v2', spec: { length: 3 } }, there],
  });
});

test('one object without a converter fails the whole review, and the message names the object', async () => {
  const stray = { ...widget, apiVersion: 'example.dev/v3', metadata: { name: 'stray' } };
  const [, body] = await post('/convert', conversion('example.dev/v2', widget, stray));
  expect(body['response']).toEqual({
    uid: 'c1',
    result: {
      status: 'Failure',
      message: expect.stringContaining('Widget stray: no converter from example.dev/v3 to example.dev/v2'),
    },
    convertedObjects: [],
  });
});

test('the conversion path refuses an AdmissionReview', async () => {
  expect((await post('/convert', review()))[0]).toBe(400);
});

const mebibyte = 1024 * 1024;

test('a conversion of a long list of 20 MiB is accepted, and one of 25 MiB is refused', async () => {
  const objects = (count: number): object[] =>
    Array.from({ length: count }, () => ({ ...widget, spec: { size: 1, text: 'x'.repeat(mebibyte) } }));
  expect((await post('/convert', conversion('example.dev/v1', ...objects(20))))[0]).toBe(200);
  const [status, body] = await post('/convert', conversion('example.dev/v1', ...objects(25)));
  expect([status, body['message']]).toEqual([400, expect.stringContaining('larger than 25165824 bytes')]);
});

test.each<[sentence: string, path: string, text: string, message: string]>([
  ['a conversion that only opens lists', '/convert', '['.repeat(4 * mebibyte), 'nested deeper than 1000'],
  ['a conversion of very many empty lists', '/convert', '[],'.repeat(1_000_000), 'more than 750000 values'],
  ['an admission that only opens lists', '/validate/widgets', '{"a":'.repeat(mebibyte), 'nested deeper than 1000'],
  ['an admission of very many numbers', '/validate/widgets', `[${'1,'.repeat(300_000)}1]`, 'more than 250000 values'],
])('%s is refused before it is parsed', async (_sentence, path, text, message) => {
  const parse = jest.spyOn(JSON, 'parse');
  const answer = await fetch(base + path, { method: 'POST', body: text });
  const parsed = parse.mock.calls.some(([read]) => read.length === text.length);
  parse.mockRestore();
  expect([answer.status, ((await answer.json()) as { message: string }).message, parsed]).toEqual([
    400,
    expect.stringContaining(message),
    false,
  ]);
});

test('the values of reviews that are being answered are bounded together, and leave room for others', async () => {
  const decided = Promise.withResolvers<AdmissionVerdict>();
  let asked = 0;
  verdict = () => (asked++, decided.promise);
  const large = review({ object: { metadata: {}, list: Array.from({ length: 200_000 }, () => 1) } });
  const held = Array.from({ length: 3 }, () => post('/validate/widgets', large));
  await until('the validator of three reviews', () => asked === 3);
  expect((await post('/validate/widgets', large))[0]).toBe(503);
  const fromElsewhere = httpRequest(`${base}/validate/widgets`, { method: 'POST', localAddress: '127.0.0.2' });
  const status = new Promise((resolve) => fromElsewhere.on('response', (res) => resolve(res.resume().statusCode)));
  fromElsewhere.end(JSON.stringify(large));
  await until('the validator of the review from elsewhere', () => asked === 4);
  decided.resolve({ allowed: true });
  expect(await status).toBe(200);
  expect((await Promise.all(held)).map(([code]) => code)).toEqual([200, 200, 200]);
  expect((await post('/validate/widgets', large))[0]).toBe(200);
});

test('without converters there is no conversion path', async () => {
  const handler = webhookHandler({ validators: {}, converters: {}, clock, logger: silentLogger });
  server.removeAllListeners('request').on('request', handler);
  expect((await post('/convert', conversion('example.dev/v2', widget)))[0]).toBe(404);
});

describe('the log', () => {
  let lines: string[];
  beforeEach(() => {
    lines = [];
    const logger = createLogger({ write: (line) => void lines.push(line) });
    const validators = { '/validate/widgets': (request: AdmissionRequest) => verdict(request) };
    server.removeAllListeners('request').on('request', webhookHandler({ validators, converters: {}, clock, logger }));
  });

  test('has the beginning of what a caller sends', async () => {
    const long = (c: string): string => c.repeat(mebibyte);
    const namesOf = { name: long('n'), namespace: long('s'), userInfo: { username: long('u') } };
    const resource = { group: 'example.dev', version: 'v1', resource: long('r') };
    const request = review({ ...namesOf, resource });
    verdict = () => ({ allowed: false, message: long('m') });
    expect((await post('/validate/widgets', request))[0]).toBe(200);
    verdict = () => Promise.reject(new Error(long('e')));
    expect((await post('/validate/widgets', request))[0]).toBe(500);
    const [denied, failed] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(denied).toMatchObject({
      msg: 'request denied',
      name: 'n'.repeat(253),
      namespace: 's'.repeat(63),
      username: 'u'.repeat(256),
      resource: 'r'.repeat(253),
      reason: 'm'.repeat(1_024),
    });
    expect(failed).toMatchObject({ msg: 'webhook failed', error: 'e'.repeat(1_024) });
  });

  test.each<[string, unknown]>([
    ['reviews that cannot be read', 'not json'],
    ['denials', review()],
  ])('has sixty lines a minute at most about %s from one address, and has those of others', async (_what, body) => {
    verdict = () => ({ allowed: false, message: 'no' });
    const sent = async (): Promise<number> => {
      const before = lines.length;
      for (let i = 0; i < 70; i++) await post('/validate/widgets', body);
      return lines.length - before;
    };
    expect(await sent()).toBe(60);
    const answered = new Promise((resolve, reject) => {
      const target = { method: 'POST', localAddress: '127.0.0.2' };
      const fromElsewhere = httpRequest(`${base}/validate/widgets`, target, (res) => res.resume().on('end', resolve));
      fromElsewhere.on('error', reject).end(JSON.stringify(body));
    });
    await answered;
    expect(lines).toHaveLength(61);
    await clock.advance(60_000);
    expect(await sent()).toBe(60);
  });
});

/** Sends the first `bytes` of a review that never ends. `status` resolves with the status of the answer. */
function unended(bytes: number): { request: ClientRequest; status: Promise<number | undefined> } {
  const headers = { 'content-length': String(8 * mebibyte) };
  const request = httpRequest(`${base}/validate/widgets`, { method: 'POST', headers, agent: false });
  request.write(Buffer.alloc(bytes, ' '));
  const status = new Promise<number | undefined>((resolve) => {
    request.on('response', (res) => resolve(res.resume().statusCode)).on('error', () => resolve(undefined));
  });
  return { request, status };
}

test('the unfinished reviews of one address are bounded together, and leave room for others', async () => {
  const held = Array.from({ length: 5 }, () => unended(7 * mebibyte));
  expect(await Promise.race(held.map(({ status }) => status))).toBe(503);
  const fromElsewhere = httpRequest(`${base}/validate/widgets`, { method: 'POST', localAddress: '127.0.0.2' });
  const status = new Promise((resolve) => fromElsewhere.on('response', (res) => resolve(res.resume().statusCode)));
  fromElsewhere.end(JSON.stringify(review()));
  expect(await status).toBe(200);
  for (const { request } of held) request.destroy();
});
