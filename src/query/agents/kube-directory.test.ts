import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/logger.ts';
import { coreResources } from '../../kube/index.ts';
import { SharedCache } from '../../runtime/index.ts';
import { FakeApiServer } from '../../testing/fake-api-server/index.ts';
import { until } from '../../testing/until.ts';
import { watchAgents } from './kube-directory.ts';

const labels = { 'app.kubernetes.io/component': 'agent' };
const selector = 'app.kubernetes.io/component=agent';

test('the directory follows nodes, the DaemonSet and pods of its namespace', async () => {
  const api = await FakeApiServer.start();
  const client = api.client(systemClock);
  const stop = new AbortController();
  const cache = new SharedCache({ client, clock: systemClock, logger: silentLogger });
  try {
    const putNode = (name: string, ready: string): void => {
      api.put(coreResources.nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { os: 'linux' } } });
      api.putStatus(coreResources.nodes, undefined, name, {
        conditions: [{ type: 'Ready', status: ready }],
        images: ['big'],
      });
    };
    putNode('node-1', 'True');
    putNode('node-2', 'False');
    const directory = watchAgents(cache, 'svc-system', selector, systemClock);
    expect(directory.synced).toBe(false);
    cache.start(stop.signal);
    await until(() => directory.synced, 'the first lists');
    expect(directory.agents()).toEqual([]);

    const template = { spec: { nodeSelector: { os: 'linux' } } };
    const metadata = { name: 'svc-agent', namespace: 'svc-system', labels };
    api.put(coreResources.daemonSets, { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata, spec: { template } });
    await until(() => directory.agents().length === 2, 'two expected agents');
    expect(directory.agents()).toEqual([
      { node: 'node-1', address: undefined, absence: 'no agent pod', nodeReady: true },
      { node: 'node-2', address: undefined, absence: 'no agent pod', nodeReady: false },
    ]);

    for (const [name, namespace, podLabels] of [
      ['a', 'svc-system', labels],
      ['b', 'elsewhere', labels],
      ['c', 'svc-system', {}],
    ] as const) {
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace, labels: podLabels },
        spec: { nodeName: 'node-1' },
      };
      api.put(coreResources.pods, pod);
      api.putStatus(coreResources.pods, namespace, name, { phase: 'Running', podIP: `10.0.0.${name.charCodeAt(0)}` });
    }
    await until(() => directory.agents()[0]!.address, 'an address');
    expect(directory.agents().map((a) => a.address)).toEqual(['10.0.0.97', undefined]);

    api.putStatus(coreResources.nodes, undefined, 'node-1', { conditions: [{ type: 'Ready', status: 'Unknown' }] });
    await until(() => !directory.agents()[0]!.nodeReady, 'the node to be given up');
    expect(directory.departed!(60_000)).toEqual([]);

    for (const name of ['node-1', 'node-2']) await client.delete(coreResources.nodes, { name });
    await client.delete(coreResources.pods, { name: 'a', namespace: 'svc-system' });
    await until(() => directory.agents().length === 0, 'the nodes to be gone');
    expect(directory.departed!(60_000)).toEqual(['node-1']);
  } finally {
    stop.abort(new Error('test is over'));
    await cache.stopped();
    await client.close();
    await api.stop();
  }
});
