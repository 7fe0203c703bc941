import type { KubeObject } from '../../api/meta.ts';
import { errorText, OperatorError } from '../../base/errors.ts';
import { createLogger } from '../../base/logger.ts';
import { coreResources } from '../../kube/index.ts';
import { StatusError, type SeenRequest } from '../../testing/fake-api-server/index.ts';
import { runController, type ControllerHarness } from '../../testing/run-controller.ts';
import { overlayMs } from '../watch/store.ts';
import { ApplySet, conflictText, StatusWriter, type ApplyOutcome, type Informer } from '../index.ts';

const { configMaps, services, secrets } = coreResources;
const selector = 'managed=yes';
const owner: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'owner', namespace: 'shop' } };
const child = (kind: 'ConfigMap' | 'Service', name: string, body: object): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'shop', labels: { managed: 'yes' }, annotations: {} },
  ...body,
});

let harness: ControllerHarness;
let wanted: KubeObject[];
let outcomes: ApplyOutcome[];
let errors: unknown[];
let force: boolean;
let told: string[];
let paused: boolean;
let set: ApplySet;
let newSet: () => ApplySet;

async function begin(objects: KubeObject[] = []): Promise<void> {
  outcomes = [];
  errors = [];
  force = true;
  told = [];
  paused = false;
  harness = await runController(
    (env) => {
      const owners = env.cache.informer({ resource: secrets, fieldSelector: 'metadata.name=owner' });
      const children: Informer[] = [configMaps, services].map((resource) =>
        env.cache.informer({ resource, labelSelector: selector }),
      );
      newSet = () =>
        new ApplySet({
          client: env.client,
          fieldManager: 'svc-controller/test',
          controller: 'test',
          children,
          events: { record: (object, { message }) => void told.push(`${object.kind}: ${message}`) },
        });
      set = newSet();
      env.addController({
        name: 'test',
        for: { source: owners.source },
        owns: children.map(({ source }) => ({ source })),
        reconcile: async ({ key, logger, signal }) => {
          const object = owners.get(key);
          if (!object || paused) return;
          try {
            outcomes.push(await set.apply({ wanted, owner: { object, resource: secrets }, force, logger, signal }));
          } catch (error) {
            errors.push(error);
            throw error;
          }
        },
      });
    },
    [owner, ...objects],
  );
  await harness.passUntil(() => outcomes.length + errors.length > 0, 'the first apply');
  await harness.idle();
}
afterEach(() => harness.stop());
const run = async (): Promise<void> => {
  const before = outcomes.length + errors.length;
  harness.server.put(secrets, { ...owner, data: { n: String(before) } });
  await harness.passUntil(() => outcomes.length + errors.length > before, 'the next apply');
  await harness.idle();
};
/** Removes the label by which the cache finds a child, as a user could. */
function unlabel(name: string, metadata: object = {}): void {
  const live = harness.server.storage.get(configMaps, 'shop', name);
  const without = { ...live.metadata, ...metadata, labels: {} };
  harness.server.storage.update(configMaps, { ...live, metadata: without }, { manager: 'kubectl-label' });
}
/** Holds all watches and lists of ConfigMaps until the returned function is called. */
function deafened(): () => void {
  let resolve = (): void => {};
  const until = new Promise<void>((done) => (resolve = done));
  for (const verb of ['watch', 'list'] as const) {
    harness.server.script({ verb, plural: 'configmaps' }, { do: 'hold', until }, 100);
  }
  for (const watch of harness.server.openWatches('configmaps')) watch.reset();
  return resolve;
}
const writes = (): number => harness.server.requests.filter((r) => r.method !== 'GET').length;

test('applies the wanted objects with the owner as their controller, and then writes nothing more', async () => {
  wanted = [child('ConfigMap', 'a', { data: { x: '1' } }), child('Service', 'b', { spec: { ports: [{ port: 80 }] } })];
  await begin();
  expect(outcomes[0]?.applied).toEqual(['ConfigMap shop/a', 'Service shop/b']);
  const { uid } = harness.server.storage.get(secrets, 'shop', 'owner').metadata;
  const { metadata } = harness.server.storage.get(configMaps, 'shop', 'a');
  expect(metadata.ownerReferences).toMatchObject([{ kind: 'Secret', name: 'owner', uid, controller: true }]);
  expect(metadata.annotations).toBeUndefined();
  const before = writes();
  await run();
  expect(outcomes.at(-1)).toMatchObject({ applied: [], skipped: 2, pruned: [] });
  expect(writes()).toBe(before);
});

