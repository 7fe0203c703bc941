import { collectDefaultMetrics, Registry } from 'prom-client';
import { metricsOn } from '../base/metric-set.ts';

const httpBuckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4];

/** Every metric of the minter, on a registry of its own. Labels come from fixed sets only: no email, name or id. */
export function createMinterMetrics(build: { version: string; commit: string }, jwksAgeMs: () => number | null) {
  const registry = new Registry();
  const { counter, gauge, histogram } = metricsOn(registry);
  collectDefaultMetrics({ register: registry });
  const metrics = {
    httpRequests: counter('minter_http_requests_total', 'HTTP requests answered.', ['path', 'method', 'code']),
    httpSeconds: histogram(
      'minter_http_request_duration_seconds',
      'Time from the request line to the answer.',
      httpBuckets,
      ['path', 'code'],
    ),
    mints: counter('minter_mints_total', 'Decisions on /token.', ['result', 'code']),
    denials: counter('minter_denials_total', 'Refusals on /token by exact reason.', ['reason']),
    rateLimited: counter('minter_rate_limited_total', 'Requests over the limit of their caller.'),
    kmsRequests: counter('minter_kms_requests_total', 'Calls to the key service.', ['operation', 'result']),
    kmsSeconds: histogram('minter_kms_request_duration_seconds', 'Duration of calls to the key service.', httpBuckets, [
      'operation',
    ]),
    platformRequests: counter('minter_platform_requests_total', 'Calls to the hosting platform.', [
      'operation',
      'code',
    ]),
    platformSeconds: histogram(
      'minter_platform_request_duration_seconds',
      'Duration of calls to the hosting platform.',
      httpBuckets,
      ['operation'],
    ),
    platformRateLimitRemaining: gauge(
      'minter_platform_rate_limit_remaining',
      "What the platform's last answer said is left of its rate limit; NaN until it states one.",
    ),
    jwksRefreshes: counter('minter_jwks_refresh_total', "Fetches of the issuer's keys.", ['result']),
    jwksAge: gauge('minter_jwks_age_seconds', 'Age of the issuer keys in force; NaN without any.', [], (age) =>
      age.set((jwksAgeMs() ?? Number.NaN) / 1000),
    ),
    rulesReloads: counter('minter_rules_reload_total', 'Loads of the rule directory.', ['result']),
    rulesLastSuccess: gauge(
      'minter_rules_last_success_timestamp_seconds',
      'When the rule directory was last read without a fault.',
    ),
    ruleScopes: gauge('minter_rule_scopes', 'Scopes by state; a faulty file counts as one faulty scope.', ['state']),
    cacheRequests: counter('minter_cache_requests_total', 'Look-ups in caches.', ['cache', 'result']),
    ready: gauge('minter_ready', '1 where the check holds.', ['check']),
    buildInfo: gauge('minter_build_info', 'Always 1; the labels tell the build.', ['version', 'commit']),
  };
  metrics.mints.inc({ result: 'allow', code: 'ok' }, 0);
  // Some platforms state no limit, so 0 would be a false alarm.
  metrics.platformRateLimitRemaining.set(Number.NaN);
  metrics.buildInfo.set({ version: build.version, commit: build.commit }, 1);
  return { registry, ...metrics };
}

export type MinterMetrics = ReturnType<typeof createMinterMetrics>;
