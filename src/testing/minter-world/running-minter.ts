import { until } from '../until.ts';
import type { Clock } from '../../base/clock.ts';
import { systemClock } from '../../base/clock.ts';
import { createLogger } from '../../base/logger.ts';
import type { MinterReadiness } from '../../api/v1alpha1/minter-readiness.ts';
import { runMinterServer } from '../../minter/run.ts';
import { readSettings } from '../../base/settings.ts';
import { minterSettingTable } from '../../minter/setting-table.ts';
import { minterSettings, type MinterSettings } from '../../minter/settings.ts';
import { audience, type MinterWorld } from './world.ts';

/** A minter in this process, with all of its output. */
export interface RunningMinter {
  url: string;
  adminUrl: string;
  /** Parsed audit lines. */
  audit: Record<string, unknown>[];
  /** All log and audit lines, as text. */
  output: () => string;
  /** Drops the audit lines and the output so far: a memory test would count them as memory of the minter. */
  forget(): void;
  readiness(): Promise<MinterReadiness>;
  stop(): Promise<void>;
}

/** Starts a minter that uses the services of `world`. Resolves when it listens; `untilReady` waits for readiness. */
export async function startMinter(
  world: MinterWorld,
  options: { env?: Record<string, string>; clock?: Clock } = {},
): Promise<RunningMinter> {
  const settings = settingsOf(world, options.env);
  const stopper = new AbortController();
  const lines: string[] = [];
  const audit: Record<string, unknown>[] = [];
  let onListening: (ports: { port: number; adminPort: number }) => void = () => {};
  const listening = new Promise<{ port: number; adminPort: number }>((resolve) => (onListening = resolve));
  const running = runMinterServer(settings, {
    logger: createLogger({ level: 'debug', write: (line) => lines.push(line) }),
    clock: options.clock ?? systemClock,
    signal: stopper.signal,
    audit: (line) => {
      lines.push(line);
      audit.push(JSON.parse(line) as Record<string, unknown>);
    },
    onListening,
  });
  const { port, adminPort } = await Promise.race([
    listening,
    running.then(() => Promise.reject(new Error('minter ended'))),
  ]);
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  return {
    url: `http://127.0.0.1:${port}`,
    adminUrl,
    audit,
    output: () => lines.join(''),
    forget: () => {
      lines.length = 0;
      audit.length = 0;
    },
    readiness: async () => (await (await fetch(`${adminUrl}/readyz`)).json()) as MinterReadiness,
    stop: async () => {
      stopper.abort();
      await running;
    },
  };
}

/** The settings of a minter that uses the services of `world`. The variables in `env` override the defaults. */
export function settingsOf(world: MinterWorld, env: Record<string, string> = {}): MinterSettings {
  const defaults = {
    AUDIENCES: audience,
    PORT: '0',
    ADMIN_PORT: '0',
    BIND_ADDRESS: '127.0.0.1',
    SHUTDOWN_QUIET_SECONDS: '0',
  };
  const all = { ...world.env, ...defaults, RATE_LIMIT_PER_MINUTE: '60000', ...env };
  return minterSettings(readSettings(minterSettingTable, { flags: {}, env: all, prefix: '' }));
}

export async function untilReady(minter: RunningMinter): Promise<MinterReadiness> {
  return until('a minter that is ready', () => minter.readiness(), { good: (report) => report.ready });
}

/** Sends `POST /token`, by default with a valid body. */
export async function askToken(
  minter: Pick<RunningMinter, 'url'>,
  token: string | undefined,
  body: unknown = {},
  options: { method?: string; headers?: Record<string, string>; path?: string } = {},
): Promise<{ status: number; text: string; headers: Headers; ms: number }> {
  const good = { org_name: 'acme', repositories: ['gitops'], scope: 'platform-agent-scope' };
  const start = performance.now();
  const method = options.method ?? 'POST';
  const response = await fetch(`${minter.url}${options.path ?? '/token'}`, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { 'x-oidc-token': token }),
      ...options.headers,
    },
    ...(method === 'GET' || method === 'HEAD'
      ? {}
      : {
          body:
            typeof body === 'string' || body instanceof Uint8Array
              ? (body as string)
              : JSON.stringify({ ...good, ...(body as object) }),
        }),
  });
  const text = await response.text();
  return { status: response.status, text, headers: response.headers, ms: performance.now() - start };
}
