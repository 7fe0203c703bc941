import { coreResources } from '../../kube/index.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/logger.ts';
import { FakeApiServer } from '../../testing/fake-api-server/index.ts';
import { until } from '../../testing/until.ts';
import { PodIndex } from './pod-index.ts';
import { watchPods } from './watch-pods.ts';

test('pods of the node are known from list and watch, also where the API server comes late', async () => {
  const server = await FakeApiServer.start();
  const stop = new AbortController();
  const pods = new PodIndex();
  try {
    server.storage.create(coreResources.pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'shop', name: 'web-1', uid: 'u1' },
      spec: { nodeName: 'n' },
    });
    watchPods({
      node: 'n',
      client: server.client(),
      clock: systemClock,
      logger: silentLogger,
      pods,
      signal: stop.signal,
    });
    await until(() => pods.named('shop', 'web-1'), 'the pod');
    await until(() => pods.synced, 'the first list');
  } finally {
    stop.abort();
    await server.stop();
  }
});
