import { callLine, say, type Identity, type Target } from './caller.ts';

/** Requests that no well-meaning client sends. Those with `refused` must never be answered with 2xx. */
export function malformedRequests(token: string | undefined): { name: string; bytes: string; refused: boolean }[] {
  const auth = token ? `Authorization: Bearer ${token}\r\n` : '';
  const get = (target: string, fields = '', method = 'GET'): string =>
    `${method} ${target} HTTP/1.1\r\nHost: h\r\n${auth}${fields}\r\n`;
  const post = (fields: string, body: string): string => get('/', fields, 'POST') + body;
  const refused = Object.entries({
    'a target of 17 KiB': get(`/${'a'.repeat(17 * 1024)}`),
    'a target of 200 KiB': get(`/${'a'.repeat(200 * 1024)}`),
    'authority form': get('h:80'),
    'another scheme': get('javascript:alert(1)'),
    'an empty authority': get('http://'),
    'a fragment': get('/metrics#x'),
    'a space in the target': get('/a b'),
    CONNECT: get('h:443', '', 'CONNECT'),
    'headers of 40 KiB': get('/', `X: ${'a'.repeat(40 * 1024)}\r\n`),
    'ten thousand fields': get('/', 'X: y\r\n'.repeat(10_000)),
    'no Host': 'GET / HTTP/1.1\r\n\r\n',
    'two lengths': post('Content-Length: 3\r\nContent-Length: 5\r\n', 'abc'),
    'length and chunks': post('Content-Length: 3\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    'a coding after chunked': post('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n'),
    'a hidden coding': post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'),
    'a negative length': post('Content-Length: -1\r\n', ''),
    'a length that is not an integer': post('Content-Length: 1e3\r\n', 'x'.repeat(1_000)),
    'a chunk size that is not a number': post('Transfer-Encoding: chunked\r\n', 'zz\r\nabc\r\n0\r\n\r\n'),
    'a chunk size beyond 64 bits': post('Transfer-Encoding: chunked\r\n', `${'f'.repeat(20)}\r\nabc`),
    'a chunk extension of 64 KiB': post('Transfer-Encoding: chunked\r\n', `1;${'x'.repeat(65_536)}\r\na\r\n0\r\n\r\n`),
    'NUL in a field': get('/', 'X: a\0b\r\n'),
    'a folded field': get('/', 'X: a\r\n b\r\n'),
    'a space before the colon': get('/', 'Content-Length : 3\r\n'),
    'bare line feeds': 'GET / HTTP/1.1\nHost: h\n\n',
    'another version': 'GET / HTTP/3.7\r\nHost: h\r\n\r\n',
    'no version': 'GET /\r\n\r\n',
    'a made up method': get('/', '', 'EXPLODE'),
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a TLS hello': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'a proxy header': 'PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n',
    'four KiB of 0xff': '\xff'.repeat(4096),
  }).map(([name, bytes]) => ({ name, bytes, refused: true }));
  const odd = Object.entries({
    'two slashes': get('//'),
    'three slashes': get('///'),
    'an open bracket for a host': get('//['),
    'a broken escape': get('/%'),
    'an escaped NUL': get('/%00'),
    'an escaped surrogate': get('/%ED%A0%80'),
    'dots upwards': get('/../../../etc/passwd'),
    'escaped dots upwards': get('/..%2f..%2f..%2fetc/passwd'),
    'a backslash': get('/\\..\\x'),
    'only a question': get('/?'),
    'a thousand parameters': get(`/?${'a=b&'.repeat(1_000)}`),
    'a parameter that is a prototype': get('/?__proto__[x]=1&constructor=2'),
    'an asterisk': get('*', '', 'OPTIONS'),
    'absolute form': get('http://elsewhere/'),
    HEAD: get('/', '', 'HEAD'),
    TRACE: get('/', '', 'TRACE'),
    'an upgrade to h2c': get(
      '/',
      'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n',
    ),
    'an upgrade to a websocket': get('/', 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n'),
    'an expectation': get('/', 'Expect: the-unexpected\r\n'),
    'a body that may not follow': post('Expect: 100-continue\r\nContent-Length: 999999999999\r\n', ''),
    'a coding that is a property of every object': post('Content-Encoding: constructor\r\nContent-Length: 1\r\n', 'x'),
    'many ranges': get('/', `Range: bytes=${'0-,'.repeat(1_000)}0-\r\n`),
    'a token of 20 KiB': get('/', `Authorization: Bearer ${'x'.repeat(20 * 1024)}\r\n`),
    'a user of a front proxy': get('/', 'X-Remote-User: system:admin\r\nX-Remote-Group: system:masters\r\n'),
    'two thousand pipelined requests': get('/').repeat(2_000),
  }).map(([name, bytes]) => ({ name, bytes, refused: false }));
  return [...refused, ...odd];
}

/**
 * Sends each malformed request on a connection of its own, 20 at a time. Returns a line for each request that was
 * answered with 2xx but must not be, and for each whose connection was neither answered nor closed in time.
 */
export async function sendMalformed(target: Target, identity: Identity): Promise<string[]> {
  const wrong: string[] = [];
  const requests = malformedRequests(identity.token);
  await inBatches(requests, 20, async ({ name, bytes, refused }) => {
    const line = await callLine(target, identity, { alpn: 'http/1.1' });
    const status = await say(line, bytes, 3_000);
    if (refused && status >= 200 && status < 300) wrong.push(`${name} was answered with ${status}`);
    if (status === 0 && !(await isClosed(line.closed))) wrong.push(`${name} was neither answered nor cut`);
  });
  return wrong;
}

async function isClosed(closed: Promise<void>): Promise<boolean> {
  return Promise.race([closed.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}

/** Runs `work` over all items, `size` of them at a time. */
export async function inBatches<T>(
  items: readonly T[],
  size: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  for (let i = 0; i < items.length; i += size) await Promise.all(items.slice(i, i + size).map(work));
}
