import type { KubeObject } from '../../api/meta.ts';
import { silentLogger } from '../../base/logger.ts';
import { coreResources, type KubeClient } from '../../kube/index.ts';
import { aConfigMap, FakeApiServer, FakeClock, until } from '../../testing/index.ts';
import { SharedCache } from './shared-cache.ts';
import type { Informer, Source } from '../types.ts';

const { configMaps } = coreResources;
let server: FakeApiServer;
let client: KubeClient;
let cache: SharedCache;
let stop: AbortController;
beforeEach(async () => {
  server = await FakeApiServer.start();
  const clock = new FakeClock();
  client = server.client(clock);
  cache = new SharedCache({ client, clock, logger: silentLogger, streamingList: false });
  stop = new AbortController();
  server.put(configMaps, aConfigMap({ big: 'x' }, { name: 'red', labels: { team: 'red' } }));
  server.put(configMaps, aConfigMap({ big: 'x' }, { name: 'blue', labels: { team: 'blue' } }));
  server.put(configMaps, aConfigMap({}, { name: 'far', namespace: 'other', labels: { team: 'red' } }));
});
afterEach(async () => {
  stop.abort();
  await cache.stopped();
  await client.close();
  await server.stop();
});
async function filled(source: Omit<Source, 'resource'>): Promise<Informer> {
  const informer = cache.informer({ resource: configMaps, ...source });
  cache.start(stop.signal);
  await until('the list', () => informer.synced);
  return informer;
}
const names = (informer: Informer): (string | undefined)[] =>
  informer
    .list()
    .map((o) => o.metadata.name)
    .toSorted();

test.each<[string, Omit<Source, 'resource'>, string[]]>([
  ['all namespaces', {}, ['blue', 'far', 'red']],
  ['one namespace', { namespace: 'other' }, ['far']],
  ['a label selector', { labelSelector: 'team=red' }, ['far', 'red']],
  ['a field selector', { fieldSelector: 'metadata.name=blue' }, ['blue']],
  [
    'a namespace, a label selector and a field selector',
    { namespace: 'shop', labelSelector: 'team in (red)', fieldSelector: 'metadata.name!=x' },
    ['red'],
  ],
])('the server selects the objects of a source with %s', async (_name, source, expected) => {
  const informer = await filled(source);
  expect(names(informer)).toEqual(expected);
  const [list] = server.seen({ verb: 'list' });
  expect([list!.namespace, list!.query.get('labelSelector'), list!.query.get('fieldSelector')]).toEqual([
    source.namespace,
    source.labelSelector ?? null,
    source.fieldSelector ?? null,
  ]);
});

test('objects leave and enter the cache when they stop and begin to match the selector', async () => {
  const informer = await filled({ labelSelector: 'team=red' });
  await until('the watch', () => server.openWatches().length === 1);
  server.put(configMaps, aConfigMap({}, { name: 'red', labels: { team: 'blue' } }));
  server.put(configMaps, aConfigMap({}, { name: 'blue', labels: { team: 'red' } }));
  await until('the exchange', () => names(informer).join() === 'blue,far');
});

test('equal sources share one stream, different ones do not', async () => {
  const first = await filled({ labelSelector: 'team=red' });
  expect(cache.informer({ labelSelector: 'team=red', resource: { ...configMaps } })).toBe(first);
  expect(cache.informer({ resource: configMaps, labelSelector: 'team=red', metadataOnly: true })).not.toBe(first);
  expect(cache.informer({ resource: configMaps, labelSelector: 'team=red', namespace: 'shop' })).not.toBe(first);
  await until('the watches', () => server.openWatches().length === 3);
  expect(server.seen({ verb: 'watch' })).toHaveLength(3);
});

test('sources with the same transform are equal, and two transforms of one name are refused', async () => {
  const strip = (o: KubeObject): KubeObject => ({ ...o, data: {} });
  const informer = await filled({ transform: { name: 'strip', apply: strip } });
  expect(informer.get({ namespace: 'shop', name: 'red' })?.['data']).toEqual({});
  expect(cache.informer({ resource: configMaps, transform: { name: 'strip', apply: strip } })).toBe(informer);
  expect(() => cache.informer({ resource: configMaps, transform: { name: 'strip', apply: (o) => o } })).toThrow(
    /two transforms named strip/,
  );
});

test('a source that is requested after the start of the cache is listed immediately', async () => {
  cache.start(stop.signal);
  const informer = cache.informer({ resource: coreResources.secrets });
  await until('the list', () => informer.synced);
  expect(informer.list()).toEqual([]);
});
