import { jest } from '@jest/globals';
import { builtinLimits, type CaptureConfig } from '../../capture/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { podIdentity } from '../identity/pod-identity.ts';
import { aPod, nodePods, senderAttributes, showPoints } from '../../testing/node-pods.ts';
import type { AnyValue, Attribute, Span, TracesRequest } from '../otlp/model.ts';
import { plainValue } from '../mapping/label-set.ts';
import { Redactor } from '../redaction/redactor.ts';
import { maxLineLength } from '../../stream/index.ts';
import { SpanPipeline } from './span-pipeline.ts';
import { StreamRing } from './stream-ring.ts';
import { UnshownSpans } from './unshown-spans.ts';
import { ratioTakes, TailSampler, type TailSpan } from './tail-sampler.ts';

const t0 = 1_800_000_000_000;
const attributes = (labels: Record<string, string>): Attribute[] =>
  Object.entries(labels).map(([key, value]) => ({ key, value }));
/** The start of a trace id that a sampling ratio of 0.5 drops, and of a trace id that it keeps. */
const high = 'f'.repeat(31);
const low = `${'f'.repeat(16)}${'0'.repeat(15)}`;

function span(
  change: Partial<Omit<Span, 'attributes'>> & { attributes?: Record<string, string>; ms?: number } = {},
): Span {
  const { attributes: own = {}, ms = 5, ...rest } = change;
  const startNs = BigInt(t0) * 1_000_000n;
  return {
    traceId: `${high}1`,
    spanId: '00000000000000aa',
    parentSpanId: '',
    name: 'GET /',
    kind: 'server',
    startNs,
    endNs: startNs + BigInt(ms) * 1_000_000n,
    attributes: attributes(own),
    status: 'unset',
    statusMessage: '',
    ...rest,
  };
}

/** The Resource attributes of a container of the pod. */
const web = (container = 'app') => ({
  'service.instance.id': `shop.web-1.${container}`,
  'k8s.pod.uid': 'uid of shop/web-1',
});

function request(spans: readonly Span[], resource: Record<string, string> = web()): TracesRequest {
  return { resources: [{ attributes: attributes(resource), scopes: [{ scope: { name: '', version: '' }, spans }] }] };
}

const fieldKeys = ['service.name', 'http.request.method', 'http.route', 'url.path', 'k8s.container.name'];

type Config = Pick<CaptureConfig, 'monitors' | 'fallback' | 'limits' | 'redaction'>;

function aPipeline(rule: Partial<CaptureConfig['monitors'][number]> = {}, change: Partial<Config> = {}) {
  const clock = new FakeClock(t0);
  const ring = new StreamRing({ maxBytes: 1e9, maxAgeMs: 1e9 });
  const dropped: string[] = [];
  const identity = nodePods(aPod('shop/web-1', { containers: ['app'] }), 'pay/db-0');
  showPoints(identity, attributes(web()));
  let unknown = 0;
  let contradicted = 0;
  const pipeline = new SpanPipeline({
    ring,
    clock,
    identity,
    onDropped: (reason, spans) => dropped.push(`${reason} ${spans}`),
    onUnknown: (spans) => (unknown += spans),
    onContradicted: (spans) => (contradicted += spans),
  });
  const monitors = [{ namespace: 'shop', name: 'm', uid: '', pods: ['web-1'], ...rule }];
  pipeline.setConfig({ monitors, limits: builtinLimits, ...change });
  const shown = () => Array.from({ length: ring.next - ring.first }, (_, i) => ring.at(ring.first + i)!.span!);
  return { pipeline, clock, ring, shown, dropped, identity, unknown: () => unknown, contradicted: () => contradicted };
}

