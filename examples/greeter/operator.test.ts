import { coreResources } from '../../src/kube/index.ts';
import { anObject, noFaults, runController, StatusError } from '../../src/testing/index.ts';
import { greeters, planGreeter, setupGreeter, type Greeter } from './operator.ts';

const { configMaps } = coreResources;
const options = { server: { resources: [greeters] } };
const aGreeter = (...audiences: string[]): Greeter =>
  anObject({
    apiVersion: 'example.dev/v1',
    kind: 'Greeter',
    spec: { greeting: 'hello', audiences },
  }) as Greeter;

test('plans one ConfigMap per audience', () => {
  const plan = planGreeter(aGreeter('world', 'moon'));
  expect(plan.map((o) => [o.metadata.name, o['data']])).toEqual([
    ['one-world', { text: 'hello, world!' }],
    ['one-moon', { text: 'hello, moon!' }],
  ]);
});

test('greets, follows, repairs, prunes, and says that it is ready', async () => {
  const { server, passUntil, idle, stop } = await runController(setupGreeter, [aGreeter('world')], noFaults, options);
  const text = (name: string): unknown => server.storage.find(configMaps, 'shop', name)?.['data'];
  await passUntil(() => text('one-world'), 'the greeting');
  server.put(configMaps, anObject({ metadata: { name: 'one-world' }, data: { extra: 'x' } }));
  server.storage.remove(configMaps, 'shop', 'one-world');
  await passUntil(() => text('one-world'), 'the repair');
  server.put(greeters, aGreeter('moon'));
  await passUntil(() => text('one-moon') && !text('one-world'), 'the other audience');
  await idle();
  const { status } = server.storage.get(greeters, 'shop', 'one') as Greeter;
  expect(status).toMatchObject({
    observedGeneration: 2,
    conditions: [{ type: 'Ready', status: 'True', reason: 'Greeted' }],
  });
  await stop();
});

test('says what went wrong, and goes on by itself when it is over', async () => {
  const refused = new StatusError(403, 'Forbidden', 'quota exceeded');
  const harness = await runController(
    setupGreeter,
    [aGreeter('world')],
    (server) => server.script({ verb: 'apply', plural: 'configmaps' }, { do: 'fail', error: refused }, 4),
    options,
  );
  const conditions = (): object[] =>
    (harness.server.storage.get(greeters, 'shop', 'one') as Greeter).status?.conditions ?? [];
  await harness.passUntil(() => conditions().length > 0, 'the first status');
  expect(conditions()).toMatchObject([
    { type: 'Ready', status: 'False', message: expect.stringContaining('quota exceeded') as unknown },
    { type: 'Stalled', status: 'True' },
  ]);
  await harness.passUntil(() => conditions().length === 1, 'the recovery');
  expect(conditions()).toMatchObject([{ type: 'Ready', status: 'True' }]);
  await harness.stop();
});
