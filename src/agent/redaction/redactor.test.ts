import type { CaptureRedaction } from '../../capture/index.ts';
import { collectGarbage } from '../../testing/heap.ts';
import { mergeRedaction } from './merge.ts';
import { Redactor, Redactors } from './redactor.ts';

const redactorOf = (rules: readonly CaptureRedaction[]): Redactor => new Redactor(mergeRedaction(rules));

describe('without a policy', () => {
  const redactor = redactorOf([]);
  test.each([
    ['url.full', 'https://u:p@shop/a?token=t&q=1&Sig=s', 'https://shop/a?token=REDACTED&q=1&Sig=REDACTED'],
    ['url.query', 'password=x&y=2', 'password=REDACTED&y=2'],
    ['url.full', 'https://u:p@ss@shop/a', 'https://shop/a'],
    ['http.target', '/a?%74oken=x', '/a?%74oken=REDACTED'],
    ['url.query', 'samlresponse=x&TOTP=1&badge=2', 'samlresponse=REDACTED&TOTP=REDACTED&badge=2'],
    ['url.path', '/a/b', '/a/b'],
    ['http.request.method', 'GET', 'GET'],
    ['client.address', '10.0.0.1', undefined],
    ['network.peer.address', '10.0.0.1', undefined],
    ['db.query.text', 'select 1', undefined],
    ['http.request.header.authorization', 'Bearer x', undefined],
  ])('the attribute %s with the value %s becomes %s', (key, value, expected) => {
    expect(redactor.attribute(key, value, new Set(['authorization']))).toBe(expected);
  });
});

describe('a text of more than 8,192 characters', () => {
  const long = 'x'.repeat(10_000);
  const plain = redactorOf([]);
  const rewriting = redactorOf([{ paths: [{ pattern: '^/reset/(.*)/end$', replacement: '/reset/{code}/end' }] }]);
  const cut = (text: string): string => text.slice(0, 8_192);
  /** What a failed expectation can show. */
  const brief = (text: unknown): string => `${String(text).slice(0, 60)}… ${String(text).length}`;

  test.each([
    ['url.full', `http://h/a?token=${long}`, 'http://h/a?token=REDACTED'],
    ['url.query', `a=${long}&token=t`, cut(`a=${long}`)],
    ['http.target', `/${long}?token=t`, cut(`/${long}`)],
    ['url.path', `/😀${long}`, cut(`/😀${long}`)],
    ['url.full', `http://u:${long}@h/a`, 'REDACTED'],
  ])('is cut before it is redacted: %s', (key, value, expected) => {
    expect(brief(plain.attribute(key, value))).toBe(brief(expected));
  });

  test.each([
    ...[
      ',',
      '/',
      '/,',
      '//',
      '+',
      'a+',
      '+a',
      'a.1',
      'a:/',
      'a://',
      '://',
      '://@',
      "/'",
      "/'a",
      '/(a',
      '/,a.',
      '/,a:/',
    ],
    ...['a://,a:/', '(a://b', ',a://b,', '/.', '/]', '/:)', 'a\n'],
  ])('of %j over and over, as a status message, takes time in proportion to it', (part) => {
    const statusMessage = part.repeat(8_192 / part.length);
    const before = process.cpuUsage();
    for (const redactor of [plain, rewriting]) redactor.statusMessage({ statusMessage, attributes: [] });
    for (const redactor of [plain, rewriting])
      redactor.statusMessage({ statusMessage: `a://${statusMessage}`, attributes: [] });
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(100);
  });

  const nameKeys = [
    ...['http.route', 'rpc.method', 'db.collection.name', 'db.namespace', 'db.operation.name'],
    ...['messaging.destination.name', 'url.path'],
  ];
  test.each([
    ['long ones', nameKeys.map((key, i) => ({ key, value: `${'x '.repeat(3_000 + i)}y` }))],
    [
      'many of one key',
      Array.from({ length: 1_024 }, (_, i) => ({ key: 'url.path', value: `${'x '.repeat(99)}${i}` })),
    ],
  ])('as the name of a span takes time in proportion to it, whatever phrases the attributes have: %s', (_, phrases) => {
    const labels = nameKeys.map((key) => ({ name: key.replaceAll('.', '_'), action: 'Hash' as const }));
    const redactor = redactorOf([{ labels }]);
    const before = process.cpuUsage();
    for (let span = 0; span < 5; span++) redactor.spanName('x '.repeat(4_096), phrases);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(400);
  });

  test.each([
    ['url.path', `/reset/${long}/end`, '/REDACTED'],
    ['url.full', `http://u:p@h/reset/${long}/end?a=b`, 'http://h/REDACTED'],
    [
      'url.full',
      `http://h/reset/secret/end?a=${long}`,
      cut(`http://h/reset/secret/end?a=${long}`).replace('secret', '{code}'),
    ],
    ['url.full', `http://u:${long}@h/reset/a/end`, 'REDACTED'],
  ])('shows nothing of a path that no rewrite can see whole: %s', (key, value, expected) => {
    expect(brief(rewriting.attribute(key, value))).toBe(brief(expected));
  });

  test('is cut as the name of a span, too, and a path at the cut is not shown where paths are rewritten', () => {
    expect(brief(plain.spanName(`GET /${long}`))).toBe(brief(cut(`GET /${long}`)));
    expect(brief(rewriting.spanName(`GET /reset/${long}/end`))).toBe(brief('GET /REDACTED'));
    expect(brief(rewriting.spanName(`/reset/secret/end ${long}`))).toBe(
      brief(cut(`/reset/secret/end ${long}`).replace('secret', '{code}')),
    );
  });
});