describe('a span with very much in its attributes', () => {
  const big = 'x'.repeat(5_000);
  const many = <T>(one: T, count = 1_000): T[] => Array.from({ length: count }, () => one);
  const bytes = new Uint8Array(100_000).fill(1);
  const lists = (depth: number): AnyValue => (depth === 0 ? big : many(lists(depth - 1), 10));
  const large: [string, Attribute[]][] = [
    ['a list of long texts', [{ key: 'x', value: many(big) }]],
    ['a list of characters that JSON escapes', [{ key: 'x', value: many('\u0001'.repeat(5_000)) }]],
    ['a list of numbers', [{ key: 'x', value: many(-1.2345678901234567e-100, 100_000) }]],
    ['a list of empty texts', [{ key: 'x', value: many('', 1_000_000) }]],
    ['lists of lists', [{ key: 'x', value: lists(4) }]],
    ['a map', [{ key: 'x', value: { entries: many(big).map((value, i) => ({ key: `${big}${i}`, value })) } }]],
    ['bytes', many(bytes, 50).map((value, i) => ({ key: `x${i}`, value }))],
    ['three hundred long texts', many(big, 300).map((value, i) => ({ key: `x${i}`, value }))],
    ['lists where names and paths belong', fieldKeys.map((key) => ({ key, value: many('\u0001'.repeat(5_000)) }))],
  ];

  const unescaped = (value: unknown): number => JSON.stringify(value).replaceAll('\\u0001', '.').length;

  test('an attribute with the name of a built-in member is an attribute like any other', () => {
    const { pipeline, shown } = aPipeline();
    const value: AnyValue = { entries: [{ key: '__proto__', value: 'x' }] };
    pipeline.take(request([{ ...span(), attributes: [{ key: '__proto__', value }] }]));
    expect(JSON.stringify(shown()[0]!.attributes)).toBe('{"__proto__":{"__proto__":"x"}}');
  });

  test.each(large)('has a line that readers accept, and all of it counts as memory: %s', (_, own) => {
    const { pipeline, shown, ring } = aPipeline();
    pipeline.take(request([{ ...span(), attributes: own }]));
    const [record] = shown();
    expect(JSON.stringify(record).length).toBeLessThan(0.75 * maxLineLength);
    expect(ring.bytes).toBeGreaterThan(0.9 * unescaped(record));
  });

  test.each(large)('counts as memory while it waits for its sender to be proven: %s', (_, own) => {
    const waiting = new UnshownSpans(() => {}, { maxBytes: 1e9, waitMs: 1_000 });
    const held = request([{ ...span(), attributes: own }]).resources[0]!;
    waiting.hold('shop', held, 0);
    const sizes = own.map(({ value }) => unescaped(plainValue(value)));
    expect(waiting.bytes).toBeGreaterThan(0.7 * sizes.reduce((sum, size) => sum + size));
  });

  test('has its Resource redacted once, not again for the next span, and its texts cut before that', () => {
    const redact = jest.spyOn(Redactor.prototype, 'attribute');
    const { pipeline, shown } = aPipeline({}, { redaction: [{ paths: [{ pattern: '/a', replacement: '/b' }] }] });
    const resource = { ...web(), 'url.full': `http://h/a?${'key=&'.repeat(100_000)}` };
    try {
      pipeline.take(
        request(
          [1, 2, 3].map(() => span({ name: `GET /a ${big.repeat(10)}` })),
          resource,
        ),
      );
      expect(redact.mock.calls.filter(([key]) => key === 'url.full')).toHaveLength(1);
      expect((redact.mock.results.at(-1)!.value as string).length).toBeLessThan(30_000);
    } finally {
      redact.mockRestore();
    }
    expect(shown().map(({ path, name }) => [path, name.length, name.slice(0, 10)])).toEqual(
      [1, 2, 3].map(() => ['/b', 4_096, 'GET /b xxx']),
    );
  });

  test('keeps its path and its first attributes', () => {
    const { pipeline, shown } = aPipeline();
    const own = [{ key: 'a', value: ['b', 1] }, ...large[0]![1], ...attributes({ 'url.path': '/cart', z: 'last' })];
    pipeline.take(request([{ ...span(), attributes: own }]));
    expect(shown()).toMatchObject([{ path: '/cart', attributes: { a: ['b', 1] } }]);
    const [first] = shown()[0]!.attributes['x'] as string[];
    expect(first).toBe('x'.repeat(4_096));
    expect(shown()[0]!.attributes).not.toHaveProperty('z');
  });
});

