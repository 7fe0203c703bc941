import type { KubeObject, ResourceRef } from '../../api/meta.ts';
import { OperatorError } from '../../base/errors.ts';
import { createLogger } from '../../base/logger.ts';
import { coreResources, type ListOptions, type TypedObject } from '../../kube/index.ts';
import {
  busy,
  expired,
  FakeApiServer,
  StatusError,
  type FakeApiServerOptions,
  type SeenRequest,
} from '../../testing/fake-api-server/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { SharedCache } from './shared-cache.ts';
import type { Informer, SourceEvent } from '../types.ts';

const { configMaps } = coreResources;
const configMap = (name: string, data: Record<string, string> = {}, namespace = 'shop'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
});

let server: FakeApiServer;
let clock: FakeClock;
let stop: AbortController;
let cache: SharedCache;
let informer: Informer;
let events: string[];
let missed: number;
/** How many objects each answer to a list held. */
let answered: number[];
/** Of how many objects a list is beyond the size cap. */
let cap: number;
/** The log lines of level warn and error. */
let warned: string[];

async function begin(
  options: FakeApiServerOptions = {},
  streamingList = false,
  random: () => number = () => 0,
): Promise<void> {
  server = await FakeApiServer.start(options);
  clock = new FakeClock();
  stop = new AbortController();
  const client = server.client(clock);
  answered = [];
  cap = Infinity;
  const list = client.list.bind(client);
  client.list = async <T extends TypedObject>(resource: ResourceRef, asked?: ListOptions) => {
    const page = await list<T>(resource, asked);
    if (page.items.length > cap) throw new OperatorError('ERR_TOO_LARGE', 'the answer is too large');
    answered.push(page.items.length);
    return page;
  };
  warned = [];
  const logger = createLogger({ level: 'warn', write: (line) => void warned.push(line) });
  cache = new SharedCache({ client, clock, logger, random, streamingList, freeze: true });
  informer = cache.informer({ resource: configMaps });
  events = [];
  missed = 0;
  informer.onEvent((event: SourceEvent) => {
    if (event.missed) missed++;
    events.push(`${event.type} ${event.object.metadata.name}`);
  });
}
const start = async (): Promise<void> => {
  cache.start(stop.signal);
  await until('the first watch', () => informer.synced && server.openWatches().length === 1);
};
/** Lets time pass until the condition holds, in steps so small that the network keeps up. */
const passUntil = async (condition: () => unknown, what: string): Promise<void> => {
  const end = performance.now() + 40_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`${what} did not come`);
    await clock.advance(20);
  }
};
/** Lets the back-off of the reflector pass until it watches again. */
const watchesAgain = async (): Promise<void> => {
  const before = server.seen({ verb: 'watch' }).length;
  await passUntil(
    () => server.seen({ verb: 'watch' }).length > before && server.openWatches().length > 0,
    'the next watch',
  );
};
const put = (name: string, data: Record<string, string> = {}): void =>
  void server.put(configMaps, configMap(name, data));
const has = (name: string): boolean => informer.get({ namespace: 'shop', name }) !== undefined;

afterEach(async () => {
  stop.abort();
  await server.stop();
  await cache.stopped();
});

test.each([
  ['in pages', false, true],
  ['by a streaming list that ends with the initial-events-end bookmark', true, true],
  ['in pages after the server refused to stream', true, false],
])('fills the cache %s, then follows changes', async (_what, ask, offered) => {
  await begin({ streamingList: offered }, ask);
  put('a');
  await start();
  expect(events).toEqual(['added a']);
  put('b');
  await until('b', () => has('b'));
  expect(server.seen({ verb: 'list' })).toHaveLength(ask && offered ? 0 : 1);
});

