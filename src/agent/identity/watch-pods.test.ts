import { coreResources } from '../../kube/index.ts';
import { silentLogger } from '../../base/logger.ts';
import { FakeApiServer } from '../../testing/fake-api-server/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { PodIndex } from './pod-index.ts';
import { watchPods } from './watch-pods.ts';

let server: FakeApiServer;
let pods: PodIndex;
let clock: FakeClock;
let stop: AbortController;
beforeEach(async () => {
  server = await FakeApiServer.start();
  pods = new PodIndex();
  clock = new FakeClock();
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await server.stop();
});

function watch(): Promise<void> {
  return watchPods({ node: 'n', client: server.client(), clock, logger: silentLogger, pods, signal: stop.signal });
}

function create(name: string, nodeName = 'n'): void {
  server.storage.create(coreResources.pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'shop', name },
    spec: { nodeName },
  });
}

test('pods of the node are known from the list and from the watch after it; those of other nodes are not', async () => {
  create('listed');
  create('elsewhere', 'other');
  expect([pods.synced, pods.size]).toEqual([false, 0]);
  let known = false;
  void watch().then(() => (known = true));
  await until('the first list', () => clock.advance(500).then(() => pods.synced));
  await until('the return of watchPods', () => known);
  expect(pods.named('shop', 'listed')).toMatchObject({ namespace: 'shop', name: 'listed' });
  await until('the watch', () => server.openWatches('pods').length === 1);
  create('elsewhere-too', 'other');
  create('watched');
  await until('the pod of the watch', () => pods.named('shop', 'watched'));
  expect(pods.size).toBe(2);
});

test('the list is retried until the API server answers; before that the index is empty and not synced', async () => {
  create('listed');
  let late = true;
  server.script(() => late, { do: 'reset' }, Number.POSITIVE_INFINITY);
  void watch();
  const asked = (): number => server.seen({ plural: 'pods' }).length;
  await until('a third attempt', () => clock.advance(1_000).then(() => asked() >= 3));
  expect([pods.synced, pods.size]).toEqual([false, 0]);
  late = false;
  await until('the first list', () => clock.advance(1_000).then(() => pods.synced));
  expect(pods.named('shop', 'listed')).toMatchObject({ namespace: 'shop', name: 'listed' });
});