/** The memory that a task leaves behind. Unit: megabytes. */
async function megabytesKeptBy(task: () => void): Promise<number> {
  await collectGarbage();
  const before = process.memoryUsage().heapUsed;
  task();
  await collectGarbage();
  return (process.memoryUsage().heapUsed - before) / 2 ** 20;
}
const megabytes = (i: number): string => Buffer.alloc(2 ** 20, 97 + i).toString();

test('long paths, and the long names that short ones are parts of, are not remembered', async () => {
  const redactor = redactorOf([{ paths: [{ pattern: '^/z', replacement: '/y' }] }]);
  const kept = await megabytesKeptBy(() => {
    for (let i = 0; i < 20; i++) redactor.path(`/${megabytes(i)}`);
    for (let i = 0; i < 2_000; i++) redactor.spanName(`/an/id/of/a/user/${i} ${'x'.repeat(8_000)}`);
  });
  expect(kept).toBeLessThan(6);
  expect(redactor.path('/z')).toBe('/y');
});

test('the paths that are remembered take bounded memory, however many sets of rules there are', async () => {
  const names = Array.from({ length: 20 }, (_, i) => `ns-${i}`);
  const rules = names.map((name) => ({ namespaces: [name], paths: [{ pattern: '^/a', replacement: `/${name}` }] }));
  const redactors = new Redactors(rules);
  const rest = 'x'.repeat(200);
  const kept = await megabytesKeptBy(() => {
    for (const name of names) for (let i = 0; i < 2_000; i++) redactors.of(name).path(`/a/${i}/${rest}`);
  });
  expect(kept).toBeLessThan(8);
  expect(names.map((name) => redactors.of(name).path('/a/1'))).toEqual(names.map((name) => `/${name}/1`));
});

test('queries and fragments of rewritten paths are not remembered', async () => {
  const redactor = redactorOf([{ paths: [{ pattern: '^/a', replacement: '/b' }] }]);
  const rest = 'x'.repeat(200);
  const kept = await megabytesKeptBy(() => {
    for (let i = 0; i < 8_000; i++) redactor.path(`http://h/a?${i}${rest}#${i}`);
  });
  expect(kept).toBeLessThan(1);
  expect(redactor.path('http://h/a?q#f')).toBe('http://h/b?q#f');
});

test('long names of the far ends of flows are not remembered', async () => {
  const redactors = new Redactors([{ namespaces: ['pay'], labels: [{ name: 'a', action: 'Drop' }] }]);
  const kept = await megabytesKeptBy(() => {
    for (let i = 0; i < 20; i++) redactors.of('pay', megabytes(i));
  });
  expect(kept).toBeLessThan(6);
  expect(redactors.of('pay').attribute('a', 'x')).toBeUndefined();
});

