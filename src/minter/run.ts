import { join } from 'node:path';
import { hostname } from 'node:os';
import { aborted } from '../base/aborted.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { openTraceExport } from '../base/trace-export.ts';
import { untilQuiet } from '../net/drain.ts';
import { closeServer, listen } from '../net/listen.ts';
import { watchTlsDirectory } from '../net/tls-material.ts';
import { readBuildInfo, type BuildInfo } from '../base/build-info.ts';
import { expressHandler, httpServerMetrics } from '../net/http/index.ts';
import { createAdminServer } from './http/admin-server.ts';
import { createApp } from './http/app.ts';
import { createPublicServer } from './http/server.ts';
import { Jwks } from './identity/jwks.ts';
import { createMinterMetrics } from './metrics.ts';
import { Minter } from './mint.ts';
import { Monitors } from './monitors.ts';
import { PlatformClient } from './platform/platform-client.ts';
import { RateLimiter } from '../base/rate-limit.ts';
import { Readiness } from './readiness.ts';
import { activeScopes, allFiles, type RuleSet } from './rules/rule-set.ts';
import { RuleStore } from './rules/rule-store.ts';
import type { MinterSettings } from './settings.ts';
import { AppJwtSource } from './sign/app-jwt.ts';
import { KeyMonitor } from './sign/key-monitor.ts';
import { KmsSigner } from './sign/kms-signer.ts';
import { openKeyService } from './sign/open-key-service.ts';
import { tokenTraces } from './token-trace.ts';
import type { MinterCheck } from '../api/v1alpha1/minter-readiness.ts';
import type { MinterMetrics } from './metrics.ts';

export interface MinterServerDeps {
  logger: Logger;
  clock: Clock;
  /** An abort starts the orderly shutdown. */
  signal: AbortSignal;
  /** Where audit lines go. Default: stdout. */
  audit?: (line: string) => void;
  build?: BuildInfo;
  /** The standard OpenTelemetry variables: spans are exported if they name an endpoint. Default: the process's. */
  environment?: Readonly<Record<string, string | undefined>>;
  /** Called when both ports are bound, with the numbers of the ports. */
  onListening?: (ports: { port: number; adminPort: number }) => void;
}

const drainMs = 5_000;

/**
 * Runs the minter until `signal` aborts. Then the minter is not ready any more, but mints tokens until no new
 * connection comes; it gives requests in flight five seconds, closes everything and resolves.
 * Without a usable key the minter starts as well, but it answers `/version` with 503.
 * Errors: ERR_LISTEN; ERR_TLS_MATERIAL; ERR_CONFIG_INVALID for a development key that cannot be read.
 */
