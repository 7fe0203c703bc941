import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/logger.ts';
import { readSettings } from '../../src/base/settings.ts';
import { operatorSettingTable, runOperator, type OperatorDeps } from '../../src/controllers/index.ts';
import { until } from '../../src/testing/until.ts';
import { freePorts } from '../cluster/ports.ts';

/**
 * The operator, run in this process against the cluster of `KUBECONFIG`. The API server reaches its webhooks by
 * loopback.
 */
export interface RunningOperator {
  /** Port of the webhooks. */
  readonly webhook: number;
  readonly lines: readonly string[];
  stop(): Promise<void>;
}

export interface OperatorOptions extends Pick<OperatorDeps, 'converters'> {
  readonly flags?: Readonly<Record<string, string>>;
  /** Port of the webhooks. Default: a free port. */
  readonly webhook?: number;
}

/** Starts the operator, and resolves when its webhooks are served. */
export async function startOperator(options: OperatorOptions = {}): Promise<RunningOperator> {
  const [free, metrics] = (await freePorts(2)) as [number, number];
  const { webhook = free, flags, converters } = options;
  const settings = readSettings(operatorSettingTable, {
    flags: {
      bindAddress: '127.0.0.1',
      metricsPort: String(metrics),
      admissionPort: String(webhook),
      admissionUrl: `https://localhost:${webhook}`,
      ...flags,
    },
    env: {},
    prefix: 'SVC_',
  });
  const lines: string[] = [];
  const stop = new AbortController();
  const logger = createLogger({ write: (line) => void lines.push(line) });
  const ended = runOperator(settings, { logger, clock: systemClock, signal: stop.signal, converters });
  let failure: unknown;
  ended.catch((error: unknown) => (failure = error));
  await until('the webhooks', async () => {
    if (failure !== undefined) throw failure as Error;
    return lines.some((line) => line.includes('webhooks are served'));
  });
  return {
    webhook,
    lines,
    stop: () => {
      stop.abort();
      return ended;
    },
  };
}
