import { externalMetricsApi, planMetricsApi, type ApiServiceObject, type QueryServerObjects } from './metrics-apis.ts';

const api = (service: { name: string; namespace: string } | null, available?: string): ApiServiceObject => ({
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: 'v1beta1.external.metrics.k8s.io' },
  spec: { service },
  ...(available ? { status: { conditions: [{ type: 'Available', status: available, message: 'no route' }] } } : {}),
});
const ours = { name: 'svc-query', namespace: 'svc-system' };
const keda = { name: 'keda-operator-metrics-apiserver', namespace: 'keda' };

const queryServer = (available: string): QueryServerObjects => ({
  deployment: {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'svc-query' },
    status: { conditions: [{ type: 'Available', status: available }] },
  },
  reader: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: { name: 'reader' } },
});

test('the mode off serves and registers nothing, and sets no condition', () => {
  expect(planMetricsApi(externalMetricsApi, 'off', 'svc-system', [api(keda)], queryServer('True'))).toEqual({
    serve: false,
    register: false,
    condition: undefined,
  });
});

test.each<[string, 'auto' | 'force', ApiServiceObject[], boolean, string]>([
  ['registers where no other adapter is registered', 'auto', [], true, 'Unavailable'],
  ['leaves alone what KEDA registered', 'auto', [api(keda, 'True')], false, 'ForeignAPIService'],
  ['leaves alone what the API server serves itself', 'auto', [api(null)], false, 'ForeignAPIService'],
  ['takes over what KEDA registered, with force', 'force', [api(keda, 'False')], true, 'Unavailable'],
  ['reports the API as available when its APIService is', 'auto', [api(ours, 'True')], true, 'Available'],
  ['reports the API as unavailable when its APIService is', 'auto', [api(ours, 'False')], true, 'Unavailable'],
])('the plan %s', (_, mode, present, register, reason) => {
  expect(planMetricsApi(externalMetricsApi, mode, 'svc-system', present, queryServer('True'))).toMatchObject({
    serve: true,
    register,
    condition: { type: 'ExternalMetricsAvailable', reason },
  });
});

test('the first registration waits for the query server; an existing one stays while the server is unavailable', () => {
  const away = queryServer('False');
  for (const present of [[], [api(keda, 'True')]])
    expect(planMetricsApi(externalMetricsApi, 'force', 'svc-system', present, away)).toMatchObject({ register: false });
  expect(planMetricsApi(externalMetricsApi, 'auto', 'svc-system', [api(ours, 'False')], away)).toMatchObject({
    register: true,
  });
});