export async function runMinterServer(settings: MinterSettings, deps: MinterServerDeps): Promise<void> {
  const { clock, logger, signal } = deps;
  const build = deps.build ?? readBuildInfo(process.env);
  const metrics = createMinterMetrics(build, () => keys.ageMs);
  const readiness = new Readiness({
    clock,
    keyVersion: settings.keyVersion,
    nextKeyVersion: settings.nextKeyVersion,
    onChange: watchReadiness(metrics, logger),
  });
  const rules = new RuleStore({
    dir: join(settings.configsDir, settings.org),
    pollMs: settings.rulesReloadSeconds * 1000,
    allowWildcard: settings.allowWildcardRepositories,
    clock,
    logger,
    onLoad: (set, result) => watchRules(metrics, readiness, clock, set, result, rules.found),
  });
  const { tlsDir } = settings;
  const tls =
    tlsDir === undefined ? undefined : await watchTlsDirectory(tlsDir, { clock, logger, signal }, { hasCa: false });
  const service = await openKeyService(settings.keyProvider, { clock, logger });
  const tracing = await openTraceExport({
    service: 'svc-minter',
    version: build.version,
    instance: hostname(),
    environment: deps.environment ?? process.env,
    clock,
    logger,
  });
  const signerFor = (version: string): KmsSigner =>
    new KmsSigner({
      service,
      version,
      clock,
      onCall: (operation, result, seconds) => {
        metrics.kmsRequests.inc({ operation, result });
        metrics.kmsSeconds.observe({ operation }, seconds);
      },
    });
  const jwtsOf = (signer: KmsSigner): AppJwtSource =>
    new AppJwtSource({ appId: settings.appId, signer, reuseSeconds: settings.appJwtReuseSeconds, clock, logger });
  const signer = signerFor(settings.keyVersion);
  const jwts = jwtsOf(signer);
  const platform = new PlatformClient({
    apiBaseUrl: settings.apiBaseUrl,
    userAgent: `svc-minter/${build.version}`,
    clock,
    onCall: (operation, code, seconds) => {
      metrics.platformRequests.inc({ operation, code });
      metrics.platformSeconds.observe({ operation }, seconds);
    },
    onRateLimit: (remaining) => metrics.platformRateLimitRemaining.set(remaining),
  });
  const keys = new Jwks({
    uri: settings.jwksUri,
    clock,
    logger,
    onRefresh: (result) => metrics.jwksRefreshes.inc({ result }),
  });
  const shared = { org: settings.org, appId: settings.appId, jwts, platform, readiness, clock, logger };
  const monitors = new Monitors({
    ...shared,
    key: new KeyMonitor(signer, clock),
    nextJwts: settings.nextKeyVersion === undefined ? undefined : jwtsOf(signerFor(settings.nextKeyVersion)),
    wantedPermissions: () => allFiles(rules.current).flatMap((f) => [...f.scopes.values()].map((s) => s.permissions)),
  });
  const minter = new Minter({
    ...shared,
    metrics,
    onUnauthorized: () => monitors.doubtApp(),
    onKeyUnusable: () => monitors.doubtKey(),
  });
  const app = createApp({
    org: settings.org,
    maxRepositories: settings.maxRepositories,
    keyVersion: settings.keyVersion,
    verify: { issuer: settings.issuerUrl, audiences: settings.audiences, keys, clock },
    bounds: {
      issuers: new Map([
        ['google', settings.issuerUrl],
        ['github', 'https://token.actions.githubusercontent.com'],
      ]),
      repositories: settings.repositories,
    },
    rules: () => rules.current,
    limiter: new RateLimiter(settings.rateLimitPerMinute, clock),
    minter,
    metrics,
    clock,
    build,
    platformHost: new URL(settings.apiBaseUrl).host,
    readiness,
    logger,
    beginTrace: tracing && tokenTraces(tracing.tracer, clock),
    audit: deps.audit ?? ((line) => void process.stdout.write(line)),
  });
  const door = { logger, metrics: httpServerMetrics(metrics.registry, 'minter') };
  const server = createPublicServer(expressHandler(app), tls, { name: 'minter', ...door });
  const admin = createAdminServer({
    door: { name: 'minter-admin', ...door },
    registry: metrics.registry,
    readiness: () => {
      const set = rules.current;
      return readiness.report({ rulesHash: set.hash, scopes: activeScopes(set), jwksAgeMs: keys.ageMs });
    },
  });
  const end = async (): Promise<void> => {
    await closeServer(server, drainMs);
    monitors.close();
    rules.close();
    await closeServer(admin, 500);
    await service.close();
    await tracing?.close();
  };
  try {
    await rules.start();
    const host = settings.bindAddress;
    const adminPort = await listen('minter-admin', admin, { host, port: settings.adminPort });
    const port = await listen('minter', server, { host, port: settings.port });
    monitors.start();
    logger.info('minter started', { port, adminPort, org: settings.org, ...build });
    deps.onListening?.({ port, adminPort });
    await aborted(signal);
    logger.info('minter stopping');
    readiness.drain();
    await untilQuiet([server], { clock, quietMs: settings.shutdownQuietSeconds * 1_000 });
  } finally {
    await end();
  }
}

/** Logs every change of a readiness check, and exports the gates of readiness (rules, key, app) as a metric. */
function watchReadiness(
  metrics: MinterMetrics,
  logger: Logger,
): (readiness: Readiness, check: MinterCheck | null) => void {
  return (readiness, check) => {
    const { rules, key, app } = readiness.gates;
    for (const [name, ok] of Object.entries({ rules, key, app, all: readiness.ready })) {
      metrics.ready.set({ check: name }, ok ? 1 : 0);
    }
    if (check) logger.info('check changed', { ...check, ready: readiness.ready });
  };
}

/** Reports the result of loading the rules: as metrics, and as the check `RulesValid`. */
function watchRules(
  metrics: MinterMetrics,
  readiness: Readiness,
  clock: Clock,
  rules: RuleSet,
  result: 'success' | 'faulty' | 'failed',
  found: boolean,
): void {
  metrics.rulesReloads.inc({ result });
  if (result === 'success') metrics.rulesLastSuccess.set(clock.now() / 1000);
  metrics.ruleScopes.set(
    { state: 'active' },
    allFiles(rules).reduce((sum, file) => sum + file.scopes.size, 0),
  );
  metrics.ruleScopes.set({ state: 'faulty' }, rules.faults.length);
  readiness.setUsableScopes(activeScopes(rules).length > 0);
  if (!found) {
    readiness.set('RulesValid', 'False', 'ConfigMapNotFound', 'the rule directory is absent or cannot be listed');
    return;
  }
  const fileFault = rules.faults.find((fault) => fault.scope === undefined);
  const fault = fileFault ?? rules.faults[0];
  if (!fault && activeScopes(rules).length === 0) {
    readiness.set('RulesValid', 'False', 'ConfigMapNotFound', 'the rule directory holds no rules');
  } else if (!fault) {
    readiness.set('RulesValid', 'True', 'Valid', `${allFiles(rules).length} rule files in force`);
  } else {
    const where = `${fault.file}${fault.line === undefined ? '' : `:${fault.line}`}`;
    const scope = fault.scope === undefined ? '' : ` scope ${JSON.stringify(fault.scope)}:`;
    const more = rules.faults.length > 1 ? ` (and ${rules.faults.length - 1} more)` : '';
    readiness.set(
      'RulesValid',
      'False',
      fileFault ? 'FileFaulty' : 'ScopeFaulty',
      `${where}:${scope} ${fault.message}${more}`,
    );
  }
}
