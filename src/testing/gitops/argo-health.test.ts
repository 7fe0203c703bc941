import type { Condition, KubeObject } from '../../api/meta.ts';
import { argoHealth, toLua } from './argo-health.ts';
import { kstatus } from './kstatus.ts';

const condition = (type: string, status: Condition['status'], reason = 'Because'): Condition => ({
  type,
  status,
  reason,
  message: 'of it',
  lastTransitionTime: '2026-01-02T03:04:05Z',
});
const object = (status?: object, spec: object = {}): KubeObject => ({
  apiVersion: 'svc.dev/v1alpha1',
  kind: 'TrafficMonitor',
  metadata: { name: 'a', generation: 2 },
  spec,
  ...(status ? { status } : {}),
});
const seen = (...conditions: Condition[]): object => ({ observedGeneration: 2, conditions });
const ready = condition('Ready', 'True');
const notReady = condition('Ready', 'False', 'RollingOut');

test.each<[string, KubeObject, string, string]>([
  ['has no status', object(), 'Progressing', 'has no status yet'],
  [
    'has the status that the API server gives a new object',
    object({ observedGeneration: -1 }),
    'Progressing',
    'not observed',
  ],
  ['has a status without conditions', object({ observedGeneration: 2 }), 'Progressing', 'has no status yet'],
  ['has an older status', object({ observedGeneration: 1, conditions: [ready] }), 'Progressing', 'not observed'],
  ['is ready', object(seen(ready)), 'Healthy', 'Because: of it'],
  [
    'is ready and rolls out',
    object(seen(ready, condition('Reconciling', 'True', 'Progressing'))),
    'Progressing',
    'Progressing: of it',
  ],
  ['is stalled', object(seen(notReady, condition('Stalled', 'True', 'Invalid'))), 'Degraded', 'Invalid: of it'],
  [
    'is stalled and reconciling',
    object(seen(condition('Stalled', 'True', 'Invalid'), condition('Reconciling', 'True'))),
    'Degraded',
    'Invalid',
  ],
  ['was stalled once', object(seen(ready, condition('Stalled', 'False'))), 'Healthy', 'Because'],
  ['is not ready', object(seen(notReady)), 'Progressing', 'RollingOut: of it'],
  ['is of unknown readiness', object(seen(condition('Ready', 'Unknown', 'Pending'))), 'Progressing', 'Pending: of it'],
  ['has only other conditions', object(seen(condition('Accepted', 'True'))), 'Progressing', 'has no status yet'],
  [
    'is suspended',
    object(seen(condition('Ready', 'True', 'Suspended')), { suspend: true }),
    'Suspended',
    'Suspended: of it',
  ],
])('the Argo CD health script gives the status of an object that %s', async (_what, given, status, message) => {
  const health = await argoHealth(given);
  expect(health).toMatchObject({ status, message: expect.stringContaining(message) as string });
});

test.each<[string, KubeObject]>([
  ['new', object({ observedGeneration: -1 })],
  ['changed', object({ observedGeneration: 1, conditions: [ready] })],
  ['ready', object(seen(ready))],
  ['rolling out', object(seen(notReady, condition('Reconciling', 'True')))],
  ['stalled', object(seen(notReady, condition('Stalled', 'True')))],
  ['not ready', object(seen(notReady))],
])('the Argo CD health script and kstatus agree on an object that is %s', async (_what, given) => {
  const same = {
    InProgress: 'Progressing',
    Current: 'Healthy',
    Failed: 'Degraded',
    Terminating: 'Progressing',
  } as const;
  expect((await argoHealth(given)).status).toBe(same[kstatus(given).status]);
});

test('strings keep their bytes in Lua', () => {
  expect(toLua({ 'a"b': ['é', true, 1, null] })).toBe('{["\\097\\034\\098"]={"\\195\\169",true,1,nil}}');
});
