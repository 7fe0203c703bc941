import { join } from 'node:path';
import { agentSettingTable } from '../../../agent/settings.ts';
import { runAgent, type AgentPorts } from '../../../agent/index.ts';
import { systemClock } from '../../../base/clock.ts';
import { silentLogger } from '../../../base/logger.ts';
import { readSettings } from '../../../base/settings.ts';
import { labelsFromObject, openStore } from '../../../tsdb/index.ts';
import { adversarialSeries } from '../../promql/adversarial.ts';
import type { AgentStart } from './messages.ts';
import { serveStage } from './serve-stage.ts';

/** A process with a whole agent. Its store is filled with series before the agent starts. */
await serveStage(async (input) => {
  const start = input as AgentStart;
  await fill(start);
  const free = ['scrapePort', 'spanStreamPort', 'captureConfigPort', 'otlpGrpcPort', 'otlpHttpPort'];
  const settings = readSettings(agentSettingTable, {
    flags: {
      nodeName: start.node,
      dataDir: join(start.dir, 'data'),
      instrumentConfig: join(start.dir, 'config.yaml'),
      tlsDir: join(start.dir, 'tls'),
      bindAddress: start.address,
      otlpBindAddress: start.address,
      remoteReadPort: String(start.port),
      queryMemory: String(start.memory),
      ...Object.fromEntries(free.map((name) => [name, '0'])),
    },
    env: {},
    prefix: 'SVC_',
  });
  const abort = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const ports = await new Promise<AgentPorts>((resolve, reject) => {
    running = runAgent(settings, {
      logger: silentLogger,
      clock: systemClock,
      signal: abort.signal,
      kube: null,
      probe: () => Promise.resolve(null),
      onReady: resolve,
    });
    running.catch(reject);
  });
  return { ports: { ...ports }, close: async () => (abort.abort(), running) };
});

/**
 * Fills a store with past samples, one every half minute until now. Values have fractions, and every tenth sample
 * resets the counters.
 */
async function fill({ node, dir, pods, samples }: AgentStart): Promise<void> {
  const store = await openStore({
    dir: join(dir, 'data', 'store'),
    clock: systemClock,
    logger: silentLogger,
    externalLabels: labelsFromObject({ k8s_node_name: node }),
  });
  const { gauge, counter, bucket, bounds } = adversarialSeries;
  const now = Date.now();
  const series = Array.from({ length: pods }, (_, pod) => ({ pod: `pod-${pod}`, group: `group-${pod % 7}` })).flatMap(
    (labels) => [
      labelsFromObject({ ...labels, __name__: gauge }),
      labelsFromObject({ ...labels, __name__: counter }),
      ...bounds.map((le) => labelsFromObject({ ...labels, __name__: bucket, le })),
    ],
  );
  for (let k = 0; k < samples; k++) {
    const at = now - (samples - k) * 30_000;
    for (const [i, labels] of series.entries()) store.append(labels, at, i * 0.1 + (k % 10));
    await store.commit();
  }
  await store.close();
}
