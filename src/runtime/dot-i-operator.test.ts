import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject } from '../api/meta.ts';
import { resourceRef } from '../api/meta.ts';
import {
  Operator,
  ResourceEventType,
  type OperatorLogger,
  type ResourceEvent,
  type ResourceMeta,
} from '../kube/dot-i.ts';
import { coreResources } from '../kube/index.ts';
import { FakeApiServer, StatusError } from '../testing/fake-api-server/index.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { until } from '../testing/until.ts';
import { RuntimeOperator } from './dot-i-operator.ts';

const widgets = resourceRef({
  group: 'example.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
});
const gadgets = resourceRef({ ...widgets, kind: 'Gadget', plural: 'gadgets' });
const widget = (name: string, over: Partial<KubeObject['metadata']> = {}, namespace = 'shop'): KubeObject => ({
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata: { name, namespace, ...over },
  spec: { size: 1 },
});

let server: FakeApiServer;
let clock: FakeClock;
let operators: TestOperator[];
let log: string[];
const logger: OperatorLogger = {
  debug: () => {},
  info: (m) => void log.push(m),
  warn: (m) => void log.push(m),
  error: (m) => void log.push(m),
};

type Init = (operator: TestOperator) => Promise<void>;

class TestOperator extends RuntimeOperator {
  readonly #init: Init;
  constructor(init: Init) {
    super(logger, { client: server.restClient(clock), clock, random: () => 0 });
    this.#init = init;
    operators.push(this);
  }
  protected override init(): Promise<void> {
    return this.#init(this);
  }
  watch(onEvent: (e: ResourceEvent) => Promise<void>, namespace?: string, plural = 'widgets'): Promise<void> {
    return this.watchResource('example.dev', 'v1', plural, onEvent, namespace);
  }
  setStatus = (meta: ResourceMeta, status: unknown) => this.setResourceStatus(meta, status);
  patchStatus = (meta: ResourceMeta, status: unknown) => this.patchResourceStatus(meta, status);
  finalizer = (e: ResourceEvent, name: string, action: (e: ResourceEvent) => Promise<void>) =>
    this.handleResourceFinalizer(e, name, action);
  setFinalizers = (meta: ResourceMeta, names: string[]) => this.setResourceFinalizers(meta, names);
  register = (file: string) => this.registerCustomResourceDefinition(file);
  uri = (...args: [string, string, string, string?]) => this.getCustomResourceApiUri(...args);
  axios = (r: Parameters<RuntimeOperator['applyAxiosKubeConfigAuth']>[0]) => this.applyAxiosKubeConfigAuth(r);
}

beforeEach(async () => {
  server = await FakeApiServer.start({ resources: [widgets, gadgets] });
  clock = new FakeClock();
  operators = [];
  log = [];
});
afterEach(async () => {
  for (const operator of operators) {
    let ended = false;
    void operator.stop().then(() => (ended = true));
    await passUntil(() => ended, 'the stop');
  }
  await server.stop();
});
async function passUntil(condition: () => unknown, what: string): Promise<void> {
  const end = performance.now() + 40_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`${what} did not come`);
    await clock.advance(5);
  }
}
const live = (name = 'a'): KubeObject => server.storage.get(widgets, 'shop', name);

/** An operator that records what its handler gets. */
async function recording(
  fail = 0,
): Promise<{ operator: TestOperator; events: ResourceEvent[]; calledAt: readonly number[] }> {
  const events: ResourceEvent[] = [];
  const calledAt: number[] = [];
  const operator = new TestOperator((o) =>
    o.watch(async (e) => {
      calledAt.push(clock.monotonic());
      if (fail-- > 0) throw new Error('handler broke');
      events.push(e);
    }),
  );
  await operator.start();
  return { operator, events, calledAt };
}
const shown = (events: ResourceEvent[]): string[] => events.map((e) => `${e.type} ${e.meta.name}`);

test('every method of the Operator prototype is overridden, except the two private ones', () => {
  const ours = new Set<string>();
  for (let p: object = RuntimeOperator.prototype; p !== Operator.prototype; p = Object.getPrototypeOf(p) as object) {
    for (const name of Object.getOwnPropertyNames(p)) ours.add(name);
  }
  const missing = Object.getOwnPropertyNames(Operator.prototype).filter((name) => !ours.has(name));
  expect(missing.toSorted()).toEqual(['errorToJson', 'resourceStatusRequest']);
});