test('repairs drift on the event that shows it', async () => {
  wanted = [child('ConfigMap', 'a', { data: { x: '1' } })];
  await begin();
  harness.server.put(configMaps, child('ConfigMap', 'a', { data: { x: 'changed' } }), 'kubectl');
  await harness.passUntil(
    () => JSON.stringify(harness.server.storage.get(configMaps, 'shop', 'a')['data']) === '{"x":"1"}',
    'the repair',
  );
  harness.server.storage.remove(configMaps, 'shop', 'a');
  await harness.passUntil(() => harness.server.storage.find(configMaps, 'shop', 'a'), 'the child again');
  await harness.idle();
  const instead = '; change Secret owner instead';
  expect(told.filter((line) => line.startsWith('ConfigMap: '))).toEqual([
    `ConfigMap: the change of ConfigMap shop/a by kubectl was undone (.data.x)${instead}`,
    'ConfigMap: ConfigMap shop/a was deleted and has been made again',
  ]);
});

test('a field that another manager removed is restored, and our own changes are not drift', async () => {
  wanted = [child('ConfigMap', 'a', { data: { x: '1', y: '2' } })];
  await begin();
  wanted = [child('ConfigMap', 'a', { data: { x: '1', y: '3' } })];
  await run();
  expect(told).toEqual([]);
  const live = harness.server.storage.get(configMaps, 'shop', 'a');
  harness.server.storage.update(configMaps, { ...live, data: { x: '1' } }, { manager: 'kubectl' });
  await harness.passUntil(() => told.length > 0, 'the word on it');
  await harness.idle();
  expect(harness.server.storage.get(configMaps, 'shop', 'a')['data']).toEqual({ x: '1', y: '3' });
  expect(told[0]).toContain('the change of ConfigMap shop/a by a manager that the API server does not name was undone');
});

test('a child that lost our label is reported as edited, and the child of a new owner is not drift', async () => {
  wanted = [child('ConfigMap', 'a', { data: { x: '1' } })];
  await begin();
  const live = harness.server.storage.get(configMaps, 'shop', 'a');
  const metadata = { ...live.metadata, labels: { managed: 'no' } };
  harness.server.storage.update(configMaps, { ...live, metadata }, { manager: 'kubectl-label' });
  await harness.passUntil(() => told.length > 0, 'the word on it');
  await harness.idle();
  expect(told[0]).toContain('by kubectl-label was undone (.metadata.labels.managed)');
  told.length = 0;
  harness.server.storage.remove(secrets, 'shop', 'owner');
  harness.server.storage.remove(configMaps, 'shop', 'a');
  await harness.idle();
  harness.server.put(secrets, owner);
  await harness.passUntil(() => harness.server.storage.find(configMaps, 'shop', 'a'), 'the child of the new owner');
  await harness.idle();
  expect(told).toEqual([]);
});

test('prunes children of this owner that are no longer wanted, across kinds, and no others', async () => {
  wanted = [child('ConfigMap', 'a', { data: {} }), child('Service', 'b', { spec: {} })];
  const foreign = child('ConfigMap', 'foreign', { data: {} });
  await begin([foreign]);
  wanted = [];
  await run();
  await harness.passUntil(() => !harness.server.storage.find(services, 'shop', 'b'), 'the pruning');
  expect(harness.server.storage.find(configMaps, 'shop', 'a')).toBeUndefined();
  expect(harness.server.storage.find(configMaps, 'shop', 'foreign')).toBeDefined();
  expect(harness.server.seen({ verb: 'delete' })).toHaveLength(2);
});

test('a child that lost its label just as it stopped being wanted is pruned, once', async () => {
  wanted = [child('ConfigMap', 'a', { data: { x: '1' } })];
  await begin();
  wanted = [];
  unlabel('a');
  await harness.passUntil(() => !harness.server.storage.find(configMaps, 'shop', 'a'), 'the pruning');
  await harness.idle();
  expect(outcomes.at(-1)?.pruned).toEqual(['ConfigMap shop/a']);
  const asked = (): number => harness.server.requests.filter((r) => r.verb === 'get' && r.name === 'a').length;
  const before = asked();
  await run();
  expect(asked()).toBe(before);
  expect(harness.server.seen({ verb: 'delete' })).toHaveLength(1);
});