describe('tail decisions', () => {
  const tail = { ratio: '0', keepErrors: true, keepSlowerThanMs: 100 };

  test('a trace with an error is kept whole, also its spans before and after the error', () => {
    const { pipeline, shown, dropped } = aPipeline({ tail });
    pipeline.take(request([span({ name: 'first' })]));
    expect(shown()).toEqual([]);
    pipeline.take(request([span({ name: 'failed', status: 'error' }), span({ name: 'last' })]));
    expect(
      shown()
        .map((s) => s.name)
        .sort(),
    ).toEqual(['failed', 'first', 'last']);
    expect(dropped).toEqual([]);
  });

  test('a trace with a slow span is kept; a trace exactly at the bound is not', () => {
    const { pipeline, shown } = aPipeline({ tail });
    pipeline.take(request([span({ ms: 100, traceId: `${high}2` }), span({ ms: 101 })]));
    expect(shown().map((s) => s.durationNs)).toEqual([101e6]);
  });

  test('a trace without errors or slow spans is dropped after ten seconds, and counted', async () => {
    const { pipeline, clock, shown, dropped } = aPipeline({ tail });
    pipeline.take(request([span(), span({ traceId: `${high}2` })]));
    await clock.advance(9_999);
    pipeline.expire();
    expect(dropped).toEqual([]);
    await clock.advance(1);
    pipeline.expire();
    expect(dropped).toEqual(['sampled 1', 'sampled 1']);
    pipeline.take(request([span({ status: 'error' })]));
    expect(shown()).toHaveLength(1);
  });

  test('without keepErrors, an error does not keep its trace', () => {
    const { pipeline, shown } = aPipeline({ tail: { ratio: '0', keepErrors: false, keepSlowerThanMs: 100 } });
    pipeline.take(request([span({ status: 'error' })]));
    expect(shown()).toEqual([]);
  });

  test('the sampling ratio keeps the same traces on every node, and about that share of all traces', () => {
    expect([ratioTakes(`${low}1`, '0.5'), ratioTakes(`${high}1`, '0.5'), ratioTakes(`${high}1`, '1')]).toEqual([
      true,
      false,
      true,
    ]);
    expect([ratioTakes(`${low}1`, '0'), ratioTakes('no id', '0.5'), ratioTakes('no id', '1')]).toEqual([
      false,
      false,
      true,
    ]);
    let taken = 0;
    for (let i = 0; i < 4_096; i++)
      if (ratioTakes(`${'0'.repeat(16)}${i.toString(16).padStart(3, '0')}${'5'.repeat(13)}`, '0.25')) taken++;
    expect(taken / 4_096).toBeCloseTo(0.25, 2);
  });

  test('waiting traces stay within maxBytes: the oldest is dropped first, and counted as overflow', () => {
    const passed: string[] = [];
    const dropped: string[] = [];
    const sampler = new TailSampler(
      (s: TailSpan) => passed.push(s.traceId),
      (spans, reason) => dropped.push(`${reason} ${spans}`),
      { maxBytes: 1_000, waitMs: 10_000, maxDecided: 2 },
    );
    const rule = { ratio: '0', keepErrors: true };
    const waits = (traceId: string, account = 'shop') => ({
      ...{ traceId, account, isError: false, durationNs: 1, bytes: 400 },
    });
    for (const id of ['a', 'a', 'b', 'c']) sampler.take(waits(id), rule, 0);
    expect(dropped).toEqual(['overflow 2']);
    expect(sampler.bytes).toBe(800);
    sampler.take({ ...waits('b'), isError: true }, rule, 0);
    expect(passed).toEqual(['b', 'b']);
    expect(sampler.bytes).toBe(400);
    sampler.take(waits('quiet', 'pay'), rule, 0);
    for (let i = 0; i < 100; i++) sampler.take({ ...waits(`many-${i}`), bytes: 500 }, rule, 0);
    expect(sampler.bytes).toBeLessThanOrEqual(1_000);
    sampler.take({ ...waits('quiet', 'pay'), isError: true }, rule, 0);
    expect(passed.slice(-2)).toEqual(['quiet', 'quiet']);
    for (let i = 0; i < 100; i++) sampler.take({ ...waits(`huge-${i}`), bytes: 5_000 }, rule, 0);
    expect(sampler.bytes).toBeLessThanOrEqual(1_000);
  });
});

test('a rate limit passes one second’s number of spans at once, then its rate; the monitor counts the refused', async () => {
  const { pipeline, clock, shown, dropped } = aPipeline({ maxSpansPerSecond: 10 });
  pipeline.take(request(Array.from({ length: 25 }, () => span())));
  expect([shown().length, dropped.length, pipeline.monitors[0]!.dropped]).toEqual([10, 15, 15]);
  await clock.advance(500);
  pipeline.take(request(Array.from({ length: 25 }, () => span())));
  expect(shown()).toHaveLength(15);
});

test('a span that one rate limit refuses does not count against the other limits', () => {
  const narrow = { namespace: 'shop', name: 'narrow', uid: '', pods: ['web-1'], maxSpansPerSecond: 10 };
  const wide = { namespace: 'shop', name: 'wide', uid: '', pods: ['web-1', 'web-2'], maxSpansPerSecond: 30 };
  const limits = { ...builtinLimits, maxSpansPerSecondPerNode: 15 };
  const { pipeline, shown, identity } = aPipeline({}, { monitors: [narrow, wide], limits });
  identity.pods.upsert(podIdentity(aPod('shop/web-2', { containers: ['app'] })), 0);
  const other = { 'service.instance.id': 'shop.web-2.app', 'k8s.pod.uid': 'uid of shop/web-2' };
  showPoints(identity, attributes(other));
  const send = (count: number, resource?: Record<string, string>): number => {
    const before = shown().length;
    pipeline.take(
      request(
        Array.from({ length: count }, () => span()),
        resource,
      ),
    );
    return shown().length - before;
  };
  // `narrow` lets 10 through. Of the spans that only `wide` covers, the node takes its remaining 5, and 1 more at the
  // namespace's own rate. No monitor's limit refuses any of these spans.
  expect([send(40), send(40, other)]).toEqual([10, 6]);
  expect(pipeline.monitors.map(({ dropped }) => dropped)).toEqual([30, 0]);
});

