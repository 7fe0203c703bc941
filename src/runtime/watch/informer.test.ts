import type { KubeObject } from '../../api/meta.ts';
import { createLogger, silentLogger } from '../../base/logger.ts';
import { coreResources } from '../../kube/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { SharedInformer } from './informer.ts';
import type { SourceEvent } from '../types.ts';

const source = { resource: coreResources.configMaps };
const object = (name: string, team: string, version: string, namespace = 'shop'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, resourceVersion: version, uid: `uid-${name}`, labels: { team } },
});
const byTeam = (o: KubeObject): string[] => [o.metadata.labels?.['team'] ?? ''];

let clock: FakeClock;
let informer: SharedInformer;
beforeEach(() => {
  clock = new FakeClock();
  informer = new SharedInformer({ source, logger: silentLogger, clock });
  informer.addIndex('team', byTeam);
});
const names = (team: string): (string | undefined)[] => informer.byIndex('team', team).map((o) => o.metadata.name);

test('an index follows additions, changes and deletions', () => {
  informer.replace([object('a', 'red', '1'), object('b', 'red', '1')]);
  expect(names('red')).toEqual(['a', 'b']);
  informer.upsert(object('a', 'blue', '2'));
  informer.remove(object('b', 'red', '3'));
  expect(names('red')).toEqual([]);
  expect(names('blue')).toEqual(['a']);
});

test('a late index contains the objects that exist already, and an unknown index is an error', () => {
  informer.replace([object('a', 'red', '1')]);
  informer.addIndex('late', byTeam);
  expect(informer.byIndex('late', 'red')).toHaveLength(1);
  expect(() => informer.byIndex('absent', 'red')).toThrow('no index absent');
});

test('an index shows our own creations and updates immediately, and each only once', () => {
  informer.replace([object('a', 'red', '1')]);
  informer.wrote(object('new', 'red', '2'));
  expect(names('red')).toEqual(['a', 'new']);
  informer.wrote(object('a', 'blue', '3'));
  expect(names('red')).toEqual(['new']);
  expect(names('blue')).toEqual(['a']);
  informer.upsert(object('new', 'red', '2'));
  informer.upsert(object('a', 'blue', '3'));
  expect(names('red')).toEqual(['new']);
  expect(names('blue')).toEqual(['a']);
});

test('our own write leaves the index when it leaves the cache because no watch event confirms it', async () => {
  informer.replace([object('a', 'red', '1')]);
  informer.wrote(object('a', 'blue', '2'));
  expect(names('blue')).toEqual(['a']);
  await clock.advance(60_000);
  expect(names('blue')).toEqual([]);
  expect(names('red')).toEqual(['a']);
});

test('lists one namespace or all', () => {
  informer.replace([object('a', 'red', '1'), object('b', 'red', '1', 'other')]);
  expect(informer.list()).toHaveLength(2);
  expect(informer.list({ namespace: 'other' }).map((o) => o.metadata.name)).toEqual(['b']);
});

test('a late listener gets existing objects, a throwing one disturbs no other, a removed one gets nothing', () => {
  const seen: string[] = [];
  informer.replace([object('a', 'red', '1')]);
  informer.onEvent(() => {
    throw new Error('mine');
  });
  const leave = informer.onEvent(
    (e: SourceEvent) => void seen.push(`${e.type} ${e.object.metadata.name} ${e.initial}`),
  );
  informer.upsert(object('b', 'red', '2'));
  leave();
  informer.upsert(object('c', 'red', '3'));
  expect(seen).toEqual(['added a true', 'added b false']);
});

test('a transform applies to the cache and to own writes; if it throws, the object is kept whole', () => {
  const apply = (o: KubeObject): KubeObject => {
    if (o.metadata.name === 'odd') throw new Error('cannot');
    return { ...o, metadata: { ...o.metadata, managedFields: [] } };
  };
  const stripped = new SharedInformer({
    source: { ...source, transform: { name: 'strip', apply } },
    logger: silentLogger,
    clock,
  });
  const fat = (name: string): KubeObject => {
    const o = object(name, 'red', '1');
    return { ...o, metadata: { ...o.metadata, managedFields: [{ manager: 'm' }] } };
  };
  stripped.replace([fat('a'), fat('odd')].map((whole) => stripped.keep(whole)));
  stripped.wrote({ ...fat('b') });
  const fields = (name: string): number | undefined =>
    stripped.get({ namespace: 'shop', name })?.metadata.managedFields?.length;
  expect([fields('a'), fields('odd'), fields('b')]).toEqual([0, 1, 0]);
});

test('an object on which an index function throws is in no entry of that index, and its events still arrive', () => {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger({ write: (line) => void lines.push(JSON.parse(line) as never) });
  const logging = new SharedInformer({ source, logger, clock });
  const found = (): unknown[] => logging.byIndex('strict', 'red').map((o) => o.metadata.name);
  const seen: string[] = [];
  logging.onEvent((event) => void seen.push(`${event.type} ${event.object.metadata.name}`));
  logging.addIndex('strict', (o) => {
    if (o.metadata.labels?.['team'] === 'odd') throw new Error('cannot');
    return byTeam(o);
  });
  logging.replace([object('a', 'odd', '1'), object('b', 'red', '1')]);
  expect(logging.synced).toBe(true);
  expect(found()).toEqual(['b']);
  logging.upsert(object('a', 'odd', '2'));
  logging.upsert(object('b', 'odd', '2'));
  logging.wrote(object('c', 'odd', '3'));
  expect(found()).toEqual([]);
  logging.upsert(object('a', 'red', '4'));
  logging.remove(object('b', 'odd', '5'));
  expect(found()).toEqual(['a']);
  expect(seen).toEqual(['added a', 'added b', 'updated a', 'updated b', 'updated a', 'deleted b']);
  expect(lines.map((line) => [line['index'], line['name'], line['error']])).toEqual([
    ['strict', 'shop/a', 'cannot'],
    ['strict', 'shop/b', 'cannot'],
    ['strict', 'shop/c', 'cannot'],
  ]);
});

test('an index that is added late, and throws on an object, holds the others', () => {
  informer.replace([object('a', 'odd', '1'), object('b', 'red', '1')]);
  informer.addIndex('late', (o) => (o.metadata.name === 'a' ? (undefined as never) : byTeam(o)));
  expect(informer.byIndex('late', 'red')).toHaveLength(1);
});
