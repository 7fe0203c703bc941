import type { IncomingHttpHeaders } from 'node:http';
import { AnswerReader } from './answer-reader.ts';
import { requestHead } from './request-head.ts';

interface Told {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  isDone: boolean;
  keepsAlive: boolean;
  /** Bytes that belong to no answer. */
  rest: number;
  /** Whether the answer is whole once the connection has ended. */
  whole: boolean;
}

/** What a reader makes of bytes that arrive in pieces of that size. */
function read(text: string, size = Infinity): Told {
  const told = { status: 0, headers: {} as IncomingHttpHeaders, body: '' };
  const reader = new AnswerReader({
    head: (status, headers) => Object.assign(told, { status, headers }),
    part: (bytes) => (told.body += bytes.toString('latin1')),
  });
  const bytes = Buffer.from(text, 'latin1');
  let used = 0;
  for (let at = 0; at < bytes.length && !reader.isDone; at += size) used += reader.push(bytes.subarray(at, at + size));
  const { isDone, keepsAlive } = reader;
  return { ...told, headers: { ...told.headers }, isDone, keepsAlive, rest: bytes.length - used, whole: reader.end() };
}

const counted = 'HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 5\r\n\r\nhello';
const chunked =
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n0a;x=y\r\nlo, all of\r\n0\r\nTrailer: x\r\n\r\n';

test.each([1, 2, 3, 7, 1000])('an answer is read in pieces of any size: %s', (size) => {
  expect(read(counted, size)).toEqual({
    ...{ status: 200, headers: { 'content-type': 'a/b', 'content-length': '5' }, body: 'hello' },
    ...{ isDone: true, keepsAlive: true, rest: 0, whole: true },
  });
  expect(read(chunked, size)).toMatchObject({ body: 'hello, all of', isDone: true, keepsAlive: true, rest: 0 });
  const informed = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${counted}`;
  expect(read(informed, size)).toMatchObject({ status: 200, body: 'hello', rest: 0 });
});

test('every beginning of an answer is not whole, but for one that ends with its connection', () => {
  for (const text of [counted, chunked]) {
    for (let length = 0; length < text.length; length++) expect(read(text.slice(0, length)).whole).toBe(false);
  }
  const open = 'HTTP/1.1 200 OK\r\n\r\nuntil the end';
  expect(read(open)).toMatchObject({ body: 'until the end', isDone: false, keepsAlive: false, whole: true });
});

test('an answer without a body ends with its head, and what follows belongs to no answer', () => {
  for (const head of ['HTTP/1.1 204 No Content\r\n\r\n', 'HTTP/1.1 304 \r\nContent-Length: 9\r\n\r\n']) {
    expect(read(`${head}xyz`)).toMatchObject({ body: '', isDone: true, rest: 3 });
  }
  expect(read('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')).toMatchObject({ isDone: true, whole: true });
  expect(read(`${counted}and more`)).toMatchObject({ body: 'hello', isDone: true, rest: 8 });
});

test('the connection is kept unless the peer, or its version, says otherwise', () => {
  const kept = (version: string, field: string): boolean =>
    read(`${version} 200 OK\r\nContent-Length: 0\r\n${field}\r\n\r\n`).keepsAlive;
  expect(kept('HTTP/1.1', 'Connection: Keep-Alive')).toBe(true);
  expect(kept('HTTP/1.1', 'Connection: foo, Close')).toBe(false);
  expect(kept('HTTP/1.0', 'X: y')).toBe(false);
  expect(kept('HTTP/1.0', 'Connection: keep-alive')).toBe(true);
});

test('fields of one name are joined', () => {
  expect(read('HTTP/1.1 200 OK\r\nA: 1\r\na:2\r\nContent-Length: 0\r\n\r\n').headers['a']).toBe('1, 2');
});

test.each([
  ['another protocol', 'SSH-2.0-OpenSSH\r\n\r\n', /not HTTP/],
  ['another version', 'HTTP/2 200\r\n\r\n', /not HTTP/],
  ['a change of protocol', 'HTTP/1.1 101 Switching\r\n\r\n', /protocol/],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', /two content lengths/],
  ['a length that is none', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n', /content length "-1"/],
  ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', /is chunked/],
  ['a coding that is unknown', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', /transfer encoding/],
  ['a field without a name', 'HTTP/1.1 200 OK\r\n: x\r\n\r\n', /without a name/],
  ['a folded field', 'HTTP/1.1 200 OK\r\nA: x\r\n y: z\r\n\r\n', /without a name/],
  ['a head without end', `HTTP/1.1 200 OK\r\nA: ${'x'.repeat(70_000)}`, /too large/],
  ['a chunk without size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n', /without a size/],
  [
    'a chunk beyond its size',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n',
    /longer than its size/,
  ],
  ['a size without end', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(5_000)}`, /too long/],
])('%s is refused', (_, text, reason) => {
  expect(() => read(text)).toThrow(reason);
  expect(() => read(text, 1)).toThrow(reason);
});

describe('the head of a request', () => {
  const parts = { host: '10.0.0.1', port: 9091, method: 'POST', path: '/a?b=c' };

  test('names the peer and the length of the body', () => {
    expect(requestHead({ ...parts, headers: { accept: 'x/y' }, body: 'ä' })).toBe(
      'POST /a?b=c HTTP/1.1\r\nHost: 10.0.0.1:9091\r\naccept: x/y\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n',
    );
    expect(requestHead({ ...parts, host: '::1', body: [Buffer.from('ab'), Buffer.from('c')] })).toBe(
      'POST /a?b=c HTTP/1.1\r\nHost: [::1]:9091\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n',
    );
    expect(requestHead({ ...parts, method: 'GET' })).not.toContain('Content-Length');
    expect(requestHead(parts)).toContain('Content-Length: 0');
  });

  test.each([
    ['a path with a line', { path: '/a\r\nX: y' }],
    ['a path that is a whole address', { path: 'http://elsewhere/' }],
    ['a method with a blank', { method: 'GET /' }],
    ['a value with a line', { headers: { a: 'x\r\ny: z' } }],
    ['a name with a line', { headers: { 'a\r\nb': 'x' } }],
    ['a length of its own', { headers: { 'Content-Length': '5' } }],
  ])('with %s is not made', (_, change) => {
    expect(() => requestHead({ ...parts, ...change })).toThrow(Error);
  });
});