test('the rate limit of the node holds for all pods together, and leaves each namespace its own rate', () => {
  const limits = { ...builtinLimits, maxSpansPerSecondPerNode: 40 };
  const { pipeline, shown, dropped, identity } = aPipeline({}, { limits });
  const [shop, pay, host] = [senderAttributes('shop/web-1'), senderAttributes('pay/db-0'), []];
  for (const resource of [shop, pay]) showPoints(identity, resource);
  const send = (count: number, sender: readonly Attribute[]): number => {
    const before = shown().length;
    pipeline.take(
      request(
        Array.from({ length: count }, () => span()),
        Object.fromEntries(sender.map(({ key, value }) => [key, String(value)])),
      ),
    );
    return shown().length - before;
  };
  expect([send(60, shop), send(5, pay), send(5, shop), send(5, host)]).toEqual([43, 3, 0, 0]);
  expect([dropped.length, new Set(dropped)]).toEqual([29, new Set(['rate_node 1'])]);
});

test('protocols and ignored paths of the monitors filter spans as they filter series', () => {
  const { pipeline, shown, dropped } = aPipeline({ protocols: ['HTTP'], ignorePaths: ['/live', '/ready*'] });
  pipeline.take(
    request([
      span({ name: 'a', attributes: { 'http.request.method': 'GET', 'url.path': '/cart' } }),
      span({ name: 'b', attributes: { 'http.request.method': 'GET', 'url.path': '/live' } }),
      span({ name: 'c', attributes: { 'http.request.method': 'GET', 'url.full': 'http://x/readyz?v' } }),
      span({ name: 'd', attributes: { 'db.system.name': 'redis' } }),
      span({ name: 'in queue', kind: 'internal' }),
    ]),
  );
  expect(shown().map((s) => s.name)).toEqual(['a']);
  expect(dropped).toHaveLength(3);
});

test('redacted data does not reach the stored spans: headers, paths, queries, labels, and the name of the span', () => {
  const redaction: CaptureConfig['redaction'] = [
    {
      headers: { allow: ['x-tenant', 'x-card'], obfuscate: ['x-card'] },
      paths: [{ pattern: '/users/[^/]+', replacement: '/users/{id}' }],
      labels: [{ name: 'service_name', action: 'Hash' }],
      queryParams: { add: ['badge'], remove: [] },
      dbQueryText: 'Keep',
    },
  ];
  const { pipeline, shown } = aPipeline({ headers: ['x-tenant', 'x-card', 'cookie'] }, { redaction });
  const own = {
    'url.full': 'http://u:p@h/users/ann?badge=1&a=2',
    'http.request.header.x-tenant': 't1',
    'http.request.header.x-card': '4111',
    'http.request.header.cookie': 'secret',
    'http.request.header.x-other': 'o',
    'service.name': 'checkout',
    'client.address': '10.1.1.1',
    'db.query.text': 'select 1',
  };
  pipeline.take(request([span({ name: 'GET /users/ann', attributes: own })]));
  const record = shown()[0]!;
  expect(record).toMatchObject({ name: 'GET /users/{id}', path: '/users/{id}', service: 'c7761e58969f7edd' });
  expect(record.attributes).toEqual({
    'url.full': 'http://h/users/{id}?badge=REDACTED&a=2',
    'http.request.header.x-tenant': 't1',
    'http.request.header.x-card': 'REDACTED',
    'service.name': 'c7761e58969f7edd',
    'db.query.text': 'select 1',
  });
});

const ann = { 'url.full': 'http://h/users/ann?a=2' };
const hashOfAnn = '968a0d7815cf655b';

test.each([
  ['url_path', 'Drop', ann, { name: 'GET /REDACTED' }],
  ['url_path', 'Hash', ann, { name: `GET ${hashOfAnn}`, path: hashOfAnn }],
  ['url_path', 'Drop', { ...ann, 'url.path': '/users/ann' }, { name: 'GET /REDACTED' }],
  // The name has the route, which no rule is about.
  ['url_path', 'Drop', { ...ann, 'http.route': '/users/ann' }, { name: 'GET /users/ann', route: '/users/ann' }],
  ['http_route', 'Hash', ann, { name: `GET ${hashOfAnn}`, path: '/users/ann' }],
  [
    ...(['http_route', 'Hash', { ...ann, 'http.route': '/users/ann' }] as const),
    { name: `GET ${hashOfAnn}`, path: '/users/ann', route: hashOfAnn },
  ],
  ['http_route', 'Truncate', { 'http.route': '/users/ann' }, { name: 'GET /users/ann', route: '/users/ann' }],
  ['http_route', 'Drop', { 'http.route': '/users/ann' }, { name: 'GET /REDACTED' }],
] as const)('redaction of label %s by %s of a span with %j leaves %j', (name, action, attributes, left) => {
  const { pipeline, shown } = aPipeline({}, { redaction: [{ labels: [{ name, action }] }] });
  pipeline.take(request([span({ name: 'GET /users/ann', attributes })]));
  const { name: shownName, path, route } = shown()[0]!;
  expect({ name: shownName, path, route }).toEqual({ path: undefined, route: undefined, ...left });
});

