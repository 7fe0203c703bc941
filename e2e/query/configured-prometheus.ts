import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../cluster/ports.ts';
import { until } from '../../src/testing/until.ts';
import { exited, signalGroup, spawnBound, toolEnvironment } from '../cluster/processes.ts';
import { findPrometheus } from '../prometheus/programs.ts';

/** A real Prometheus with a configuration of the test's own. */
export interface ConfiguredPrometheus {
  readonly url: string;
  /** The `data` of an instant query. Errors: the error message of the API. */
  query(query: string, time: string): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts Prometheus with this configuration, and waits until it is ready. */
export async function startConfigured(config: string): Promise<ConfiguredPrometheus> {
  const { prometheus } = await findPrometheus();
  const dir = mkdtempSync(join(tmpdir(), 'svc-prometheus-'));
  const file = join(dir, 'prometheus.yml');
  writeFileSync(file, config);
  const [port] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const child = spawnBound(
    [
      prometheus,
      `--config.file=${file}`,
      `--web.listen-address=127.0.0.1:${port}`,
      `--storage.tsdb.path=${join(dir, 'data')}`,
      '--log.level=error',
    ],
    { run: `prometheus-${process.pid}`, env: toolEnvironment({}), stdio: ['ignore', 'ignore', 'inherit'] },
  );
  await until('Prometheus is ready', async () => {
    const answer = await fetch(`${url}/-/ready`).catch(() => undefined);
    return answer?.ok ? true : undefined;
  });
  return {
    url,
    async query(query, time) {
      const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query, time })}`);
      const body = (await response.json()) as { data?: unknown; error?: string };
      if (!response.ok) throw new Error(body.error);
      return body.data;
    },
    async stop() {
      signalGroup(child.pid!, 'SIGTERM');
      await exited(child);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
