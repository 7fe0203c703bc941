import type { KubeObject } from '../../api/meta.ts';
import { errorText } from '../../base/errors.ts';
import { coreResources } from '../../kube/index.ts';
import { FakeApiServer } from '../../testing/fake-api-server/index.ts';
import { RequeueError } from '../control/result.ts';
import { handleFinalizer, patchFinalizers, runCleanups } from './finalizer.ts';

const { configMaps } = coreResources;
const object = (finalizers?: string[]): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'shop', ...(finalizers ? { finalizers } : {}) },
});

let server: FakeApiServer;
beforeEach(async () => {
  server = await FakeApiServer.start();
});
afterEach(() => server.stop());
const live = (): KubeObject => server.storage.get(configMaps, 'shop', 'a');
const options = () => ({
  client: server.client(),
  resource: configMaps,
  finalizer: 'svc.dev/clean-up',
  fieldManager: 'svc-controller/test',
});
const never = (): Promise<void> => Promise.reject(new Error('not to be called'));

test('adds the finalizer once, and does not change the object it was given', async () => {
  server.put(configMaps, object());
  const seen = Object.freeze(live());
  expect(await handleFinalizer(seen, options(), never)).toBe('added');
  expect(seen.metadata.finalizers).toBeUndefined();
  expect(live().metadata.finalizers).toEqual(['svc.dev/clean-up']);
  expect(await handleFinalizer(live(), options(), never)).toBe('present');
});

test('cleans up for an object that is being deleted, then removes the finalizer', async () => {
  server.put(configMaps, object(['svc.dev/clean-up']));
  server.storage.remove(configMaps, 'shop', 'a');
  let cleaned = 0;
  expect(await handleFinalizer(live(), options(), () => Promise.resolve(void cleaned++))).toBe('removed');
  expect(cleaned).toBe(1);
  expect(server.storage.find(configMaps, 'shop', 'a')).toBeUndefined();
});

test('keeps the object when the clean-up fails, and throws the reason', async () => {
  server.put(configMaps, object(['svc.dev/clean-up']));
  server.storage.remove(configMaps, 'shop', 'a');
  await expect(handleFinalizer(live(), options(), () => Promise.reject(new Error('disk full')))).rejects.toMatchObject({
    code: 'ERR_FINALIZER',
    message: expect.stringContaining('disk full') as unknown,
  });
  expect(live().metadata.finalizers).toEqual(['svc.dev/clean-up']);
});

test.each([[undefined], [[]]])(
  'an object without finalizers (%j) has none afterwards when none are wanted',
  async (before) => {
    server.put(configMaps, object(before));
    await patchFinalizers(live(), [], options());
    expect(live().metadata.finalizers ?? []).toEqual([]);
  },
);

test('does nothing for an object that is being deleted without our finalizer', async () => {
  server.put(configMaps, object(['other/owner']));
  server.storage.remove(configMaps, 'shop', 'a');
  expect(await handleFinalizer(live(), options(), never)).toBe('absent');
});

test.each([
  ['the first finalizer of another owner', undefined],
  ['a further finalizer of another owner', ['other/first']],
])('keeps %s that was added meanwhile', async (_what, before) => {
  server.put(configMaps, object(before));
  const stale = live();
  server.put(configMaps, object([...(before ?? []), 'other/owner']));
  await expect(handleFinalizer(stale, options(), never)).rejects.toMatchObject({ code: 'ERR_API_CONFLICT' });
  expect(await handleFinalizer(live(), options(), never)).toBe('added');
  expect(live().metadata.finalizers).toEqual([...(before ?? []), 'other/owner', 'svc.dev/clean-up']);
});

test('a new object that replaced the known one under its name is not given the finalizer', async () => {
  server.put(configMaps, object());
  const stale = live();
  server.storage.remove(configMaps, 'shop', 'a');
  server.put(configMaps, object());
  await expect(handleFinalizer(stale, options(), never)).rejects.toMatchObject({ code: 'ERR_API_CONFLICT' });
  expect(live().metadata.finalizers).toBeUndefined();
});

test('all clean-ups run even if one fails, and all failures are reported', async () => {
  const ran: string[] = [];
  const fail = (name: string) => () => Promise.reject(new Error(`${name} broke`));
  await expect(
    runCleanups({ a: fail('a'), b: () => Promise.resolve(void ran.push('b')), c: fail('c') }),
  ).rejects.toThrow('a: a broke; c: c broke');
  expect(ran).toEqual(['b']);
});

test('clean-ups that wait, and nothing else, end with the shortest wait; beside a failure they are failures', async () => {
  const wait = (ms: number) => () => Promise.reject(new RequeueError(ms, `waits ${ms} ms`));
  await expect(runCleanups({ a: wait(20), b: wait(10), c: () => Promise.resolve() })).rejects.toMatchObject({
    code: 'ERR_REQUEUE',
    afterMs: 10,
  });
  const failed = runCleanups({ a: wait(20), b: () => Promise.reject(new Error('broke')) });
  await expect(failed).rejects.toMatchObject({ code: 'ERR_FINALIZER', message: 'a: waits 20 ms; b: broke' });
  const error: unknown = await failed.catch((e: unknown) => e);
  expect(errorText(error)).toBe('a: waits 20 ms; b: broke');
});