test('no request goes through the inherited transport: its private state is never touched', async () => {
  const poison = new Proxy(
    {},
    {
      get: (_t, p) => {
        throw new Error(`touched ${String(p)}`);
      },
      set: () => {
        throw new Error('touched');
      },
    },
  );
  const events: ResourceEvent[] = [];
  const operator = new TestOperator((o) => o.watch((e) => Promise.resolve(void events.push(e))));
  for (const field of ['resourcePathBuilders', 'watchRequests', 'eventQueue']) {
    Object.defineProperty(operator, field, { value: poison });
  }
  server.put(widgets, widget('a'));
  await operator.start();
  await passUntil(() => events.length === 1, 'the event');
  await operator.patchStatus(events[0]!.meta, { ok: true });
  await operator.setStatus(events[0]!.meta, { ok: false });
  await operator.finalizer(events[0]!, 'x/y', () => Promise.resolve());
  expect(live()).toMatchObject({ metadata: { finalizers: ['x/y'] }, status: { ok: false } });
});

test('reports added, modified and deleted objects, with the metadata that the base class gives', async () => {
  const { events } = await recording();
  server.put(widgets, widget('a'));
  await passUntil(() => events.length === 1, 'added');
  server.put(widgets, { ...widget('a'), spec: { size: 2 } });
  await passUntil(() => events.length === 2, 'modified');
  server.storage.remove(widgets, 'shop', 'a');
  await passUntil(() => events.length === 3, 'deleted');
  expect(events.map((e) => e.type)).toEqual([
    ResourceEventType.Added,
    ResourceEventType.Modified,
    ResourceEventType.Deleted,
  ]);
  expect(events[0]!.meta).toMatchObject({
    id: 'widgets.example.dev/v1',
    name: 'a',
    namespace: 'shop',
    apiVersion: 'example.dev/v1',
    kind: 'Widget',
  });
});

test('retries a failed handler with backoff, and logs the failure', async () => {
  server.put(widgets, widget('a'));
  const { events, calledAt } = await recording(3);
  await passUntil(() => events.length === 1, 'the success');
  const waits = calledAt.slice(1).map((at, i) => at - calledAt[i]!);
  expect([5, 10, 20].map((least, i) => waits[i]! >= least)).toEqual([true, true, true]);
  expect(shown(events)).toEqual(['ADDED a']);
  expect(log.filter((l) => l.includes('handler broke'))).toHaveLength(3);
});

test('handles ERROR 410, ERROR 500 and BOOKMARK without calling the handler', async () => {
  server.put(widgets, widget('a'));
  const { events } = await recording();
  await passUntil(() => events.length === 1 && server.openWatches().length === 1, 'the start');
  server.bookmarkAll();
  server.openWatches()[0]!.error(new StatusError(500, 'InternalError', 'boom'));
  await passUntil(
    () => server.seen({ verb: 'watch' }).length === 2 && server.openWatches().length === 1,
    'the next watch',
  );
  server.openWatches()[0]!.error(new StatusError(410, 'Expired', 'old'));
  await passUntil(() => server.seen({ verb: 'watch' }).length === 3, 'the relist');
  expect(shown(events)).toEqual(['ADDED a']);
});

test('after a gap in a watch, missed deletes and recreated objects are reported, unchanged objects not', async () => {
  for (const name of ['kept', 'gone', 'renewed']) server.put(widgets, widget(name));
  const { events } = await recording();
  await passUntil(() => events.length === 3 && server.openWatches().length === 1, 'the start');
  server.openWatches()[0]!.fallSilent();
  server.storage.remove(widgets, 'shop', 'gone');
  server.storage.remove(widgets, 'shop', 'renewed');
  server.put(widgets, widget('renewed'));
  server.storage.compact();
  server.openWatches()[0]!.reset();
  await passUntil(() => events.length === 6, 'the differences');
  expect(shown(events.slice(3)).toSorted()).toEqual(['ADDED renewed', 'DELETED gone', 'DELETED renewed']);
});