test.each([
  ['rpc_method', 'rpc.method', '/shop.Cart/Get', '/shop.Cart/Get', '/REDACTED'],
  ['db_collection_name', 'db.collection.name', 'cards', 'SELECT cards', 'SELECT REDACTED'],
  ['db_namespace', 'db.namespace', 'ann', 'SELECT ann', 'SELECT REDACTED'],
  ['db_operation_name', 'db.operation.name', 'SELECT', 'SELECT cards', 'REDACTED cards'],
  ['messaging_destination_name', 'messaging.destination.name', 'orders', 'publish orders', 'publish REDACTED'],
  ['db_collection_name', 'db.collection.name', 'my cards', 'SELECT my cards', 'SELECT REDACTED'],
  ['db_collection_name', 'db.collection.name', ' my cards ', 'SELECT  my cards of cards', 'SELECT  REDACTED of cards'],
  ['db_collection_name', 'db.collection.name', 'my cards', 'SELECT my cardstock', 'SELECT my cardstock'],
  ['rpc_method', 'rpc.method', '/shop.Cart/Get ann secret', '/shop.Cart/Get ann secret', '/REDACTED'],
  // The name has the method, which no rule is about.
  ['url_path', 'rpc.method', '/shop.Cart/Get', '/shop.Cart/Get', '/shop.Cart/Get'],
  ['http_route', 'rpc.method', '/shop.Cart/Get', '/shop.Cart/Get', '/shop.Cart/Get'],
])(
  'where label %s is dropped, a span whose %s is %s and whose name is %s has the name %s',
  (label, key, value, name, shownName) => {
    const { pipeline, shown } = aPipeline({}, { redaction: [{ labels: [{ name: label, action: 'Drop' }] }] });
    pipeline.take(request([span({ name, attributes: { [key]: value } })]));
    expect(shown()[0]!.name).toBe(shownName);
  },
);

test.each([
  ['http.route', '/reset/ann smith/end', 'GET /reset/ann smith/end', 'GET /reset/{code}/end'],
  ['url.path', '/reset/ann smith/end', 'GET /reset/ann smith/end of x', 'GET /reset/{code}/end of x'],
  ['url.full', 'http://h/reset/ann smith/end?a=1', 'GET /reset/ann smith/end', 'GET /reset/{code}/end'],
  ['url.full', 'http://h/reset/ann%20smith/end', 'GET /reset/ann smith/end', 'GET /reset/{code}/end'],
  ['url.full', 'http://h/reset/ann%20smith/end', 'GET /reset/ann%20smith/end', 'GET /reset/{code}/end'],
  ['url.path', '/reset/ann%20smith/end', 'GET /reset/ann smith/end', 'GET /reset/{code}/end'],
  ['db.namespace', 'reset/ann smith/end', 'reset/ann smith/end', 'reset/ann smith/end'],
])(
  'where paths are rewritten, a span whose %s is %s and whose name is %s has the name %s',
  (key, value, name, shownName) => {
    const paths = [{ pattern: '/reset/[^/]+/end', replacement: '/reset/{code}/end' }];
    const { pipeline, shown } = aPipeline({}, { redaction: [{ paths }] });
    pipeline.take(request([span({ name, attributes: { [key]: value } })]));
    expect(shown()[0]!.name).toBe(shownName);
  },
);

test('a dropped path with white space is not in a name, also where only the URL tells where it ends', () => {
  const redaction = [{ labels: [{ name: 'url_path', action: 'Drop' as const }] }];
  const { pipeline, shown } = aPipeline({}, { redaction });
  pipeline.take(request([span({ name: 'GET /a/ann smith', attributes: { 'url.full': 'http://h/a/ann smith?b=1' } })]));
  expect(shown()[0]!.name).toBe('GET /REDACTED');
});

test('a dropped gRPC method of several words is not in a name of which the cut goes through it', () => {
  const method = `/shop.Cart/Get ann ${'x '.repeat(5_000)}`;
  const { pipeline, shown } = aPipeline({}, { redaction: [{ labels: [{ name: 'rpc_method', action: 'Drop' }] }] });
  pipeline.take(request([span({ name: `call ${method}`, attributes: { 'rpc.method': method } })]));
  expect(shown()[0]!.name).toBe('call /REDACTED');
});

test('a gRPC method has in the name of its span the hash that its label has, whatever rewrites say of paths', () => {
  const { pipeline, shown } = aPipeline(
    {},
    {
      redaction: [
        {
          paths: [{ pattern: '/Get$', replacement: '/{verb}' }],
          labels: [{ name: 'rpc_method', action: 'Hash' }],
        },
      ],
    },
  );
  pipeline.take(request([span({ name: '/shop.Cart/Get', attributes: { 'rpc.method': '/shop.Cart/Get' } })]));
  const { name, attributes: left } = shown()[0]!;
  expect(name).toMatch(/^[0-9a-f]{16}$/);
  expect(left).toEqual({ 'rpc.method': name });
});

