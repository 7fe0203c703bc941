import { parse } from '../../../src/promql/index.ts';
import type { FlowRecord, SpanRecord } from '../../api/stream.ts';
import { queriesOfFlow, queriesOfSpan } from './item-queries.ts';
import { levelOfSpan, wordsOf } from './item-words.ts';

const start = '2026-11-22T05:40:29.123456789Z';
const workload = { kind: 'Deployment', name: 'cart' };
const span = (change: Partial<SpanRecord> = {}): SpanRecord => ({
  ...{ traceId: 't', spanId: 's', name: 'GET', kind: 'server', start, durationNs: 12_300_000, status: 'unset' },
  ...{ namespace: 'shop', pod: 'cart-1', workload, method: 'GET', path: '/cart/7', route: '/cart/{id}' },
  ...{ statusCode: 200, attributes: {} },
  ...change,
});
const flow: FlowRecord = {
  ...{ end: start, direction: 'request', protocol: 'TCP', bytes: 2_048, attributes: {} },
  source: { namespace: 'shop', workload },
  destination: { address: '203.0.113.7', port: 443 },
};
const exprs = (queries: { expr: string }[]): string[] => queries.map(({ expr }) => expr);

test('spans and flows are described as on the command line', () => {
  const peer = { namespace: 'web', name: 'front-1', kind: 'Pod' };
  expect(wordsOf({ node: 'n', time: start, span: span({ peer }) })).toMatchObject({
    ...{ from: 'web/front-1', to: 'shop/cart-1', what: 'GET /cart/7', outcome: '200', level: 'good', size: '12.3 ms' },
    time: expect.stringMatching(/^\d\d:\d\d:29\.123$/),
  });
  expect(wordsOf({ node: 'n', time: start, flow })).toMatchObject({
    ...{ from: 'shop/deployment/cart', to: '203.0.113.7:443', what: 'TCP request', outcome: '', size: '2 KiB' },
  });
});

test.each([
  [{ statusCode: 503 }, 'bad'],
  [{ statusCode: 200, status: 'error' as const }, 'bad'],
  [{ statusCode: 404 }, 'warn'],
  [{ statusCode: 302 }, 'good'],
])('the level of a span with %j is %s', (change, level) => expect(levelOfSpan(span(change))).toBe(level));

test('a server span leads to queries of its route, a client span to queries of its peer', () => {
  const own = 'k8s_namespace_name="shop", k8s_owner_name="cart", k8s_kind="Deployment", http_route="/cart/{id}"';
  expect(exprs(queriesOfSpan(span()))).toEqual([
    `sum by (http_response_status_code) (rate(http_server_request_duration_count{${own}}[5m]))`,
    `histogram_quantile(0.99, sum by (le) (rate(http_server_request_duration_bucket{${own}}[5m])))`,
  ]);
  const peer = { namespace: 'pay', workload: { kind: 'StatefulSet', name: 'bank' } };
  expect(exprs(queriesOfSpan(span({ kind: 'client', peer })))[0]).toContain(
    '{k8s_namespace_name="pay", k8s_owner_name="bank", k8s_kind="StatefulSet"}',
  );
  expect(queriesOfSpan(span({ kind: 'client' }))).toEqual([]);
});

test('names that an attacker chose stay strings in the query', () => {
  const queriesWith = (name: string): string[] =>
    exprs([
      ...queriesOfSpan(span({ route: name, namespace: name, workload: { kind: name, name } })),
      ...queriesOfSpan(span({ kind: 'client', peer: { namespace: name, workload: { kind: 'Deployment', name } } })),
      ...queriesOfFlow({ ...flow, source: { namespace: name, workload: { kind: 'x', name } } }),
    ]);
  const dear = '"} or vector(1) or {a="';
  const queries = queriesWith(dear);
  expect(queries).toHaveLength(5);
  // Each query parses like the query for a plain name, except for the name itself.
  const shape = (expr: string, name: string): string =>
    JSON.stringify(parse(expr), (_key, value: unknown) =>
      typeof value === 'number' ? 0 : value === name ? 'name' : value,
    );
  expect(queries.map((expr) => shape(expr, dear))).toEqual(
    queriesWith('a plain name').map((expr) => shape(expr, 'a plain name')),
  );
});