test('lists with integers beyond the doubles, and bytes, can be cut as labels show them', () => {
  const redactor = redactorOf([{ labels: [{ name: 'ids', action: 'Truncate' }] }]);
  expect(redactor.attribute('ids', [2n ** 60n])).toBe('["11529215046068');
  expect(redactor.attribute('ids', Uint8Array.of(1, 2))).toBe('AQI=');
});

describe('with the rules of policies', () => {
  test('a policy redacts more query parameters or fewer, but none exempts a parameter that another policy adds', () => {
    const redactor = redactorOf([
      { queryParams: { add: ['Badge'], remove: ['key', 'Code'] } },
      { queryParams: { add: ['key'], remove: [] } },
    ]);
    expect(redactor.attribute('url.query', 'badge=1&code=2&key=3')).toBe('badge=REDACTED&code=2&key=REDACTED');
  });

  test('a header is kept when every policy with header rules allows it and a monitor asks for it', () => {
    const redactor = redactorOf([
      { headers: { allow: ['x-tenant', 'x-id'], obfuscate: ['x-id'] } },
      { headers: { allow: ['x-tenant', 'x-id', 'cookie'] } },
      { dropClientAddress: true },
    ]);
    const asked = new Set(['x-tenant', 'x-id', 'cookie']);
    expect(redactor.attribute('http.request.header.x-tenant', ['a'], asked)).toEqual(['a']);
    expect(redactor.attribute('http.request.header.X-Id', 'secret', asked)).toBe('REDACTED');
    expect(redactor.attribute('http.request.header.cookie', 'c', asked)).toBeUndefined();
    expect(redactor.attribute('http.request.header.x-tenant', 'a')).toBeUndefined();
  });

  test('paths are rewritten in every attribute that holds one, and in the name of the span', () => {
    const redactor = redactorOf([{ paths: [{ pattern: '/users/[^/]+', replacement: '/users/{id}' }] }]);
    expect(redactor.attribute('url.path', '/users/ann/cart')).toBe('/users/{id}/cart');
    expect(redactor.attribute('http.route', '/users/ann')).toBe('/users/{id}');
    expect(redactor.attribute('url.full', 'http://h/users/ann?next=/users/bob')).toBe(
      'http://h/users/{id}?next=/users/bob',
    );
    expect(redactor.spanName('GET /users/ann')).toBe('GET /users/{id}');
  });

  test('of two actions on paths and routes the stricter one is for the words of a span’s name, after rewrites', () => {
    const redactor = redactorOf([
      {
        paths: [{ pattern: '/users/[^/]+', replacement: '/users/{id}' }],
        labels: [
          { name: 'http_route', action: 'Truncate' },
          { name: 'url_path', action: 'Hash' },
        ],
      },
    ]);
    expect(redactor.spanName('GET /users/ann a/b')).toBe('GET 743c7b1e8e14e070 a/b');
    expect(
      redactor.spanName('GET /users/ann/a/longer/path', [{ key: 'http.route', value: '/users/ann/a/longer/path' }]),
    ).toBe('GET /users/{id}/a/lo');
    expect(redactor.spanName(`GET /${'x'.repeat(9_000)}`)).toBe('GET /REDACTED');
    expect(redactor.spanName(`SELECT ${'x'.repeat(9_000)}`)).toBe('SELECT REDACTED');
  });

  test('of several phrases that stand at one place the longest counts, and of a repeated attribute all values', () => {
    const redactor = redactorOf([{ labels: [{ name: 'db_namespace', action: 'Drop' }] }]);
    const named = (...values: readonly string[]) => values.map((value) => ({ key: 'db.namespace', value }));
    expect(redactor.spanName('in a b c of a b', named('a b', 'a b c'))).toBe('in REDACTED of REDACTED');
    expect(redactor.spanName('in a b', named('c d', 'a b'))).toBe('in REDACTED');
    const many = named(...Array.from({ length: 20 }, (_, i) => `a ${i}`));
    expect(redactor.spanName('in a 19 of b', many)).toBe('REDACTED');
  });

  test('labels are dropped, hashed alike on every node, or cut, and the strictest action wins', () => {
    const rules: CaptureRedaction[] = [
      {
        labels: [
          { name: 'http_route', action: 'Drop' },
          { name: 'service_name', action: 'Hash' },
        ],
      },
      {
        labels: [
          { name: 'http_route', action: 'Hash' },
          { name: 'service_name', action: 'Truncate' },
          { name: 'url_path', action: 'Truncate' },
        ],
      },
    ];
    for (const order of [rules, rules.toReversed()]) {
      const redactor = redactorOf(order);
      expect(redactor.attribute('http.route', '/a')).toBeUndefined();
      expect(redactor.attribute('service.name', 'checkout')).toBe('c7761e58969f7edd');
      expect(redactor.attribute('url.path', '/0123456789abcdefgh')).toBe('/0123456789abcde');
    }
  });

  test('client addresses and query texts are kept only where every policy with a rule for them keeps them', () => {
    const kept = redactorOf([{ dropClientAddress: false, dbQueryText: 'Keep' }, {}]);
    expect(kept.attribute('client.address', '10.0.0.1')).toBe('10.0.0.1');
    expect(kept.attribute('db.query.text', 'select 1')).toBe('select 1');
    const mixed: CaptureRedaction[] = [
      { dropClientAddress: false, dbQueryText: 'Keep' },
      { dropClientAddress: true, dbQueryText: 'Drop' },
    ];
    for (const order of [mixed, mixed.toReversed()]) {
      const dropped = redactorOf(order);
      expect(dropped.attribute('client.address', '10.0.0.1')).toBeUndefined();
      expect(dropped.attribute('db.query.text', 'select 1')).toBeUndefined();
    }
  });

  test('a policy of some namespaces applies to data of any of them, and to data of unknown senders', () => {
    const redactors = new Redactors([{ namespaces: ['pay'], labels: [{ name: 'a', action: 'Drop' }] }]);
    expect(redactors.of('pay').attribute('a', 'x')).toBeUndefined();
    expect(redactors.of('shop', 'pay').attribute('a', 'x')).toBeUndefined();
    expect(redactors.of('shop').attribute('a', 'x')).toBe('x');
    expect(redactors.of('').attribute('a', 'x')).toBeUndefined();
    expect(redactors.of().attribute('a', 'x')).toBeUndefined();
    expect(redactors.of('web')).toBe(redactors.of('shop'));
  });

  test('what a policy of some namespaces permits is permitted only in data of these namespaces', () => {
    const redactors = new Redactors([
      { namespaces: ['pay'], queryParams: { add: [], remove: ['token', 'sig'] }, dropClientAddress: false },
      { queryParams: { add: [], remove: ['code'] } },
      { namespaces: ['shop', 'web'], queryParams: { add: ['q'], remove: ['token'] }, dropClientAddress: false },
    ]);
    const seen = (...names: string[]) => [
      redactors.of(...names).attribute('url.query', 'code=1&q=1&sig=1&token=1'),
      redactors.of(...names).attribute('client.address', '10.0.0.1'),
    ];
    expect(seen('pay')).toEqual(['code=1&q=1&sig=1&token=1', '10.0.0.1']);
    expect(seen('shop', 'pay')).toEqual(['code=1&q=REDACTED&sig=REDACTED&token=1', '10.0.0.1']);
    const others = ['code=1&q=1&sig=REDACTED&token=REDACTED', undefined];
    expect(seen('batch')).toEqual(others);
    expect(seen('pay', 'batch')).toEqual(others);
    expect(seen()).toEqual(['code=1&q=REDACTED&sig=REDACTED&token=REDACTED', undefined]);
  });

  test('for data of several namespaces each path rewrite applies once, in the order of the policies', () => {
    const rewrite = (pattern: string, replacement: string) => ({ paths: [{ pattern, replacement }] });
    const redactors = new Redactors([
      { namespaces: ['pay'], ...rewrite('^/a', '/b') },
      rewrite('^/b', '/b/c'),
      { namespaces: ['shop'], ...rewrite('/c$', '/d') },
    ]);
    for (const names of [['pay', 'shop'], ['shop', 'pay'], []]) expect(redactors.of(...names).path('/a')).toBe('/b/d');
    expect(redactors.of('pay').path('/a')).toBe('/b/c');
  });
});
