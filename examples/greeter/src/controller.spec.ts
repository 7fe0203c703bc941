import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { coreResources } from 'svc-operator/runtime';
import { customResourceDefinition } from 'svc-operator/schema';
import { anObject, noFaults, runController, StatusError } from 'svc-operator/testing';
import { planGreeter, setupGreeter } from './controller.ts';
import { greeterKind, greeters, type Greeter } from './kind.ts';

const { configMaps } = coreResources;
const options = { server: { resources: [greeters] } };
const aGreeter = (...audiences: string[]): Greeter => ({
  ...anObject({ apiVersion: greeters.apiVersion, kind: greeters.kind }),
  spec: { greeting: 'hello', audiences },
});

test('plans one ConfigMap for each audience', () => {
  const plan = planGreeter(aGreeter('world', 'moon'));
  assert.deepEqual(
    plan.map((o) => [o.metadata.name, o['data']]),
    [
      ['one-world', { text: 'hello, world!' }],
      ['one-moon', { text: 'hello, moon!' }],
    ],
  );
});

test('greets, follows, repairs, prunes, and says that it is ready', async () => {
  await using harness = await runController(setupGreeter, [aGreeter('world')], noFaults, options);
  const { server, passUntil, idle } = harness;
  const text = (name: string): unknown => server.storage.find(configMaps, 'shop', name)?.['data'];
  await passUntil(() => text('one-world'), 'the greeting');
  server.storage.remove(configMaps, 'shop', 'one-world');
  await passUntil(() => text('one-world'), 'the repair');
  server.put(greeters, aGreeter('moon'));
  await passUntil(() => text('one-moon') && !text('one-world'), 'the other audience');
  await idle();
  const { status } = server.storage.get(greeters, 'shop', 'one') as Greeter;
  assert.equal(status?.observedGeneration, 2);
  assert.deepEqual(
    status.conditions?.map((c) => [c.type, c.status, c.reason]),
    [['Ready', 'True', 'Greeted']],
  );
});

test('says what went wrong, and goes on by itself when the fault is over', async () => {
  const refused = new StatusError(403, 'Forbidden', 'quota exceeded');
  await using harness = await runController(
    setupGreeter,
    [aGreeter('world')],
    (server) => server.script({ verb: 'apply', plural: 'configmaps' }, { do: 'fail', error: refused }, 4),
    options,
  );
  const { server, passUntil } = harness;
  const conditions = () => (server.storage.get(greeters, 'shop', 'one') as Greeter).status?.conditions ?? [];
  await passUntil(() => conditions().length > 0, 'the first status');
  assert.deepEqual(
    conditions().map((c) => [c.type, c.status]),
    [
      ['Ready', 'False'],
      ['Stalled', 'True'],
    ],
  );
  assert.match(conditions()[0]?.message ?? '', /quota exceeded/);
  await passUntil(() => conditions().length === 1, 'the recovery');
  assert.equal(conditions()[0]?.status, 'True');
});

test('the committed CRD is the one that is generated from the kind; if it is not, run npm run generate', () => {
  const committed: unknown = JSON.parse(readFileSync(new URL('../manifests/crd.json', import.meta.url), 'utf8'));
  assert.deepEqual(committed, customResourceDefinition(greeterKind));
});
