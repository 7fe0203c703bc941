import { labelsFromObject } from '../../tsdb/index.ts';
import type { SpanRecord } from '../../stream/index.ts';
import type { Destination } from './destination.ts';
import { wantsSeries, wantsSpan } from './routing.ts';

const rule = { type: 'OTLP', endpoint: 'https://x', spans: true } as const;
const to = (sender: { containers?: string[]; ports?: string }): Pick<Destination, 'scope' | 'rule'> => ({
  rule,
  scope: { kind: 'pods', namespace: 'shop', pods: new Set(['web-1']), sender },
});
const pod = { k8s_namespace_name: 'shop', k8s_pod_name: 'web-1' };
const series = (labels: Record<string, string>, name = 'http_server_request_duration_bucket') =>
  labelsFromObject({ __name__: name, ...pod, ...labels });

test.each([
  ['of its pods', {}, {}, true],
  ['of a container that it includes', { containers: ['app'] }, { k8s_container_name: 'app' }, true],
  ['of a sidecar that it does not include', { containers: ['app'] }, { k8s_container_name: 'proxy' }, false],
  ['without a container label', { containers: ['app'] }, {}, true],
  ['of one of its ports', { ports: '8080-8090' }, { server_port: '8081' }, true],
  ['of another port', { ports: '8080-8090' }, { server_port: '9090' }, false],
  ['of another pod', {}, { k8s_pod_name: 'web-2' }, false],
])('whether a destination of a monitor takes a series %s', (_what, sender, labels, wanted) => {
  expect(wantsSeries(to(sender), series(labels))).toBe(wanted);
});

test('the ports of a monitor do not filter client series', () => {
  expect(wantsSeries(to({ ports: '8080' }), series({ server_port: '443' }, 'http_client_request_duration_sum'))).toBe(
    true,
  );
});

test('a destination of a monitor takes spans by the same rules of containers and ports as series', () => {
  const span = (change: Partial<SpanRecord>) =>
    ({ namespace: 'shop', pod: 'web-1', container: 'app', kind: 'server', attributes: {}, ...change }) as SpanRecord;
  const wanted = (change: Partial<SpanRecord>): boolean =>
    wantsSpan(to({ containers: ['app'], ports: '8080' }), span(change));
  expect(wanted({ attributes: { 'server.port': 8080 } })).toBe(true);
  expect(wanted({ attributes: { 'server.port': 9090 } })).toBe(false);
  expect(wanted({ kind: 'client', attributes: { 'server.port': 9090 } })).toBe(true);
  expect(wanted({ container: 'proxy' })).toBe(false);
});