test('a child that lost its label while no watch was open is pruned when a list lacks it', async () => {
  wanted = [child('ConfigMap', 'a', { data: { x: '1' } })];
  await begin();
  wanted = [];
  const watches = harness.server.openWatches('configmaps');
  for (const watch of watches) watch.reset();
  unlabel('a');
  harness.server.storage.compact();
  await harness.passUntil(() => !harness.server.storage.find(configMaps, 'shop', 'a'), 'the pruning');
});

test('a child unlabelled while no process ran is pruned by the next process, after one list per kind', async () => {
  wanted = [child('ConfigMap', 'a', { data: { x: '1' } }), child('ConfigMap', 'b', { data: {} })];
  await begin();
  paused = true;
  unlabel('a');
  const cached = harness.manager.cache.informer({ resource: configMaps, labelSelector: selector });
  await harness.passUntil(() => !cached.get({ namespace: 'shop', name: 'a' }), 'the loss');
  await harness.idle();
  set = newSet();
  wanted = wanted.slice(1);
  paused = false;
  const lists = (): number => harness.server.seen({ verb: 'list' }).length;
  const before = lists();
  await run();
  expect(outcomes.flatMap(({ pruned }) => pruned)).toEqual(['ConfigMap shop/a']);
  expect(outcomes.at(-1)).toMatchObject({ applied: [], skipped: 1 });
  await run();
  expect(lists()).toBe(before + 2);
});

test('a child that loses its label during a run that still wants it is pruned by the next run', async () => {
  wanted = [child('ConfigMap', 'a', { data: { x: '1' } })];
  await begin();
  set = newSet();
  let answer = (): void => {};
  const until = new Promise<void>((resolve) => (answer = resolve));
  // This run waits for the first list of the new set while the label is removed.
  harness.server.script({ verb: 'list', plural: 'configmaps' }, { do: 'hold', until });
  const lists = (): number => harness.server.seen({ verb: 'list', plural: 'configmaps' }).length;
  const before = lists();
  harness.server.put(secrets, { ...owner, data: { n: 'again' } });
  await harness.passUntil(() => lists() > before, 'the look');
  unlabel('a');
  const cached = harness.manager.cache.informer({ resource: configMaps, labelSelector: selector });
  await harness.passUntil(() => !cached.get({ namespace: 'shop', name: 'a' }), 'the loss');
  wanted = [];
  answer();
  await harness.passUntil(() => !harness.server.storage.find(configMaps, 'shop', 'a'), 'the pruning');
});

test('an unwanted child whose creation got no answer is pruned before any watch or list shows it', async () => {
  wanted = [];
  await begin();
  const hear = deafened();
  wanted = [child('ConfigMap', 'a', { data: { x: '1' } })];
  const thenUnwanted = ({ verb }: SeenRequest): boolean => {
    if (verb !== 'apply') return false;
    wanted = [];
    return true;
  };
  harness.server.script(thenUnwanted, { do: 'reset', afterWork: true });
  harness.server.put(secrets, { ...owner, data: { n: 'again' } });
  await harness.passUntil(() => outcomes.at(-1)?.pruned.length === 1, 'the pruning');
  expect(harness.server.storage.find(configMaps, 'shop', 'a')).toBeUndefined();
  hear();
});

test.each([
  ['changed', 1],
  ['created', 0],
])('a child that we %s is not reported as edited while the watch lags', async (_, before) => {
  wanted = Array.from({ length: before }, () => child('ConfigMap', 'a', { data: { x: '1' } }));
  await begin();
  const hear = deafened();
  wanted = [child('ConfigMap', 'a', { data: { x: '2' } })];
  await run();
  expect(outcomes.at(-1)).toMatchObject({ applied: ['ConfigMap shop/a'] });
  const { length } = outcomes;
  const applies = (): number => harness.server.seen({ verb: 'apply' }).length;
  const first = applies();
  // The cache shows our own write for ten seconds, then the state that the watch delivered last.
  await harness.clock.advance(overlayMs);
  await harness.passUntil(() => outcomes.length > length, 'the run without our write');
  expect(applies()).toBe(first + 1);
  expect(outcomes.at(-1)).toMatchObject({ applied: [], skipped: 1, repaired: [] });
  expect(told).toEqual([]);
  hear();
});

