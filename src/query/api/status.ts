import { formatDuration } from '../../base/duration.ts';
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

/** Flags under Prometheus' names where clients look them up. Values are texts, as there. */
export function flags(settings: QuerySettings): Record<string, string> {
  return {
    'query.lookback-delta': formatDuration(settings.lookbackDelta),
    'query.max-concurrency': String(settings.maxConcurrency),
    'query.max-samples': String(settings.maxSamples),
    'query.timeout': formatDuration(settings.queryTimeout),
    'agent.timeout': formatDuration(settings.agentTimeout),
  };
}