test('every watch requests bookmarks and a server-side timeout', async () => {
  await begin();
  await start();
  for (let ends = 0; ends < 3; ends++) {
    server.openWatches()[0]!.end();
    await watchesAgain();
  }
  const asked = server.seen({ verb: 'watch' });
  expect(asked).toHaveLength(4);
  for (const { query } of asked) {
    expect(query.get('allowWatchBookmarks')).toBe('true');
    expect(Number(query.get('timeoutSeconds'))).toBeGreaterThanOrEqual(300);
  }
});

test('a source is not synced until a list succeeded and its listeners saw it', async () => {
  await begin();
  put('a');
  server.script({ verb: 'list' }, { do: 'fail', error: new StatusError(500, 'InternalError', 'starting') });
  cache.start(stop.signal);
  await until('the failed list', () => server.seen({ verb: 'list' }).length === 1 && clock.pending > 0);
  expect(informer.synced).toBe(false);
  await clock.advance(1_000);
  await until('the second list', () => informer.synced);
  expect(events).toEqual(['added a']);
});

test('keeps one watch open for ten quiet minutes with bookmarks only, and resumes from the last bookmark RV after a reconnect', async () => {
  // With random values near 1, each watch asks for the longest timeout.
  await begin({}, false, () => 0.999);
  await start();
  for (let minute = 0; minute < 10; minute++) {
    await clock.advance(60_000);
    server.put(coreResources.secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `s${minute}`, namespace: 'x' },
    });
    server.bookmarkAll();
    await until('the bookmark', () => cache.lastSeenAt(informer) === clock.monotonic());
  }
  expect(server.seen({ verb: 'watch' })).toHaveLength(1);
  server.openWatches()[0]!.reset();
  await watchesAgain();
  expect(server.seen({ verb: 'watch' }).at(-1)!.query.get('resourceVersion')).toBe(String(server.storage.version));
  expect(server.seen({ verb: 'list' })).toHaveLength(1);
});

test('a watch on a half-open connection is replaced after 70 s of silence, and no change is lost', async () => {
  await begin();
  await start();
  server.openWatches()[0]!.fallSilent();
  put('a');
  await clock.advance(69_000);
  expect(server.seen({ verb: 'watch' })).toHaveLength(1);
  await clock.advance(1_001);
  await passUntil(() => has('a'), 'a');
  expect(server.seen({ verb: 'list' })).toHaveLength(1);
});

test('a streamed list whose end never comes is read as a list after 70 s, each time', async () => {
  await begin({}, true);
  server.endsInitialEvents = false;
  put('a');
  cache.start(stop.signal);
  await until('the stream', () => server.openWatches().length === 1);
  await clock.advance(70_001);
  await passUntil(() => has('a') && server.openWatches().length === 1, 'the list');
  expect(server.seen({ verb: 'list' })).toHaveLength(1);
  // The source has learned meanwhile that silence may mean nothing: the stream of this list is cut all the same.
  server.openWatches()[0]!.reset();
  put('b');
  server.storage.compact();
  const streamed = (): boolean => server.openWatches()[0]?.request.query.get('sendInitialEvents') === 'true';
  await passUntil(streamed, 'the second streamed list');
  await clock.advance(70_001);
  await passUntil(() => has('b'), 'the second list');
  expect(server.seen({ verb: 'list' })).toHaveLength(2);
});

test('a refused connection does not end the attempts at a streamed list', async () => {
  await begin({}, true);
  await server.stop();
  cache.start(stop.signal);
  for (let refused = 0; refused < 3; refused++) {
    await until('the refusal', () => clock.pending > 0);
    await clock.advance(5_000);
  }
  await server.listen();
  put('a');
  await passUntil(() => has('a'), 'a');
  expect(server.seen({ verb: 'list' })).toHaveLength(0);
});

