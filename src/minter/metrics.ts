import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

const httpBuckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4];

/** Every metric of the minter, on a registry of its own. Labels come from fixed sets only: no email, name or id. */
export function createMinterMetrics(build: { version: string; commit: string }, jwksAgeMs: () => number | null) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const metrics = {
    httpRequests: new Counter({
      name: 'minter_http_requests_total',
      help: 'HTTP requests answered.',
      labelNames: ['path', 'method', 'code'],
      registers,
    }),
    httpSeconds: new Histogram({
      name: 'minter_http_request_duration_seconds',
      help: 'Time from the request line to the answer.',
      labelNames: ['path', 'code'],
      buckets: httpBuckets,
      registers,
    }),
    mints: new Counter({
      name: 'minter_mints_total',
      help: 'Decisions on /token.',
      labelNames: ['result', 'code'],
      registers,
    }),
    denials: new Counter({
      name: 'minter_denials_total',
      help: 'Refusals on /token by exact reason.',
      labelNames: ['reason'],
      registers,
    }),
    rateLimited: new Counter({
      name: 'minter_rate_limited_total',
      help: 'Requests over the limit of their caller.',
      registers,
    }),
    kmsRequests: new Counter({
      name: 'minter_kms_requests_total',
      help: 'Calls to the key service.',
      labelNames: ['operation', 'result'],
      registers,
    }),
    kmsSeconds: new Histogram({
      name: 'minter_kms_request_duration_seconds',
      help: 'Duration of calls to the key service.',
      labelNames: ['operation'],
      buckets: httpBuckets,
      registers,
    }),
    platformRequests: new Counter({
      name: 'minter_platform_requests_total',
      help: 'Calls to the hosting platform.',
      labelNames: ['operation', 'code'],
      registers,
    }),
    platformSeconds: new Histogram({
      name: 'minter_platform_request_duration_seconds',
      help: 'Duration of calls to the hosting platform.',
      labelNames: ['operation'],
      buckets: httpBuckets,
      registers,
    }),
    platformRateLimitRemaining: new Gauge({
      name: 'minter_platform_rate_limit_remaining',
      help: "What the platform's last answer said is left of its rate limit.",
      registers,
    }),
    jwksRefreshes: new Counter({
      name: 'minter_jwks_refresh_total',
      help: "Fetches of the issuer's keys.",
      labelNames: ['result'],
      registers,
    }),
    jwksAge: new Gauge({
      name: 'minter_jwks_age_seconds',
      help: 'Age of the issuer keys in force; NaN without any.',
      registers,
      collect() {
        this.set((jwksAgeMs() ?? Number.NaN) / 1000);
      },
    }),
    rulesReloads: new Counter({
      name: 'minter_rules_reload_total',
      help: 'Loads of the rule directory.',
      labelNames: ['result'],
      registers,
    }),
    rulesLastSuccess: new Gauge({
      name: 'minter_rules_last_success_timestamp_seconds',
      help: 'When the rule directory was last read without a fault.',
      registers,
    }),
    ruleScopes: new Gauge({
      name: 'minter_rule_scopes',
      help: 'Scopes by state; a faulty file counts as one faulty scope.',
      labelNames: ['state'],
      registers,
    }),
    cacheRequests: new Counter({
      name: 'minter_cache_requests_total',
      help: 'Look-ups in caches.',
      labelNames: ['cache', 'result'],
      registers,
    }),
    ready: new Gauge({
      name: 'minter_ready',
      help: '1 where the check holds.',
      labelNames: ['check'],
      registers,
    }),
    buildInfo: new Gauge({
      name: 'minter_build_info',
      help: 'Always 1; the labels tell the build.',
      labelNames: ['version', 'commit'],
      registers,
    }),
  };
  metrics.buildInfo.set({ version: build.version, commit: build.commit }, 1);
  return { registry, ...metrics };
}

export type MinterMetrics = ReturnType<typeof createMinterMetrics>;
