import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import {
  createKubeClient,
  createLogger,
  Manager,
  probeHandler,
  RuntimeMetrics,
  systemClock as clock,
} from 'svc-operator/runtime';
import { setupGreeter } from './controller.ts';

/** `npm start` runs the operator on the cluster that KUBECONFIG names, or else on the cluster of its own pod. */
const component = 'greeter-operator';
const namespace = process.env['POD_NAMESPACE'] ?? 'default';
const instance = `${process.env['POD_NAME'] ?? 'local'}_${randomUUID()}`;
const logger = createLogger({ level: 'info' });
const metrics = new RuntimeMetrics({ prefix: 'greeter' });
const client = createKubeClient({ userAgent: component, onRequest: metrics.onRequest, onRetry: metrics.onRetry });
const leaderElection = { namespace, name: component, identity: instance };
const manager = new Manager({ client, clock, logger, metrics, component, instance, leaderElection });
setupGreeter(manager);

const stop = new AbortController();
for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stop.abort());
const server = createServer(probeHandler(manager)).listen(Number(process.env['PORT'] ?? 8080));
await manager.run(stop.signal); // rejects on a lost lease or caches that do not fill: the process ends with 1
server.close().closeAllConnections();
await client.close();