test.each([
  ['a list in pages', false],
  // Its end is marked by a bookmark, whether or not the kind has others.
  ['a streamed list', true],
])(
  'after %s, a quiet watch without bookmarks is reconnected once, and then only checked by lists',
  async (_, streamed) => {
    await begin({}, streamed, () => 0.999);
    await start();
    await clock.advance(70_000);
    await passUntil(
      () => server.seen({ verb: 'watch' }).length === 2 && server.openWatches().length === 1,
      'the second',
    );
    const lists = server.seen({ verb: 'list' }).length;
    for (let i = 1; i <= 7; i++) {
      await clock.advance(70_001);
      await until('the answer', () => clock.monotonic() - cache.lastSeenAt(informer) < 2_000);
      expect(server.seen({ verb: 'list' })).toHaveLength(lists + i);
    }
    expect(server.seen({ verb: 'watch' })).toHaveLength(2);
    expect(() => cache.check(2)).not.toThrow();
    // A quiet cluster causes no warning.
    expect(warned).toEqual([]);
    server.script({ verb: 'list' }, { do: 'fail', error: new StatusError(500, 'InternalError', 'gone away') });
    await clock.advance(70_001);
    await passUntil(() => server.seen({ verb: 'watch' }).length === 3, 'the reconnect');
  },
);

test.each(['frame', 'http'] as const)(
  'after a 410 (%s), lists again from storage and counts the changes that the watch lost',
  async (expiry) => {
    await begin({ expiry });
    put('a');
    put('b');
    await start();
    server.openWatches()[0]!.fallSilent();
    server.storage.remove(configMaps, 'shop', 'a');
    put('b', { x: '1' });
    put('c');
    server.storage.compact();
    server.openWatches()[0]!.reset();
    await watchesAgain();
    expect(events.slice(2)).toEqual(['updated b', 'added c', 'deleted a']);
    expect(missed).toBe(3);
    expect(server.seen({ verb: 'list' }).at(-1)!.query.get('resourceVersion')).toBeNull();
  },
);

type Disturbance = (watch: ReturnType<FakeApiServer['openWatches']>[number]) => void;
/** Disturbs the watch. The reflector must resume from its last version, without a list or repeated events. */
async function resumesAfter(disturb: Disturbance): Promise<void> {
  await begin();
  put('a');
  await start();
  const version = server.storage.version;
  disturb(server.openWatches()[0]!);
  await watchesAgain();
  put('b');
  await passUntil(() => has('b'), 'b');
  const last = server.seen({ verb: 'watch' }).at(-1)!;
  expect(Number(last.query.get('resourceVersion'))).toBeGreaterThanOrEqual(version);
  expect(server.seen({ verb: 'list' })).toHaveLength(1);
  expect(events).toEqual(['added a', 'added b']);
}

test.each<[string, Disturbance]>([
  ['truncated JSON', (w) => (w.raw('{"type":"ADDED","obj'), w.end())],
  ['not JSON', (w) => w.raw('<html>\n')],
])('resumes after an unparsable frame, as after a broken stream: %s', async (_what, disturb) => {
  await resumesAfter(disturb);
});

