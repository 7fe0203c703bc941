import { createServer } from 'node:http';
import { systemClock } from '../../../src/base/clock.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { coreResources, createKubeClient } from '../../../src/kube/index.ts';
import { ApplySet, Manager, RuntimeMetrics, StatusWriter } from '../../../src/runtime/index.ts';
import { childLabel, childrenOf, parts, type Part } from './crd.ts';

/**
 * One process of the operator of the soak test. Arguments: the namespace, the identity in the leader election (`none`
 * for no election), and the loopback port. The port serves `/metrics` and `/state`; `/state` answers `{leading, idle,
 * heapBytes}` after a garbage collection.
 */
const [namespace = 'default', identity = 'none', port = '0'] = process.argv.slice(2);
const metrics = new RuntimeMetrics();
const client = createKubeClient({ onRequest: metrics.onRequest, onRetry: metrics.onRetry });
const manager = new Manager({
  client,
  clock: systemClock,
  logger: createLogger({ level: 'info' }),
  metrics,
  component: 'soak.svc.dev/operator',
  instance: identity,
  ...(identity === 'none'
    ? {}
    : {
        // Short, so that a soak sees many changes of leader.
        leaderElection: { namespace, name: 'soak', identity, leaseMs: 6_000, renewDeadlineMs: 4_000, retryMs: 800 },
      }),
});
const informer = manager.cache.informer<Part>({ resource: parts, namespace });
const configMaps = manager.cache.informer({ resource: coreResources.configMaps, namespace, labelSelector: childLabel });
const fieldManager = 'svc-controller/soak';
const children = new ApplySet({ client, fieldManager, controller: 'soak', metrics, children: [configMaps] });
const status = new StatusWriter({ client, fieldManager, informer });

manager.addController({
  name: 'soak',
  for: { source: informer.source },
  owns: [{ source: configMaps.source }],
  concurrency: 4,
  async reconcile({ key, logger, signal }) {
    const part = informer.get(key);
    if (!part || part.metadata.deletionTimestamp) return;
    const owner = { object: part, resource: parts };
    await children.apply({ wanted: childrenOf(part), owner, force: true, logger, signal });
    const { generation: observedGeneration } = part.metadata;
    await status.write(part, { observedGeneration, value: part.spec.value }, { signal });
  },
});

const stop = new AbortController();
for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stop.abort());
const server = createServer((request, response) => {
  if (request.url === '/state') {
    globalThis.gc?.();
    const { heapUsed } = process.memoryUsage();
    response.end(JSON.stringify({ leading: manager.leading, idle: manager.idle, heapBytes: heapUsed }));
  } else void manager.metricsText().then((text) => response.end(text));
}).listen(Number(port), '127.0.0.1');
try {
  await manager.run(stop.signal);
} finally {
  server.close();
  await client.close();
}