const sqlError = "SQL Server errored for command 'COM_QUERY': error_code=1064 sql_state=#42000";
const quoting = "message=syntax error near 'WHERE pw='hunter2''";
const mysql = { 'db.system.name': 'mysql' };

test.each([
  ['keeps the codes of a SQL error', mysql, `${sqlError} ${quoting}`, sqlError],
  ['keeps none of another database error', { 'db.system': 'redis' }, "ERR unknown command 'SET pw hunter2'", undefined],
  ['keeps none of an error that only begins like one', mysql, `SQL Server errored: ${quoting}`, undefined],
  [
    'rewrites the URLs and paths of another error',
    {},
    'Get "http://u:p@h/users/ann?badge=1&a=2": /users/bob and (/users/eve), 7/8',
    'Get "http://h/users/{id}?badge=REDACTED&a=2": /users/{id} and (/users/{id}), 7/8',
  ],
  [
    'redacts each URL of a list',
    {},
    'tried http://a:1@h1/users/ann?a=1,http://b:2@h2/x?badge=s (http://h3/)(http://u:p@h4/)',
    'tried http://h1/users/{id}?a=1,http://h2/x?badge=REDACTED (http://h3/)(http://h4/)',
  ],
  [
    'redacts a URL directly behind other signs',
    {},
    '(+http://u:p@h/?badge=1) ...http://u:p@h/ 2.http://u:p@h/users/ann',
    '(+http://h/?badge=REDACTED) ...http://h/ 2.http://h/users/{id}',
  ],
  [
    'redacts paths behind other signs, and leaves fractions alone',
    {},
    'path=/users/bob?badge=s [/users/a] {/users/b} `/users/c`,</users/d>:/users/e 7/8 a/b text/users/f',
    'path=/users/{id}?badge=REDACTED [/users/{id}] {/users/{id}} `/users/{id}`,</users/{id}>:/users/{id} 7/8 a/b text/users/f',
  ],
  [
    'redacts the user in any URL, also where a password has a quote',
    {},
    `'http://u:it's@h/?badge=it's' http://h/proxy/http://u:p@h2/ //u:p@h3/`,
    `'http://h/?badge=REDACTED' http://h/proxy/http://h2/ //h3/`,
  ],
  [
    'redacts query parameters in JSON, in HTML, without a scheme, of a URL in another one, and of a URL in brackets',
    {},
    String.raw`"http://h/x?a=1\u0026badge=s" ?a=1&amp;badge=s, h:80/x?a=1&badge=s: http://h/?a=http://h2/?badge=s [http://h/?a=1][http://h/?badge=s] (h/?badge=s)`,
    String.raw`"http://h/x?a=1\u0026badge=REDACTED" ?a=1&amp;badge=REDACTED, h:80/x?a=1&badge=REDACTED: http://h/?a=http://h2/?badge=REDACTED [http://h/?a=1][http://h/?badge=REDACTED] (h/?badge=REDACTED)`,
  ],
  [
    'redacts the user whose password has a slash, and what Go takes for a port then',
    {},
    'parse "postgres://app:pa/ss@db/x": invalid port ":pa" after host; http://h:80/x@y http://h:80,http://u:p@h2/',
    'parse "postgres://db/x": invalid port "REDACTED" after host; http://h:80/x@y http://h:80,http://h2/',
  ],
  [
    'redacts the user of a URL whose slashes are escaped',
    {},
    String.raw`{"a":"http:\/\/u:p@h\/x","b":"http:\/\/u\\x:p@h\/x","c":"http:\/\/h\/x@y"}`,
    String.raw`{"a":"http:\/\/h\/x","b":"http:\/\/h\/x","c":"http:\/\/h\/x@y"}`,
  ],
  ['shows no URL of which the end is cut off', {}, `at http://u:${'p'.repeat(9_000)}@h/`, 'at REDACTED'],
  ['shows no user that a cut leaves behind a dot', {}, `at http://u:${'p'.repeat(8_179)}.p@h/`, 'at REDACTED'],
  [
    'keeps none of an error of a span with another attribute of a database',
    { 'db.operation.name': 'SET' },
    'pw',
    undefined,
  ],
])('the status message of a span, which may quote anything, %s', (_what, own, statusMessage, kept) => {
  const redaction: CaptureConfig['redaction'] = [
    { paths: [{ pattern: '^/users/[^/]+$', replacement: '/users/{id}' }], queryParams: { add: ['badge'], remove: [] } },
  ];
  const { pipeline, shown } = aPipeline({}, { redaction });
  pipeline.take(request([span({ statusMessage, attributes: own })]));
  expect(shown().map((record) => record.statusMessage)).toEqual([kept]);
});

