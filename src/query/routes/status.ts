import { availableParallelism, hostname } from 'node:os';
import type { Clock } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import { fileKeyOf } from '../../base/settings.ts';
import type { HeldTo } from '../run/runner-options.ts';
import type { QuerySettings } from '../settings.ts';

/** The version of Prometheus whose API and language this server follows; Grafana chooses its features by it. */
export const apiLevel = '3.15.0';

export function buildInfo(version: string): object {
  return {
    version: apiLevel,
    revision: '',
    branch: '',
    buildUser: '',
    buildDate: '',
    goVersion: '',
    application: 'svc-query',
    applicationVersion: version,
  };
}

/** `/api/v1/status/runtimeinfo` in Prometheus' form; members that only Go has are empty. */
export function runtimeInfo({ clock, startedAt }: { clock: Clock; startedAt: number }): object {
  return {
    startTime: new Date(startedAt).toISOString(),
    CWD: process.cwd(),
    hostname: hostname(),
    serverTime: new Date(clock.now()).toISOString(),
    reloadConfigSuccess: true,
    lastConfigTime: new Date(startedAt).toISOString(),
    corruptionCount: 0,
    goroutineCount: 0,
    GOMAXPROCS: availableParallelism(),
    GOMEMLIMIT: 0,
    GOGC: '',
    GODEBUG: '',
    storageRetention: 'kept by the agents',
  };
}

/**
 * The settings as YAML, under the keys of a settings file. They contain no secrets: they name the file of each secret.
 */
export function configText(settings: QuerySettings): string {
  const lines = Object.entries(settings).map(([key, value]) => `${fileKeyOf(key)}: ${JSON.stringify(value)}`);
  return `${lines.sort().join('\n')}\n`;
}

/**
 * Flags with the values that apply to the caller. The flags that clients look up have Prometheus' names. Values are
 * strings, as in Prometheus.
 */
export function flags(settings: QuerySettings, held: HeldTo): Record<string, string> {
  return {
    'query.lookback-delta': formatDuration(settings.lookbackDelta),
    'query.max-concurrency': String(Math.min(settings.maxConcurrency, held.places?.limit ?? Infinity)),
    'query.max-samples': String(held.maxSamples),
    'query.timeout': formatDuration(held.timeoutMs),
    'agent.timeout': formatDuration(held.agentTimeoutMs),
    ...(held.maxSeries === Infinity ? {} : { 'query.max-series': String(held.maxSeries) }),
    'storage.remote.read-concurrent-limit': '10',
    'storage.remote.read-max-bytes-in-frame': '1048576',
    'web.enable-admin-api': 'false',
    'web.enable-lifecycle': 'false',
    'web.enable-remote-write-receiver': 'false',
  };
}