test('process.exit is never called, neither when lists and watches fail nor at a stop', async () => {
  server.put(widgets, widget('a'));
  server.script({ verb: 'list', plural: 'widgets' }, { do: 'fail', error: new StatusError(403, 'Forbidden', 'no') });
  server.script({ verb: 'watch' }, { do: 'reset' });
  const { operator, events } = await recording();
  await passUntil(() => events.length === 1 && server.openWatches().length === 1, 'the start');
  const again = async (): Promise<void> => {
    const before = server.seen({ verb: 'watch' }).length;
    await passUntil(
      () => server.seen({ verb: 'watch' }).length > before && server.openWatches().length === 1,
      'the next watch',
    );
  };
  server.openWatches()[0]!.reset();
  await again();
  server.openWatches()[0]!.raw('{"type":"ADDED","obj\n');
  await again();
  // Silence for longer than the base class tolerates.
  server.openWatches()[0]!.fallSilent();
  await clock.advance(70_001);
  await again();
  let stopped = false;
  void operator.stop().then(() => (stopped = true));
  await passUntil(() => stopped, 'the stop');
  await clock.advance(1_000);
  // In every suite process.exit is a spy (scripts/jest/no-exit.cjs).
  expect(process.exit).not.toHaveBeenCalled();
  expect(shown(events)).toEqual(['ADDED a']);
});

test('each kind has a queue of its own: a slow kind does not delay another', async () => {
  const events: string[] = [];
  let release = (): void => {};
  const slow = new Promise<void>((resolve) => (release = resolve));
  const operator = new TestOperator(async (o) => {
    await o.watch((e) => slow.then(() => void events.push(e.meta.name)));
    await o.watch((e) => Promise.resolve(void events.push(e.meta.name)), undefined, 'gadgets');
  });
  await operator.start();
  server.put(widgets, widget('slow'));
  server.put(gadgets, { ...widget('quick'), kind: 'Gadget' });
  await passUntil(() => events.length === 1, 'the quick one');
  release();
  await passUntil(() => events.length === 2, 'the slow one');
  expect(events).toEqual(['quick', 'slow']);
});

test('watches one kind in two namespaces independently', async () => {
  const events: string[] = [];
  const operator = new TestOperator(async (o) => {
    await o.watch((e) => Promise.resolve(void events.push(`shop:${e.meta.name}`)), 'shop');
    await o.watch((e) => Promise.resolve(void events.push(`bank:${e.meta.name}`)), 'bank');
  });
  await operator.start();
  server.put(widgets, widget('a'));
  server.put(widgets, widget('b', {}, 'bank'));
  await passUntil(() => events.length === 2, 'both');
  expect(events.toSorted()).toEqual(['bank:b', 'shop:a']);
});

test('stop drains, opens no further watch, and resolves', async () => {
  let finished = false;
  let started = false;
  server.put(widgets, widget('a'));
  const operator = new TestOperator((o) =>
    o.watch(async () => {
      started = true;
      await new Promise<void>((resolve) => clock.setTimeout(resolve, 300));
      finished = true;
    }),
  );
  await operator.start();
  await passUntil(() => started, 'the handler');
  let stopped = false;
  void operator.stop().then(() => (stopped = true));
  await passUntil(() => stopped, 'the stop');
  expect(finished).toBe(true);
  const requests = server.requests.length;
  await clock.advance(600_000);
  expect(server.requests).toHaveLength(requests);
  await operator.finished();
});

test('stop drains, opens no further watch, and the process ends with 0', async () => {
  server.put(widgets, widget('a'));
  const program = join(import.meta.dirname, '../testing/dot-i-program.ts');
  const dir = await mkdtemp(join(tmpdir(), 'dot-i-'));
  const kubeconfig = join(dir, 'config');
  const cluster = { server: server.url, 'insecure-skip-tls-verify': true };
  const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
  const users = [{ name: 'u', user: {} }];
  const config = { 'current-context': 'c', contexts, clusters: [{ name: 'c', cluster }], users };
  await writeFile(kubeconfig, JSON.stringify(config));
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (text) => (output += String(text)));
  await until('the handler', () => output.includes('begins a'));
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const watches = server.seen({ verb: 'watch' }).length;
  expect((await exited)[0]).toBe(0);
  expect(output).toContain('ends a');
  expect(server.seen({ verb: 'watch' })).toHaveLength(watches);
  await rm(dir, { recursive: true });
});

test('never mutates a cached object: a handler may change what it gets', async () => {
  server.put(widgets, widget('a', { finalizers: ['other/one'] }));
  const { operator, events } = await recording();
  await passUntil(() => events.length === 1, 'the event');
  const event = events[0]!;
  event.object.metadata!.finalizers!.push('mine');
  const cached = operator['manager'].cache.informer({ resource: widgets }).get({ namespace: 'shop', name: 'a' });
  expect(cached?.metadata.finalizers).toEqual(['other/one']);
});