const quotingAnn = 'Get "http://u:p@h/users/ann?a=2&sig=s": /users/ann';

test.each([
  ['url_path', 'Drop', ann, 'Get "http://h/REDACTED?a=2&sig=REDACTED": /REDACTED'],
  ['url_path', 'Hash', ann, `Get "http://h/${hashOfAnn}?a=2&sig=REDACTED": ${hashOfAnn}`],
  ['http_route', 'Drop', ann, 'Get "http://h/REDACTED?a=2&sig=REDACTED": /REDACTED'],
  // The route is shown, and no rule is about it.
  [
    ...(['url_path', 'Drop', { 'http.route': '/users/ann' }] as const),
    'Get "http://h/users/ann?a=2&sig=REDACTED": /users/ann',
  ],
  ['url_full', 'Drop', ann, 'Get "REDACTED": /users/ann'],
  ['rpc_method', 'Drop', { 'rpc.method': '/users/ann' }, 'Get "http://h/REDACTED?a=2&sig=REDACTED": /REDACTED'],
] as const)(
  'redaction of label %s by %s of a span with %j makes of its status message %s',
  (name, action, own, left) => {
    const { pipeline, shown } = aPipeline({}, { redaction: [{ labels: [{ name, action }] }] });
    pipeline.take(request([span({ statusMessage: quotingAnn, attributes: own })]));
    expect(shown()[0]!.statusMessage).toBe(left);
  },
);

test('a URL in a status message has the hash that the span’s URL has', () => {
  const { pipeline, shown } = aPipeline({}, { redaction: [{ labels: [{ name: 'url_full', action: 'Hash' }] }] });
  const attributes = { 'url.full': 'http://u:p@h/users/ann?sig=s' };
  pipeline.take(request([span({ statusMessage: `Get "${attributes['url.full']}": EOF`, attributes })]));
  const { statusMessage, attributes: left } = shown()[0]!;
  expect(statusMessage).toBe(`Get "${String(left['url.full'])}": EOF`);
  expect(statusMessage).not.toContain('ann');
});

test('the status message of a database span stays where the texts of queries are kept', () => {
  const { pipeline, shown } = aPipeline({}, { redaction: [{ dbQueryText: 'Keep' }] });
  pipeline.take(request([span({ statusMessage: `${sqlError} ${quoting}`, attributes: mysql })]));
  expect(shown()[0]!.statusMessage).toBe(`${sqlError} ${quoting}`);
});

test('spans belong to the pod that sent them, whatever they claim; spans of an unknown pod have no namespace', () => {
  const { pipeline, shown, identity, unknown, contradicted } = aPipeline({ ignorePaths: ['/live'] });
  const claims = {
    'k8s.namespace.name': 'pay',
    'k8s.pod.name': 'db-0',
    'k8s.statefulset.name': 'db',
    'container.id': 'x',
  };
  const sender = { ...claims, ...web() };
  showPoints(identity, attributes(sender));
  pipeline.take(request([span({ attributes: claims }), span({ attributes: { 'url.path': '/live' } })], sender));
  expect(shown()).toMatchObject([{ namespace: 'shop', pod: 'web-1', container: 'app' }]);
  expect([unknown(), contradicted()]).toEqual([0, 2]);
  pipeline.take(request([span({ attributes: claims })], claims));
  const { namespace, pod, workload } = shown()[1]!;
  expect([namespace, pod, workload, unknown()]).toEqual([undefined, undefined, undefined, 1]);
});

test('the redaction rules of every namespace apply to a span whose sender is unknown', () => {
  const redaction: CaptureConfig['redaction'] = [{ namespaces: ['pay'], labels: [{ name: 'card', action: 'Drop' }] }];
  const { pipeline, shown } = aPipeline({}, { redaction });
  pipeline.take(request([span({ attributes: { card: '1' } })], {}));
  pipeline.take(request([span({ attributes: { card: '1' } })]));
  expect(shown().map((s) => s.attributes)).toEqual([{}, { card: '1' }]);
});

test('a monitor of one container and port does not apply to spans of a sidecar or of other ports', () => {
  const { pipeline, shown, identity } = aPipeline({ containers: ['app'], ports: '8080', protocols: ['SQL'] });
  identity.pods.upsert(podIdentity(aPod('shop/web-1', { containers: ['app', 'proxy'] })), 0);
  for (const container of ['app', 'proxy']) showPoints(identity, attributes(web(container)));
  const http = (port: string) =>
    span({ name: port, attributes: { 'http.request.method': 'GET', 'server.port': port } });
  pipeline.take(
    request([http('8080'), http('9090'), span({ kind: 'client', attributes: { 'db.system.name': 'redis' } })]),
  );
  pipeline.take(request([http('8080')], web('proxy')));
  expect(shown().map((s) => `${s.container} ${s.name}`)).toEqual(['app 9090', 'proxy 8080']);
});