test('if the answer to a write arrives after a newer list, it hides the listed state for only ten seconds', async () => {
  wanted = [];
  await begin();
  const hear = deafened();
  let answer = (): void => {};
  const until = new Promise<void>((resolve) => (answer = resolve));
  wanted = [child('ConfigMap', 'a', { data: { x: '1' } })];
  harness.server.put(secrets, { ...owner, data: { n: 'again' } });
  harness.server.script({ verb: 'apply', name: 'a' }, { do: 'hold', until, afterWork: true });
  await harness.passUntil(() => harness.server.storage.find(configMaps, 'shop', 'a'), 'the child');
  const { metadata } = harness.server.storage.get(configMaps, 'shop', 'a');
  const edited = { ...child('ConfigMap', 'a', { data: { x: 'edited' } }), metadata };
  harness.server.storage.update(configMaps, edited, { manager: 'kubectl' });
  harness.server.storage.compact();
  hear();
  const cached = harness.manager.cache.informer({ resource: configMaps, labelSelector: selector });
  await harness.passUntil(() => cached.get({ namespace: 'shop', name: 'a' }), 'the list');
  answer();
  const shown = (): unknown => harness.server.storage.get(configMaps, 'shop', 'a')['data'];
  await harness.passUntil(() => JSON.stringify(shown()) === '{"x":"1"}', 'the repair');
});

test('an object that lost its label and its owner is left alone', async () => {
  wanted = [child('ConfigMap', 'a', { data: { x: '1' } })];
  await begin();
  wanted = [];
  unlabel('a', { ownerReferences: [] });
  await harness.passUntil(() => harness.server.requests.some((r) => r.verb === 'get' && r.name === 'a'), 'the look');
  await run();
  expect(harness.server.storage.find(configMaps, 'shop', 'a')).toBeDefined();
});

test('a failure between two applies is repaired by the next run', async () => {
  wanted = [child('ConfigMap', 'old', { data: {} })];
  await begin();
  wanted = [child('ConfigMap', 'new', { data: {} }), child('Service', 'b', { spec: {} })];
  harness.server.script({ verb: 'apply', plural: 'services' }, { do: 'reset' });
  await run();
  await harness.passUntil(() => harness.server.storage.find(services, 'shop', 'b'), 'the retry');
  await harness.passUntil(() => !harness.server.storage.find(configMaps, 'shop', 'old'), 'the pruning');
  expect(harness.server.storage.find(configMaps, 'shop', 'new')).toBeDefined();
});

test('nothing is pruned while something cannot be applied', async () => {
  wanted = [child('ConfigMap', 'old', { data: {} })];
  await begin();
  wanted = [child('ConfigMap', 'new', { data: {} })];
  const error = new StatusError(422, 'Invalid', 'data is wrong');
  harness.server.script({ verb: 'apply', name: 'new' }, { do: 'fail', error });
  await run();
  await harness.passUntil(() => harness.server.seen({ verb: 'delete' }).length === 1, 'the pruning after the retry');
  expect(errors[0]).toMatchObject({ code: 'ERR_API_INVALID' });
  const order = harness.server.requests
    .filter((r) => r.name === 'new' || r.name === 'old')
    .map((r) => `${r.verb} ${r.name}`);
  expect(order.slice(-3)).toEqual(['get new', 'apply new', 'delete old']);
});

const denied = new StatusError(403, 'Forbidden', "ValidatingAdmissionPolicy 'keep' denied the request");

test('a child whose deletion is refused is pruned later; the others are pruned at once, and the run fails', async () => {
  wanted = ['a', 'b', 'c'].map((name) => child('ConfigMap', name, { data: {} }));
  await begin();
  wanted = [];
  harness.server.script({ verb: 'delete', name: 'a' }, { do: 'fail', error: denied });
  await run();
  await harness.passUntil(() => !harness.server.storage.find(configMaps, 'shop', 'a'), 'the pruning after the retry');
  expect(errors).toMatchObject([{ code: 'ERR_API_FORBIDDEN' }]);
  const deletions = harness.server.seen({ verb: 'delete' }).map(({ name }) => name);
  expect(deletions).toEqual(['a', 'b', 'c', 'a']);
});

