import type { KubeObject } from '../../api/meta.ts';
import { silentLogger } from '../../base/logger.ts';
import { coreResources } from '../../kube/index.ts';
import { FakeApiServer } from '../../testing/fake-api-server/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { SharedInformer } from '../watch/informer.ts';
import { LostChildren, type LostQuery } from './lost-children.ts';

const { configMaps } = coreResources;
const manager = 'svc-controller/test';

let server: FakeApiServer;
beforeEach(async () => {
  server = await FakeApiServer.start();
});
afterEach(() => server.stop());

/** A stray child of owner `u1`: it has lost the label by which the cache, which is empty, selects. */
const stray: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'stray',
    namespace: 'shop',
    ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: 'owner', uid: 'u1', controller: true }],
  },
};

test('the end of a run does not end the first look for the other runs that wait for it', async () => {
  const client = server.client();
  server.storage.apply(configMaps, stray, { manager });
  const informer = new SharedInformer({
    source: { resource: configMaps, labelSelector: 'managed=yes' },
    logger: silentLogger,
    clock: new FakeClock(),
  });
  const lost = new LostChildren({ client, manager, children: [informer], deletedHere: () => false });
  const find = ({ signal }: AbortController) => {
    const query: LostQuery = { owner: 'u1', wanted: () => false, belongs: undefined, signal };
    return lost.find(query);
  };
  const answered = Promise.withResolvers<void>();
  server.script({ verb: 'list' }, { do: 'hold', until: answered.promise });
  const stop = new AbortController();
  const runs = Promise.allSettled([find(stop), find(new AbortController())]);
  await until('the first look', () => server.seen({ verb: 'list' }).length > 0);
  stop.abort(new Error('the run took too long'));
  answered.resolve();
  expect(await runs).toEqual([
    { status: 'rejected', reason: new Error('the run took too long') },
    { status: 'fulfilled', value: [expect.objectContaining({ informer })] },
  ]);
  expect(server.seen({ verb: 'list' })).toHaveLength(1);
  await client.close();
});
