import { RE2JS } from 're2js';
import { parseStreamRequest, streamQuery } from '../../src/stream/index.ts';
import { filterOf, filterOfLabels, followOf, leavesFlowsOut, liveParams, patternOfRoute } from './live-filter.ts';

const of = (search: string) => filterOf(new URLSearchParams(search));

test('every filter in the URL of the live view becomes a filter of a stream request that the server accepts', () => {
  const filter = of(
    'type=span&ns=shop,pay&workload=deployment/cart&status=5%2B,404&path=/a,b/.*&min=100ms&protocol=HTTP&node=n&trace=ab',
  );
  expect(Object.values(filter).every((text) => text !== '')).toBe(true);
  const ask = followOf(filter, 200);
  expect(ask).toEqual({
    number: 200,
    follow: true,
    types: ['span'],
    include: [
      {
        ...{ namespace: ['shop', 'pay'], workload: ['deployment/cart'], status: ['5+', '404'], path: ['/a,b/.*'] },
        ...{ minDuration: ['100ms'], protocol: ['HTTP'], node: ['n'], traceId: ['ab'] },
      },
    ],
  });
  const query = streamQuery(parseStreamRequest(ask), 0, { node: '', podLabels: () => undefined });
  expect([query.number, query.follow]).toEqual([200, true]);
});

test('a URL without filters requests everything, and an unknown type means spans and flows', () => {
  expect(followOf(of('type=log&ns=%20,'), 5)).toEqual({ number: 5, follow: true });
});

test.each([
  ['status=404', true],
  ['min=1s', true],
  ['path=/x', true],
  ['trace=ab', true],
  ['type=span&status=404', false],
  ['ns=shop&protocol=TCP', false],
])('whether %s silently drops flows: %p', (search, expected) => expect(leavesFlowsOut(of(search))).toBe(expected));

test('the labels of a series lead to its spans', () => {
  const labels = {
    ...{ __name__: 'http_server_request_duration_count', k8s_namespace_name: 'shop', k8s_deployment_name: 'cart' },
    ...{ http_route: '/cart/{id}', http_response_status_code: '500', k8s_node_name: 'node-1', service_name: 'cart' },
  };
  const filter = filterOfLabels(labels)!;
  expect(filter).toEqual({
    ns: 'shop',
    workload: 'deployment/cart',
    path: '/cart/[^/]+',
    status: '500',
    node: 'node-1',
  });
  expect(Object.keys(filter).every((name) => (liveParams as readonly string[]).includes(name))).toBe(true);
  expect(filterOfLabels({ service_name: 'cart' })).toBeUndefined();
});

test.each([
  ['/cart/{id}', '/cart/7', '/cart/7/items'],
  ['/users/:id/posts', '/users/ann/posts', '/users/posts'],
  ['/files/*', '/files/a/b', '/file/a'],
  ['/v1.0/a+b', '/v1.0/a+b', '/v1x0/a+b'],
  ['/a/{id}.json', '/a/7.json', '/a/7xjson'],
  ['/a/{id:[0-9]{2}}', '/a/07', '/a/07/b'],
  ['/a/:id(\\d+)/b', '/a/7/b', '/a/b'],
  ['/trips/:from-:to', '/trips/a-b', '/trips/a'],
  ['/v1/{name}:undelete', '/v1/a:undelete', '/v1/a:delete'],
  ['/files/{path...}', '/files/a/b', '/file/a'],
  ['/files/{*path}', '/files/a/b', '/file/a'],
  ['/files/*path', '/files/a/b', '/file/a'],
])('the pattern of route %s matches %s and not %s', (route, path, other) => {
  const pattern = RE2JS.compile(patternOfRoute(route));
  expect([pattern.matches(path), pattern.matches(other)]).toEqual([true, false]);
});