test('what could not be deleted, or not be looked for, is among the failures that a status shows', async () => {
  wanted = ['a', 'b'].map((name) => child('ConfigMap', name, { data: {} }));
  await begin();
  paused = true;
  set = newSet();
  harness.server.script({ verb: 'delete', name: 'a' }, { do: 'fail', error: denied });
  const unreadable = new StatusError(403, 'Forbidden', 'configmaps is forbidden');
  harness.server.script({ verb: 'list', plural: 'configmaps' }, { do: 'fail', error: unreadable });
  const stop = new AbortController();
  const logger = createLogger({ level: 'error' });
  const object = harness.server.storage.get(secrets, 'shop', 'owner');
  const request = { wanted: [], owner: { object, resource: secrets }, logger, signal: stop.signal };
  const outcome = await set.tryApply(request);
  expect(outcome).toMatchObject({
    pruned: ['ConfigMap shop/b'],
    failures: [
      { kind: 'ConfigMap', object: 'ConfigMap shop/a', error: { code: 'ERR_API_FORBIDDEN' } },
      { kind: 'Secret', object: 'Secret shop/owner', error: { code: 'ERR_API_FORBIDDEN' } },
    ],
  });
  // The end of the run is no failure of a child.
  harness.server.script({ verb: 'delete', name: 'a' }, { do: 'hold', until: new Promise(() => {}) });
  const before = harness.server.seen({ verb: 'delete' }).length;
  const late = expect(set.tryApply(request)).rejects.toThrow('the run has ended');
  await harness.passUntil(() => harness.server.seen({ verb: 'delete' }).length > before, 'the deletion');
  stop.abort(new Error('the run has ended'));
  await late;
});

test('when the time of a run is over, what had failed before is its error', async () => {
  wanted = ['a', 'b'].map((name) => child('ConfigMap', name, { data: {} }));
  await begin();
  paused = true;
  const logger = createLogger({ level: 'error' });
  const object = harness.server.storage.get(secrets, 'shop', 'owner');
  const ends = async (verb: 'apply' | 'delete', children: KubeObject[]): Promise<void> => {
    harness.server.script({ verb, name: 'a' }, { do: 'fail', error: denied });
    harness.server.script({ verb, name: 'b' }, { do: 'hold', until: new Promise(() => {}) });
    const stop = new AbortController();
    const request = { wanted: children, owner: { object, resource: secrets }, logger, signal: stop.signal };
    const run = newSet().tryApply(request).then(String, errorText);
    const before = harness.server.seen({ verb, name: 'b' }).length;
    await harness.passUntil(() => harness.server.seen({ verb, name: 'b' }).length > before, 'the second request');
    stop.abort(new OperatorError('ERR_TIMEOUT', 'reconcile took too long'));
    expect(await run).toContain("'keep' denied the request");
  };
  await ends(
    'apply',
    ['a', 'b', 'c'].map((name) => child('ConfigMap', name, { data: { x: '1' } })),
  );
  await ends('delete', []);
});

test('a conflict without force names the other manager and the field', async () => {
  wanted = [child('ConfigMap', 'a', { data: { x: '1' } })];
  await begin();
  force = false;
  harness.server.put(configMaps, child('ConfigMap', 'a', { data: { x: 'mine' } }), 'somebody-else');
  await harness.passUntil(() => errors.length > 0, 'the conflict');
  expect(errors[0]).toMatchObject({ code: 'ERR_APPLY_CONFLICT' });
  expect(conflictText(errors[0])).toBe('.data.x is held by somebody-else');
});

test('an object of the wanted name that another manager made is not taken over', async () => {
  wanted = [child('ConfigMap', 'a', { data: { x: '1' } })];
  const theirs = {
    ...child('ConfigMap', 'a', { data: { precious: 'yes' } }),
    metadata: { name: 'a', namespace: 'shop' },
  };
  await begin([theirs]);
  expect(errors[0]).toMatchObject({ code: 'ERR_APPLY_CONFLICT' });
  expect(harness.server.storage.get(configMaps, 'shop', 'a')['data']).toEqual({ precious: 'yes' });
  expect(writes()).toBe(0);
});

test('a status is written only when it differs, and a field that is left out is removed', async () => {
  wanted = [];
  await begin();
  const { manager, server, clock } = harness;
  const informer = manager.cache.informer({ resource: secrets, fieldSelector: 'metadata.name=owner' });
  const writer = new StatusWriter({ client: server.client(clock), fieldManager: 'svc-controller/test', informer });
  const { signal } = new AbortController();
  const write = (status: object): Promise<boolean> =>
    writer.write(informer.get({ namespace: 'shop', name: 'owner' })!, status, { signal });
  const shown = (): unknown => server.storage.get(secrets, 'shop', 'owner')['status'];
  expect(await write({ url: 'http://x', count: 1 })).toBe(true);
  expect(await write({ url: 'http://x', count: 1 })).toBe(false);
  expect(await write({ count: 1 })).toBe(true);
  expect(shown()).toEqual({ count: 1 });
  server.storage.remove(secrets, 'shop', 'owner');
  expect(await writer.write(owner, { count: 2 }, { signal })).toBe(false);
});