test('a status write that conflicts is retried on the re-read object', async () => {
  server.put(widgets, widget('a'));
  const { operator, events } = await recording();
  await passUntil(() => events.length === 1, 'the event');
  server.put(widgets, { ...widget('a'), spec: { size: 9 } });
  const meta = await operator.setStatus(events[0]!.meta, { phase: 'ok' });
  expect(live()).toMatchObject({ spec: { size: 9 }, status: { phase: 'ok' } });
  expect(meta?.resourceVersion).toBe(live().metadata.resourceVersion);
});

test('a status that cannot be written is an error, not null', async () => {
  server.put(widgets, widget('a'));
  const { operator, events } = await recording();
  await passUntil(() => events.length === 1, 'the event');
  server.script({ subresource: 'status' }, { do: 'fail', error: new StatusError(422, 'Invalid', 'no') });
  await expect(operator.patchStatus(events[0]!.meta, { bad: true })).rejects.toMatchObject({ code: 'ERR_API_INVALID' });
});

test("keeps another owner's finalizer under a race; adds ours once and cleans up before removing it", async () => {
  server.put(widgets, widget('a'));
  const { operator, events } = await recording();
  await passUntil(() => events.length === 1, 'the event');
  server.put(widgets, widget('a', { finalizers: ['other/owner'] }));
  expect(await operator.finalizer(events[0]!, 'mine/x', () => Promise.resolve())).toBe(true);
  expect(live().metadata.finalizers).toEqual(['other/owner', 'mine/x']);
  await passUntil(() => events.length >= 2, 'the change');
  expect(await operator.finalizer(events.at(-1)!, 'mine/x', () => Promise.resolve())).toBe(false);
  server.storage.remove(widgets, 'shop', 'a');
  await passUntil(() => events.at(-1)!.object.metadata?.deletionTimestamp, 'the deletion');
  let cleaned = 0;
  expect(await operator.finalizer(events.at(-1)!, 'mine/x', () => Promise.resolve(void cleaned++))).toBe(true);
  expect(cleaned).toBe(1);
  expect(live().metadata.finalizers).toEqual(['other/owner']);
  await operator.setFinalizers(events.at(-1)!.meta, []);
  expect(server.storage.find(widgets, 'shop', 'a')).toBeUndefined();
});

describe('other methods', () => {
  test('the URI of a resource begins with the URL of the server', () => {
    const operator = new TestOperator(() => Promise.resolve());
    expect(operator.uri('example.dev', 'v1', 'widgets', 'shop')).toBe(
      `${server.url}/apis/example.dev/v1/namespaces/shop/widgets`,
    );
    expect(operator.uri('', 'v1', 'namespaces')).toBe(`${server.url}/api/v1/namespaces`);
  });

  test('registers a definition from a file, idempotently, and waits until it is established', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'svc-crd-'));
    const crd = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.dev' },
      spec: { group: 'example.dev', versions: [{ name: 'v1' }], names: { plural: 'widgets' } },
    };
    await writeFile(join(dir, 'crd.yaml'), JSON.stringify(crd));
    const operator = new TestOperator(() => Promise.resolve());
    const establish = (): void => {
      const { customResourceDefinitions } = coreResources;
      if (!server.storage.find(customResourceDefinitions, undefined, 'widgets.example.dev')) return;
      server.putStatus(customResourceDefinitions, undefined, 'widgets.example.dev', {
        conditions: [{ type: 'Established', status: 'True' }],
      });
    };
    for (let i = 0; i < 2; i++) {
      let result: unknown;
      void operator.register(join(dir, 'crd.yaml')).then((r) => (result = r));
      await passUntil(() => (establish(), result), 'the registration');
      expect(result).toEqual({ group: 'example.dev', versions: [{ name: 'v1' }], plural: 'widgets' });
    }
    await rm(dir, { recursive: true });
  });

  test('authentication for another HTTP client keeps a password with colons whole', async () => {
    const operator = new TestOperator(() => Promise.resolve());
    const user = { name: 'open', username: 'jane', password: 'a:b:c' };
    operator['kubeConfig'].users = [user];
    const request: { auth?: unknown; httpsAgent?: unknown } = {};
    await operator.axios(request as never);
    expect(request.auth).toEqual({ username: 'jane', password: 'a:b:c' });
    const again: { httpsAgent?: unknown } = {};
    await operator.axios(again as never);
    expect(again.httpsAgent).toBe(request.httpsAgent);
  });
});
