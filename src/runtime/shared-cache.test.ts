import { resourceRef } from '../api/meta.ts';
import { silentLogger } from '../base/logger.ts';
import { coreResources, type RestClient } from '../kube/index.ts';
import { FakeApiServer } from '../testing/fake-api-server/index.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { SharedCache } from './shared-cache.ts';

const widgets = resourceRef({ group: 'x.dev', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true });

let server: FakeApiServer;
let client: RestClient;
const clock = new FakeClock();
const abort = new AbortController();

beforeAll(async () => {
  server = await FakeApiServer.start();
  client = server.client(clock);
});
afterAll(async () => {
  abort.abort();
  await client.close();
  await server.stop();
});

/** Lets fake time pass, slowly beside the network. */
async function passUntil(condition: () => boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!condition() && performance.now() < end) await clock.advance(50);
  expect(condition()).toBe(true);
}

test('a kind that the server does not know keeps nobody waiting, and fills when it comes', async () => {
  const cache = new SharedCache({ client, clock, logger: silentLogger, random: () => 0 });
  const known = cache.informer({ resource: coreResources.configMaps });
  const unknown = cache.informer({ resource: widgets });
  const seen: string[] = [];
  unknown.onEvent((event) => void seen.push(event.object.metadata.name ?? ''));
  cache.start(abort.signal);
  let filled = false;
  const started = clock.monotonic();
  void cache.untilSynced(120_000, abort.signal).then(() => (filled = true));
  await passUntil(() => filled);
  expect(clock.monotonic() - started).toBeGreaterThanOrEqual(10_000);
  expect([known.synced, unknown.synced]).toEqual([true, false]);
  expect(() => cache.check(3)).toThrow(/widgets.*not synced: .*404/);
  server.addResource(widgets);
  server.put(widgets, { apiVersion: 'x.dev/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'shop' } });
  await passUntil(() => unknown.synced);
  expect(seen).toEqual(['w']);
  expect(() => cache.check(3)).not.toThrow();
  abort.abort();
  await cache.stopped();
});
