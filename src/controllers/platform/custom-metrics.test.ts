import { customMetricsApi, planMetricsApi, type ApiServiceObject, type QueryServerObjects } from './metrics-apis.ts';

const api = (
  version: string,
  service: { name: string; namespace: string } | null,
  available?: string,
): ApiServiceObject => ({
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: `${version}.custom.metrics.k8s.io` },
  spec: { service },
  ...(available ? { status: { conditions: [{ type: 'Available', status: available, message: 'no route' }] } } : {}),
});
const ours = { name: 'svc-query', namespace: 'svc-system' };
const adapter = { name: 'prometheus-adapter', namespace: 'monitoring' };
const plan = (mode: 'auto' | 'force' | 'off', ...present: ApiServiceObject[]) =>
  planMetricsApi(customMetricsApi, mode, 'svc-system', present, queryServer('True'));

function queryServer(available: string): QueryServerObjects {
  const status = { conditions: [{ type: 'Available', status: available }] };
  return {
    deployment: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'svc-query' }, status },
    reader: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: { name: 'reader' } },
  };
}

test('the mode off serves and registers nothing, and sets no condition', () => {
  expect(plan('off', api('v1beta1', adapter))).toEqual({ serve: false, register: false, condition: undefined });
});

test.each<[string, ApiServiceObject[], boolean, string, string]>([
  ['registers where no other adapter is registered', [], true, 'False', 'Unavailable'],
  [
    'registers neither version where another adapter is registered for one',
    [api('v1beta1', adapter, 'True')],
    false,
    'False',
    'ForeignAPIService',
  ],
  ['leaves alone what the API server serves itself', [api('v1beta2', null)], false, 'False', 'ForeignAPIService'],
  [
    'treats a Service of the same name elsewhere as foreign',
    [api('v1beta1', { ...ours, namespace: 'x' })],
    false,
    'False',
    'ForeignAPIService',
  ],
  [
    'reports the API as available when both versions are',
    [api('v1beta1', ours, 'True'), api('v1beta2', ours, 'True')],
    true,
    'True',
    'Available',
  ],
  [
    'reports the API as unavailable when one version is',
    [api('v1beta1', ours, 'True'), api('v1beta2', ours, 'False')],
    true,
    'False',
    'Unavailable',
  ],
  [
    'ignores other API groups',
    [{ ...api('v1beta1', adapter), metadata: { name: 'v1beta1.metrics.k8s.io' } }],
    true,
    'False',
    'Unavailable',
  ],
])('the mode auto %s', (_, present, register, status, reason) => {
  expect(plan('auto', ...present)).toMatchObject({ serve: true, register, condition: { status, reason } });
});

test.each(['auto', 'force'] as const)('the mode %s registers nothing before the query server answers', (mode) => {
  for (const query of [{ ...queryServer('True'), deployment: undefined }, queryServer('False')])
    expect(planMetricsApi(customMetricsApi, mode, 'svc-system', [], query)).toMatchObject({
      serve: true,
      register: false,
      condition: { status: 'False', reason: 'Unavailable', message: expect.stringContaining('Deployment svc-query') },
    });
});

test.each(['auto', 'force'] as const)('the mode %s registers nothing before callers can be known', (mode) => {
  const query = { ...queryServer('True'), reader: undefined };
  const foreign = mode === 'force' ? [api('v1beta1', adapter, 'True')] : [];
  expect(planMetricsApi(customMetricsApi, mode, 'svc-system', foreign, query)).toMatchObject({
    serve: true,
    register: false,
    condition: { status: 'False', reason: 'Unavailable', message: expect.stringContaining('svc-query-auth-reader') },
  });
});

test('a foreign registration is not taken over by a query server that does not answer', () => {
  const foreign = [api('v1beta1', adapter, 'True')];
  expect(planMetricsApi(customMetricsApi, 'force', 'svc-system', foreign, queryServer('False'))).toMatchObject({
    register: false,
  });
});

test('our registration stays while the query server is unavailable', () => {
  const present = [api('v1beta1', ours, 'False')];
  for (const query of [queryServer('False'), { ...queryServer('True'), reader: undefined }])
    expect(planMetricsApi(customMetricsApi, 'auto', 'svc-system', present, query)).toMatchObject({ register: true });
});

test('the mode force takes over a foreign registration', () => {
  expect(plan('force', api('v1beta1', adapter))).toMatchObject({ register: true });
});

test('a registration that is not taken over yet makes the API unavailable, even when its own server answers', () => {
  const { register, condition } = plan('force', api('v1beta1', adapter, 'True'), api('v1beta2', ours, 'True'));
  expect(register).toBe(true);
  expect(condition).toMatchObject({ status: 'False', reason: 'Unavailable' });
  expect(condition?.message).toMatch(/v1beta1.* Service monitoring\/prometheus-adapter .*not taken over yet/);
});

test('the condition about a foreign registration names its Service and the flag that takes it over', () => {
  const { condition } = plan('auto', api('v1beta1', adapter));
  expect(condition?.message).toContain('Service monitoring/prometheus-adapter');
  expect(condition?.message).toContain('--custom-metrics=force');
});