describe('a process that the instrument samples by a monitor of some of its ports', () => {
  const monitor = { ports: '9000', tail: { ratio: '0', keepErrors: true } };
  const ratioOnly = { tail: { ratio: '0.5', keepErrors: false } };
  const served = (port: string, change: Parameters<typeof span>[0] = {}) =>
    span({ name: port, attributes: { 'server.port': port }, ...change });
  const taken = (made: ReturnType<typeof aPipeline>, resource = web()): string[] => {
    const lucky = `${low}1`;
    const spans = [served('9000', { status: 'error', traceId: `${high}2` }), served('8080'), span({ kind: 'client' })];
    made.pipeline.take(request([...spans, served('8080', { name: 'by ratio', traceId: lucky })], resource));
    return made.shown().map(({ name }) => name);
  };

  test('has on its other ports the ratio of its namespace', async () => {
    const made = aPipeline(monitor, { fallback: [{ namespaces: ['shop'], ...ratioOnly }] });
    expect(taken(made)).toEqual(['9000', 'by ratio']);
    expect(made.dropped).toEqual(['sampled 1']);
    // The span of the client waits for a failure in its trace.
    await made.clock.advance(10_000);
    made.pipeline.expire();
    expect(made.dropped).toEqual(['sampled 1', 'sampled 1']);
  });

  test('has on the ports of a weaker monitor the ratio of that monitor', () => {
    const rule = { namespace: 'shop', uid: '', pods: ['web-1'] };
    const weaker = { ...rule, name: 'weaker', ...ratioOnly };
    const made = aPipeline({}, { monitors: [{ ...rule, name: 'm', ...monitor }, weaker] });
    expect(taken(made)).toEqual(['9000', 'by ratio']);
  });

  test('is the only one: where the instrument has sampled by the same rule, its choice is kept', () => {
    const fallback = [{ namespaces: ['shop'], ...ratioOnly }];
    expect(taken(aPipeline({ pods: ['web-2'], ...monitor }, { fallback }))).toContain('8080');
    expect(taken(aPipeline(ratioOnly))).toContain('8080');
    const beside = aPipeline({ ...monitor, containers: ['proxy'] }, { fallback });
    expect(taken(beside)).toContain('8080');
  });
});

describe('spans that come before the metric points of their process', () => {
  const early = { ...web(), 'k8s.container.name': 'app' };

  test('wait for the points, and then belong to their pod', async () => {
    const { pipeline, shown, identity, clock, unknown } = aPipeline();
    expect(pipeline.take(request([span({ name: 'a' }), span({ name: 'b' })], early))).toBe(2);
    await clock.advance(9_000);
    pipeline.expire();
    expect(shown()).toEqual([]);
    showPoints(identity, attributes(early));
    pipeline.expire();
    pipeline.expire();
    expect(shown().map((s) => `${s.namespace}/${s.pod} ${s.name}`)).toEqual(['shop/web-1 a', 'shop/web-1 b']);
    expect(unknown()).toBe(0);
  });

  test('belong to an unknown sender if no points come, or only points of another pod', async () => {
    const { pipeline, shown, identity, clock, unknown, contradicted } = aPipeline();
    pipeline.take(request([span({ name: 'a' })], early));
    showPoints(identity, attributes(early), 'pay.db-0.main');
    pipeline.expire();
    expect(shown()).toMatchObject([{ name: 'a' }]);
    expect([shown()[0]!.namespace, unknown(), contradicted()]).toEqual([undefined, 1, 1]);
    pipeline.take(request([span({ name: 'b' })], { ...web(), 'k8s.container.name': 'other' }));
    await clock.advance(69_999);
    pipeline.expire();
    expect(shown()).toHaveLength(1);
    await clock.advance(1);
    pipeline.expire();
    expect([shown()[1]!.namespace, unknown(), contradicted()]).toEqual([undefined, 2, 1]);
  });

  test('wait in bounded memory: the oldest of the namespace that uses most of it are passed on as unknown', () => {
    const passed: string[] = [];
    const waiting = new UnshownSpans((held) => passed.push(held.scopes[0]!.spans[0]!.name), {
      maxBytes: 20_000,
      waitMs: 1_000,
    });
    const spans = (name: string) => request([span({ name })]).resources[0]!;
    waiting.hold('pay', spans('quiet'), 0);
    for (let i = 0; i < 100; i++) waiting.hold('shop', spans(`many-${i}`), 0);
    expect(waiting.bytes).toBeLessThanOrEqual(20_000);
    expect(passed.length).toBeGreaterThan(50);
    expect(passed).not.toContain('quiet');
    waiting.settle(() => true, 0);
    expect([passed.length, new Set(passed).size, waiting.bytes]).toEqual([101, 101, 0]);
  });
});
