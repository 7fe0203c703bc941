import type { KubeObject } from '../../api/meta.ts';
import { kinds } from '../../api/v1alpha1/index.ts';
import { OperatorError } from '../../base/errors.ts';
import { apiError } from '../../kube/index.ts';
import type { ControllerEnvironment, ReconcileContext } from '../../runtime/index.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import type { Refusal } from '../refusal.ts';
import { PlatformTrouble, reportingTo } from './trouble.ts';
import { announceTrouble, missingKinds } from './watchman.ts';

const refusal = (message: string): Refusal => ({ reason: 'Forbidden', message, stalled: true });

test('repeated trouble is announced once, and the worst source takes precedence', () => {
  const trouble = new PlatformTrouble();
  const told: (string | undefined)[] = [];
  trouble.onChange((current) => void told.push(current?.message));
  expect(trouble.report('pods', refusal('image'))).toBe(true);
  expect(trouble.report('pods', refusal('image'))).toBe(false);
  trouble.report('apply', refusal('right'));
  trouble.report('apply', undefined);
  trouble.report('pods', undefined);
  expect(told).toEqual(['image', 'right', 'image', undefined]);
});

test('Events about trouble are recorded in the order of its changes, however long the look-up of the Deployment takes', async () => {
  const trouble = new PlatformTrouble();
  const told: string[] = [];
  const limits: unknown[] = [];
  const first = Promise.withResolvers<KubeObject>();
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'svc-controller', uid: 'u' } };
  const client = {
    get: (_resource: unknown, _name: unknown, options?: { deadlineMs?: number }) => {
      limits.push(options?.deadlineMs);
      return limits.length === 1 ? first.promise : Promise.resolve(deployment);
    },
  };
  const events = {
    record: ({ metadata }: KubeObject, { reason }: { reason: string }) => void told.push(`${reason} ${metadata.uid}`),
  };
  const clock = new FakeClock();
  announceTrouble({ client, events, clock } as unknown as ControllerEnvironment, 'svc-system', trouble);
  trouble.report('apply', refusal('right'));
  trouble.report('apply', undefined);
  await settle();
  first.reject(new Error('no answer in time'));
  await settle();
  expect(told).toEqual(['Forbidden undefined', 'Recovered u']);
  expect(limits).toEqual([5_000, 5_000]);
});

test('the Event is repeated every five minutes while the trouble stays the same, and not after its end', async () => {
  const trouble = new PlatformTrouble();
  const clock = new FakeClock();
  const told: string[] = [];
  const client = { get: () => Promise.reject(new Error('none')) };
  const events = { record: (_: KubeObject, { message }: { message: string }) => void told.push(message) };
  announceTrouble({ client, events, clock } as unknown as ControllerEnvironment, 'svc-system', trouble);
  trouble.report('apply', refusal('no right'));
  for (let minute = 0; minute < 60; minute++) {
    trouble.report('apply', refusal('no right'));
    await clock.advance(60_000);
  }
  expect(told).toEqual(Array(13).fill('platform: no right'));
  trouble.report('apply', undefined);
  await clock.advance(3_600_000);
  expect(told.slice(13)).toEqual(['platform: everything is in place again']);
  expect(clock.pending).toBe(0);
});

test('a failing reconcile is reported as trouble until it succeeds, and still rejects', async () => {
  const trouble = new PlatformTrouble();
  const context = { signal: new AbortController().signal } as ReconcileContext;
  let error: unknown = apiError('apply DaemonSet a/b', 403, { reason: 'Forbidden', message: 'cannot patch' });
  const reconcile = reportingTo(trouble, () => (error ? Promise.reject(error as Error) : Promise.resolve()));
  await expect(reconcile(context)).rejects.toBe(error);
  expect(trouble.current).toMatchObject({ reason: 'Forbidden', stalled: true });
  expect(trouble.current?.message).toContain('DaemonSet a/b');
  error = undefined;
  await reconcile(context);
  expect(trouble.current).toBeUndefined();
});

test.each([
  ['ERR_TIMEOUT', { reason: 'ApplyFailed', message: 'cannot patch' }],
  ['ERR_ABORTED', undefined],
] as const)('a failure of a reconcile that ended with %s is reported as %j', async (code, reported) => {
  const trouble = new PlatformTrouble();
  const signal = AbortSignal.abort(new OperatorError(code, 'the run has ended'));
  const reconcile = reportingTo(trouble, () => Promise.reject(new Error('cannot patch')));
  await expect(reconcile({ signal } as ReconcileContext)).rejects.toThrow('cannot patch');
  if (reported) expect(trouble.current).toMatchObject(reported);
  else expect(trouble.current).toBeUndefined();
});

test('a kind whose CRD is absent or being deleted is reported as missing', () => {
  const crd = (name: string, deletionTimestamp?: string): KubeObject => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name, ...(deletionTimestamp ? { deletionTimestamp } : {}) },
  });
  const all = kinds.map(({ resource }) => crd(`${resource.plural}.${resource.group}`));
  expect(missingKinds(all)).toBeUndefined();
  expect(missingKinds(all.slice(1))).toMatchObject({ reason: 'MissingDependency', stalled: true });
  const going = all.map((o, i) => (i === 0 ? crd(o.metadata.name!, '2026-01-02T03:04:05Z') : o));
  expect(missingKinds(going)?.message).toContain(`${all[0]!.metadata.name} removed; apply the CRDs`);
});
