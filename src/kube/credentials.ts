import { readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { Agent, ProxyAgent, type Dispatcher } from 'undici';
import { parse as parseYaml } from 'yaml';
import type { Clock } from '../base/clock.ts';
import { sha256Hex } from '../base/canonical-json.ts';
import { errorText, OperatorError } from '../base/errors.ts';

/** What one request needs to reach the API server as the right user. */
export interface Endpoint {
  /** Base URL without a trailing slash. */
  server: string;
  headers: Record<string, string>;
  dispatcher: Dispatcher;
}

/** How long certificates, keys and tokens from files are reused before they are read again. */
const reuseMs = 60_000;
/** A 401 makes us read again at once, but not in a loop. */
const minRefreshMs = 1_000;

/**
 * Server address, identity and TLS from a kubeconfig, with one connection pool for as long as the TLS material is
 * the same. Rotated files are picked up within a minute, and at once after `invalidate()`.
 */
export class Credentials {
  readonly #load: () => KubeConfig;
  readonly #clock: Clock;
  #config: KubeConfig;
  #endpoint: Promise<Endpoint> | undefined;
  #readAt = -Infinity;
  #poolKey = '';
  #pool: Dispatcher | undefined;

  constructor(load: () => KubeConfig, clock: Clock) {
    this.#load = load;
    this.#clock = clock;
    this.#config = load();
  }

  get server(): string {
    return serverOf(this.#config);
  }

  /** The kubeconfig in use, for what needs more than requests (the dot-i bridge). */
  get config(): KubeConfig {
    return this.#config;
  }

  /** Errors: ERR_CONFIG_INVALID when the kubeconfig cannot be used at all. */
  current(): Promise<Endpoint> {
    const age = this.#clock.monotonic() - this.#readAt;
    if (!this.#endpoint || age > reuseMs) {
      if (this.#endpoint) this.#reload();
      this.#readAt = this.#clock.monotonic();
      this.#endpoint = this.#resolve();
      this.#endpoint.catch(() => (this.#endpoint = undefined));
    }
    return this.#endpoint;
  }

  /** The server refused us: read every file again before the next request. */
  invalidate(): void {
    if (this.#clock.monotonic() - this.#readAt < minRefreshMs) return;
    this.#readAt = -Infinity;
  }

  async close(): Promise<void> {
    await this.#pool?.destroy();
    this.#pool = undefined;
    this.#poolKey = '';
    this.#endpoint = undefined;
  }

  #reload(): void {
    try {
      // A new KubeConfig also drops the token that its file reader would keep for a minute.
      this.#config = this.#load();
    } catch {
      // Half-written or removed for a moment: what we have may well still serve.
    }
  }

  async #resolve(): Promise<Endpoint> {
    const config = this.#config;
    const cluster = config.getCurrentCluster();
    const options: TlsOptions = {};
    try {
      await config.applyToHTTPSOptions(options);
    } catch (cause) {
      throw new OperatorError('ERR_CONFIG_INVALID', `kubeconfig: ${errorText(cause)}`, { cause });
    }
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(options.headers ?? {}))
      headers[name.toLowerCase()] = String(value).trim();
    if (options.auth) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
    const tls = pick(options);
    const key = sha256Hex(JSON.stringify([cluster?.server, cluster?.proxyUrl, Object.entries(tls).map(String)]));
    if (!this.#pool || key !== this.#poolKey) {
      const old = this.#pool;
      this.#pool = createPool(tls, cluster?.proxyUrl);
      this.#poolKey = key;
      // Requests in flight finish on the old pool; watches end with their server-side timeout.
      void old?.close().catch(() => {});
    }
    return { server: serverOf(config), headers, dispatcher: this.#pool };
  }
}

interface TlsMembers {
  ca?: unknown;
  cert?: unknown;
  key?: unknown;
  pfx?: unknown;
  passphrase?: unknown;
  servername?: unknown;
  rejectUnauthorized?: unknown;
}
type TlsOptions = TlsMembers & { headers?: Record<string, unknown>; auth?: string } & Record<string, unknown>;

function pick(options: TlsOptions): TlsMembers {
  const tls: TlsMembers = {};
  for (const name of ['ca', 'cert', 'key', 'pfx', 'passphrase', 'servername', 'rejectUnauthorized'] as const) {
    if (options[name] !== undefined && options[name] !== null) tls[name] = options[name];
  }
  return tls;
}

function createPool(tls: TlsMembers, proxyUrl: string | undefined): Dispatcher {
  const connect = { ...tls, timeout: 10_000, keepAlive: true, keepAliveInitialDelay: 30_000 };
  const pool = { connect, keepAliveTimeout: 30_000, pipelining: 1 } as Agent.Options;
  if (!proxyUrl) return new Agent(pool);
  if (!/^https?:/.test(proxyUrl)) {
    throw new OperatorError('ERR_CONFIG_INVALID', 'kubeconfig: proxy-url must be http or https');
  }
  return new ProxyAgent({ ...pool, uri: proxyUrl, requestTls: connect } as ProxyAgent.Options);
}

function serverOf(config: KubeConfig): string {
  const server = config.getCurrentCluster()?.server;
  if (!server) throw new OperatorError('ERR_CONFIG_INVALID', 'kubeconfig: the current context names no cluster');
  return server.replace(/\/+$/, '');
}

/**
 * Finds the cluster: the file given, else `KUBECONFIG`, else `~/.kube/config`, else the pod's service account.
 * Errors: ERR_CONFIG_INVALID where none is usable, or where it asks for what we do not do (impersonated groups).
 */
export function loadKubeConfig(options: { path?: string | undefined; context?: string | undefined } = {}): KubeConfig {
  const config = new KubeConfig();
  try {
    if (options.path !== undefined) config.loadFromFile(options.path);
    else config.loadFromDefault();
  } catch (cause) {
    throw new OperatorError('ERR_CONFIG_INVALID', `kubeconfig: ${errorText(cause)}`, { cause });
  }
  if (options.context !== undefined) config.setCurrentContext(options.context);
  for (const path of kubeConfigFiles(options.path)) addTokenFiles(config, path);
  if (config.getCurrentCluster()?.server === 'http://localhost:8080' && config.getCurrentUser()?.name === 'user') {
    throw new OperatorError('ERR_CONFIG_INVALID', 'no KUBECONFIG, no ~/.kube/config, and not inside a cluster');
  }
  serverOf(config);
  return config;
}

/** A configuration for a server that asks for no credentials. */
export function openKubeConfig(server: string): KubeConfig {
  const config = new KubeConfig();
  // client-node refuses plain http unless verification is off.
  config.loadFromClusterAndUser({ name: 'open', server, skipTLSVerify: true }, { name: 'open' });
  return config;
}

function kubeConfigFiles(path: string | undefined): string[] {
  return path !== undefined ? [path] : (process.env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
}

/**
 * client-node reads `token-file`, which is no kubeconfig field, and overlooks `tokenFile`, which is; it also drops
 * impersonated groups in silence, which would act with other rights than asked for.
 */
function addTokenFiles(config: KubeConfig, path: string): void {
  const raw = parseYaml(readFileSync(path, 'utf8')) as { users?: { name?: string; user?: Record<string, unknown> }[] };
  for (const entry of raw?.users ?? []) {
    if (Array.isArray(entry.user?.['as-groups']) && config.getCurrentUser()?.name === entry.name) {
      throw new OperatorError('ERR_CONFIG_INVALID', `kubeconfig: user ${entry.name}: as-groups is not supported`);
    }
    const tokenFile = entry.user?.['tokenFile'];
    if (typeof tokenFile !== 'string') continue;
    config.users = config.users.map((user) =>
      user.name === entry.name && !user.token
        ? { ...user, authProvider: { name: 'tokenFile', config: { tokenFile } } }
        : user,
    );
  }
}