test.each<[string, Disturbance]>([
  ['the connection is reset (ECONNRESET)', (w) => w.reset()],
  ['an ERROR 500 arrives', (w) => w.error(new StatusError(500, 'InternalError', 'etcd went away'))],
  ['an ERROR 429 arrives', (w) => w.error(busy(1))],
  [
    'an object of another kind arrives',
    (w) => w.frame('ADDED', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x', resourceVersion: '1' } }),
  ],
])('resumes from the last version when %s', async (_what, disturb) => {
  await resumesAfter(disturb);
});

test.each([
  ['401', new StatusError(401, 'Unauthorized', 'no'), 24_000],
  ['403', new StatusError(403, 'Forbidden', 'no'), 24_000],
  // The back-off after a 404 is capped at five seconds: 0.8 + 1.6 + 3.2 + 3 × 5 s.
  ['404 until the kind exists', new StatusError(404, 'NotFound', 'no such kind'), 20_000],
  ['500', new StatusError(500, 'InternalError', 'no'), 24_000],
  ['429 without Retry-After', busy(), 24_000],
])('repeats a failed list at a bounded rate: %s', async (_what, error, atLeastMs) => {
  await begin();
  server.script({ verb: 'list' }, { do: 'fail', error }, 6);
  cache.start(stop.signal);
  // Seven requests at most, with 0.8 + 1.6 + 3.2 + 6.4 + 12.8 s of back-off between the first six.
  await passUntil(() => informer.synced, 'the sync');
  expect(clock.monotonic()).toBeGreaterThan(atLeastMs);
  // The transport sends a request once more after a 401.
  expect(server.seen({ verb: 'list' }).length).toBeLessThanOrEqual(7);
});

test.each(['list', 'watch'] as const)('waits the Retry-After seconds after a refused %s', async (verb) => {
  await begin();
  server.script({ verb }, { do: 'fail', error: busy(), retryAfter: '20' });
  cache.start(stop.signal);
  await until('the refusal', () => server.seen({ verb }).length === 1 && clock.pending === 1);
  await clock.advance(19_000);
  expect(server.seen({ verb })).toHaveLength(1);
  await clock.advance(1_500);
  await until('the watch', () => server.openWatches().length === 1);
});

test('a wait of years, in a header or in a stream, is a wait of five minutes', async () => {
  await begin();
  server.script({ verb: 'list' }, { do: 'fail', error: busy(), retryAfter: '999999999' });
  cache.start(stop.signal);
  await until('the refusal', () => server.seen({ verb: 'list' }).length === 1 && clock.pending === 1);
  await clock.advance(299_000);
  expect(server.seen({ verb: 'list' })).toHaveLength(1);
  await clock.advance(1_001);
  await until('the watch', () => server.openWatches().length === 1);
  server.openWatches()[0]!.error(busy(999_999_999));
  await until('the end of the watch', () => server.openWatches().length === 0 && clock.pending === 1);
  await clock.advance(299_000);
  expect(server.seen({ verb: 'watch' })).toHaveLength(1);
  await clock.advance(1_001);
  await until('the next watch', () => server.openWatches().length === 1);
});

test('a very short watch is a failure: the source backs off from a server that closes every watch', async () => {
  await begin();
  server.script({ verb: 'watch' }, { do: 'raw', status: 200, body: '', contentType: 'application/json' }, 5);
  cache.start(stop.signal);
  await until('the list', () => informer.synced);
  put('a');
  await passUntil(() => has('a'), 'a');
  // The back-off after the five short watches: 0.8 + 1.6 + 3.2 + 6.4 + 12.8 s.
  expect(clock.monotonic()).toBeGreaterThanOrEqual(24_800);
  expect(server.seen({ verb: 'watch' })).toHaveLength(6);
  expect(server.seen({ verb: 'list' })).toHaveLength(1);
});

test('a kind that appears after a long time is listed within five seconds', async () => {
  await begin({}, false, () => 0.99);
  let there = false;
  server.script(() => !there, { do: 'fail', error: new StatusError(404, 'NotFound', 'no such kind') }, Infinity);
  cache.start(stop.signal);
  await passUntil(() => server.seen({ verb: 'list' }).length === 12, 'the twelfth refusal');
  await until('the wait after it', () => clock.pending === 1);
  there = true;
  await clock.advance(5_000);
  await until('the list', () => informer.synced);
});

test('a source of an absent optional kind is empty and healthy, and notices when the kind comes and goes', async () => {
  await begin();
  const optional = cache.informer({ resource: configMaps, namespace: 'shop', optional: true });
  const seen: string[] = [];
  optional.onEvent((event) => seen.push(`${event.type} ${event.object.metadata.name}`));
  let there = false;
  const gone = new StatusError(404, 'NotFound', 'the server could not find the requested resource');
  const ofOptional = (request: { path: string }): boolean => !there && request.path.includes('/namespaces/shop/');
  server.script(ofOptional, { do: 'fail', error: gone }, Infinity);
  const asked = () => server.requests.filter(({ path }) => path.includes('/namespaces/shop/')).length;
  cache.start(stop.signal);
  await until('both sources', () => optional.synced && informer.synced);
  expect(optional.list()).toEqual([]);
  await until('the watch of the other', () => server.openWatches().length === 1);

  // A minute without the kind: occasional requests, and no failed check.
  const before = asked();
  for (let i = 1; i <= 4; i++) {
    await clock.advance(15_000);
    await until('the next look', () => asked() === before + i);
    cache.check(2);
  }

  there = true;
  put('a');
  // A successful write shows that the kind exists, so the source does not wait for its next attempt.
  optional.wrote(server.storage.get(configMaps, 'shop', 'a'));
  await until('the watch of the kind', () => server.openWatches().length === 2);
  put('b');
  await until('b, by the watch', () => seen.includes('added b'));

  there = false;
  for (const watch of server.openWatches()) watch.end();
  await passUntil(() => optional.list().length === 0, 'the end of the kind');
  expect(seen).toEqual(['added a', 'added b', 'deleted a', 'deleted b']);
  expect(informer.list()).toHaveLength(2);
  cache.check(2);
});

test('a refused connection at the start is retried', async () => {
  await begin();
  await server.stop();
  cache.start(stop.signal);
  await until('the refusal', () => clock.pending > 0);
  await server.listen();
  put('a');
  await passUntil(() => has('a'), 'a');
});

test('after the server was killed and restarted, the watch resumes without a full list', async () => {
  await begin();
  put('a');
  await start();
  await server.stop();
  put('b');
  await server.listen();
  await passUntil(() => has('b'), 'b');
  expect(server.seen({ verb: 'list' })).toHaveLength(1);
});

test('an object deleted and recreated is reported as deleted, then added, in the stream and after a gap', async () => {
  await begin();
  put('a');
  await start();
  server.storage.remove(configMaps, 'shop', 'a');
  put('a');
  await until('the stream', () => events.length === 3);
  expect(events).toEqual(['added a', 'deleted a', 'added a']);
  server.openWatches()[0]!.fallSilent();
  server.storage.remove(configMaps, 'shop', 'a');
  put('a');
  server.storage.compact();
  server.openWatches()[0]!.reset();
  await watchesAgain();
  expect(events.slice(3)).toEqual(['deleted a', 'added a']);
});

test('after an expired watch, the new list reports no unchanged object', async () => {
  await begin();
  for (const name of ['a', 'b', 'c']) put(name);
  await start();
  server.openWatches()[0]!.error(expired());
  server.openWatches()[0]!.end();
  await until('the second list', () => {
    void clock.advance(100);
    return server.seen({ verb: 'list' }).length === 2 && server.openWatches().length === 1;
  });
  expect(events).toHaveLength(3);
  expect(missed).toBe(0);
});

test('an expired continue token starts the list over', async () => {
  await begin();
  for (let i = 0; i < 501; i++) put(`c${i}`);
  server.script((r) => r.verb === 'list' && r.query.has('continue'), { do: 'fail', error: expired() });
  cache.start(stop.signal);
  await watchesAgain();
  expect(informer.list()).toHaveLength(501);
});

test.each([
  ['asks for pages', false],
  ['asked for a stream, which the server refused', true],
])('no answer to a list holds more than a page if the source %s', async (_what, ask) => {
  await begin({ streamingList: false }, ask);
  for (let i = 0; i < 1_200; i++) put(`c${i}`);
  cache.start(stop.signal);
  await watchesAgain();
  expect(informer.list()).toHaveLength(1_200);
  expect(answered).toEqual([500, 500, 200]);
});

test('a selection is listed from the cache of the server, and in pages once that answer was too large', async () => {
  await begin();
  for (let i = 0; i < 501; i++) put(`c${i}`);
  const selection = cache.informer({ resource: configMaps, labelSelector: 'x!=y' });
  cap = 200;
  cache.start(stop.signal);
  const asked = (): unknown[] =>
    server
      .seen(({ verb, query }) => verb === 'list' && query.has('labelSelector'))
      .map(({ query }) => query.get('resourceVersion') ?? `${query.get('limit')} objects`);
  await passUntil(() => selection.synced && informer.synced, 'the lists');
  expect(asked().slice(0, 3)).toEqual(['0', '500 objects', '125 objects']);
  expect(Math.max(...answered)).toBeLessThanOrEqual(125);
  expect(selection.list()).toHaveLength(501);
});

test('"too large resource version" leads to a list from storage', async () => {
  await begin();
  const selection = cache.informer({ resource: configMaps, labelSelector: 'x!=y' });
  const ofSelection = (r: SeenRequest): boolean => r.verb === 'list' && r.query.has('labelSelector');
  const error = new StatusError(504, 'Timeout', 'Too large resource version: 99, current: 98', {
    causes: [{ reason: 'ResourceVersionTooLarge' }],
  });
  server.script(ofSelection, { do: 'fail', error });
  cache.start(stop.signal);
  await passUntil(() => selection.synced, 'the list');
  expect(server.seen(ofSelection).map((r) => r.query.get('resourceVersion'))).toEqual(['0', null]);
});

test('two controllers of one kind share one watch; two namespaces are independent', async () => {
  await begin();
  expect(cache.informer({ resource: configMaps })).toBe(informer);
  const shop = cache.informer({ resource: configMaps, namespace: 'shop' });
  const bank = cache.informer({ resource: configMaps, namespace: 'bank' });
  cache.start(stop.signal);
  await until('three watches', () => server.openWatches().length === 3);
  put('a');
  server.put(configMaps, configMap('b', {}, 'bank'));
  await until('all three', () => shop.list().length === 1 && bank.list().length === 1 && informer.list().length === 2);
});

test('the cache shows our own write immediately, and later the newer state from the watch', async () => {
  await begin();
  put('a', { x: '1' });
  await start();
  server.openWatches()[0]!.fallSilent();
  const client = server.client(clock);
  const written = await client.apply(configMaps, configMap('a', { x: '2' }), { fieldManager: 'us', force: true });
  informer.wrote(written);
  expect(informer.get({ namespace: 'shop', name: 'a' })).toMatchObject({ data: { x: '2' } });
  expect(informer.list()).toMatchObject([{ data: { x: '2' } }]);
  server.put(configMaps, configMap('a', { x: '3' }));
  server.openWatches()[0]!.reset();
  await watchesAgain();
  await until('the newer state', () => JSON.stringify(informer.list()).includes('"x":"3"'));
});

test('cached objects cannot be changed by accident', async () => {
  await begin();
  put('a');
  await start();
  const object = informer.get({ namespace: 'shop', name: 'a' })!;
  expect(() => {
    object.metadata.labels = {};
  }).toThrow(TypeError);
  expect(() => {
    (object['data'] as Record<string, string>)['x'] = '1';
  }).toThrow(TypeError);
});

test('a cache cut off from the API server fails the readiness check, and later the liveness check', async () => {
  await begin();
  expect(() => cache.check(2)).toThrow(/not synced/);
  await start();
  expect(() => cache.check(2)).not.toThrow();
  await server.stop();
  for (let i = 0; i < 20; i++) await clock.advance(10_000);
  expect(() => cache.check(2)).toThrow(/configmaps.* silent for \d+ s/);
  expect(() => cache.checkLive(5)).not.toThrow();
  for (let i = 0; i < 20; i++) await clock.advance(10_000);
  expect(() => cache.checkLive(5)).toThrow(/configmaps.* has been deaf for \d+ s: .*ECONNREFUSED/);
});
