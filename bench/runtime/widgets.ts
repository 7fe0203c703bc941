import { createServer } from 'node:http';
import { resourceRef, type KubeObject } from '../../src/api/meta.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/logger.ts';
import { coreResources, createKubeClient } from '../../src/kube/index.ts';
import { ApplySet, generationChanged, Manager, RuntimeMetrics, StatusWriter } from '../../src/runtime/index.ts';

/**
 * Our side of the runtime benchmark, the twin of `controller-runtime/main.go`: for each Widget one owned ConfigMap and
 * the Widget's status, both by server-side apply. Arguments: namespace, concurrency, port for metrics.
 */
interface Widget extends KubeObject {
  spec: { value: string };
}

const [namespace = 'default', concurrency = '10', port = '0'] = process.argv.slice(2);
const resource = resourceRef({
  group: 'bench.svc.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
});
const metrics = new RuntimeMetrics();
const client = createKubeClient({ onRequest: metrics.onRequest, onRetry: metrics.onRetry });
const manager = new Manager({
  client,
  clock: systemClock,
  logger: createLogger({ level: 'warn' }),
  metrics,
  component: 'bench.svc.dev/widgets',
  instance: 'bench',
});
const widgets = manager.cache.informer<Widget>({ resource, namespace });
const configMaps = manager.cache.informer({ resource: coreResources.configMaps, namespace });
const fieldManager = 'svc-controller/widgets';
const children = new ApplySet({ client, fieldManager, controller: 'widgets', metrics, children: [configMaps] });
const status = new StatusWriter({ client, fieldManager, informer: widgets });

manager.addController({
  name: 'widgets',
  for: { source: widgets.source, predicates: [generationChanged] },
  owns: [{ source: configMaps.source }],
  concurrency: Number(concurrency),
  async reconcile({ key, logger, signal }) {
    const widget = widgets.get(key);
    if (!widget) return;
    const { value } = widget.spec;
    const configMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: key.name, namespace, labels: { 'app.kubernetes.io/managed-by': 'widgets' } },
      data: { value },
    };
    await children.apply({ wanted: [configMap], owner: { object: widget, resource }, force: true, logger, signal });
    await status.write(widget, { observedGeneration: widget.metadata.generation, value }, { signal });
  },
});

const stop = new AbortController();
for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stop.abort());
const server = createServer((_request, response) => {
  void manager.metricsText().then((text) => response.end(text));
}).listen(Number(port), '127.0.0.1');
await manager.run(stop.signal);
server.close();
await client.close();
