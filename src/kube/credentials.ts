import { readFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import type { Dispatcher } from 'undici';
import type { Clock } from '../base/clock.ts';
import { sha256Hex } from '../base/canonical-json.ts';
import { errorText, OperatorError } from '../base/errors.ts';
import { ExecPlugin, type ExecSection, type PluginCredential } from './exec-plugin.ts';
import { currentCluster, currentUser, fullConfig, namespaceOf, serverOf, type KubeSettings } from './kubeconfig.ts';
import { createPool, type TlsMembers } from './pool.ts';

/** What one request needs to reach the API server as the right user. */
export interface Endpoint {
  /** `https://host:port`. */
  origin: string;
  /** Prefix of every path; empty when the server has none. */
  basePath: string;
  /** `host:port`, for metrics. */
  host: string;
  headers: Record<string, string>;
  tls: TlsMembers;
  dispatcher: Dispatcher;
}

/** How long certificates, keys and tokens from files are reused before they are read again. Units: ms. */
const reuseMs = 60_000;
/**
 * Least time between two reads: after a 401 everything is read again at once, unless it was read less than this long
 * ago; while a file is missing or empty, after this long. Units: ms.
 */
const minRefreshMs = 1_000;

/**
 * Server address, identity and TLS from a kubeconfig, with one connection pool for as long as the TLS material is
 * the same. Rotated files are picked up within a minute, or by the next request after `invalidate()`.
 */
export class Credentials {
  readonly #load: () => KubeSettings;
  readonly #clock: Clock;
  readonly #plugin: ExecPlugin;
  #settings: KubeSettings;
  #config: KubeConfig | undefined;
  #endpoint: Promise<Endpoint> | undefined;
  /** The settings have been used, with or without success, so they are read again before the next use. */
  #used = false;
  #readAt = -Infinity;
  /** From this monotonic time on, everything is read again. Units: ms. */
  #staleAt = -Infinity;
  /** Why the settings in use are not those that were read last; undefined when they are. */
  #unread: unknown;
  /** The server has refused the credentials since settings were last taken. */
  #refused = false;
  /** The last endpoint that could be made, until the server refuses it. */
  #good: Endpoint | undefined;
  #poolKey = '';
  #pool: Dispatcher | undefined;

  constructor(load: () => KubeSettings, clock: Clock) {
    this.#load = load;
    this.#clock = clock;
    this.#plugin = new ExecPlugin(clock);
    this.#settings = load();
  }

  get server(): string {
    return serverOf(this.#settings);
  }

  get namespace(): string | undefined {
    return namespaceOf(this.#settings);
  }

  /** The kubeconfig in use as a client-node object, for code that needs more than requests. Loads client-node. */
  get config(): KubeConfig {
    return (this.#config ??= fullConfig(this.#settings));
  }

  /**
   * The endpoint of the credentials, which are read again after `reuseMs`. While they cannot be read, for example because
   * a file is missing or empty while it is replaced, the endpoint is the former one, and they are read again in a second.
   * The credential of an exec plugin is kept until it expires or is refused.
   * Errors: ERR_CONFIG_INVALID when they cannot be read, and there is no former endpoint that the server accepts. So a
   * kubeconfig that is not taken, because its context means another server, is the error once the server has refused the
   * credentials of the former one.
   */
  current(): Promise<Endpoint> {
    const now = this.#clock.monotonic();
    const { expired } = this.#plugin;
    if (expired) this.#good = undefined;
    if (!this.#endpoint || expired || now > this.#staleAt) {
      if (this.#used) this.#reload();
      this.#used = true;
      this.#readAt = now;
      this.#staleAt = now + reuseMs;
      const endpoint = this.#resolveOrKeep();
      this.#endpoint = endpoint;
      endpoint.catch(() => {
        if (this.#endpoint === endpoint) this.#endpoint = undefined;
      });
    }
    return this.#endpoint;
  }

  /** Whether the endpoint is waiting for a person who may have to log in. */
  get asksPerson(): boolean {
    return this.#plugin.asksPerson;
  }

  /**
   * Options for opening a WebSocket to the server: TLS material, headers, and an agent if there is a proxy.
   * Errors: ERR_CONFIG_INVALID.
   */
  async socketOptions(): Promise<Record<string, unknown>> {
    const { tls, headers } = await this.current();
    const proxied = Boolean(currentCluster(this.#settings)?.proxyUrl);
    return { ...(proxied ? await this.#options(true) : tls), headers };
  }

  /**
   * To be called when the server refused the credentials: every file is read again before the next request, at most
   * once a second.
   */
  invalidate(): void {
    const obtainedAt = currentUser(this.#settings)?.exec ? this.#plugin.obtainedAt : this.#readAt;
    if (this.#clock.monotonic() - obtainedAt < minRefreshMs) return;
    this.#plugin.refused();
    this.#staleAt = -Infinity;
    this.#good = undefined;
    this.#refused = true;
  }

  async close(): Promise<void> {
    this.#plugin.stop();
    await this.#pool?.destroy();
    this.#pool = undefined;
    this.#poolKey = '';
    this.#endpoint = undefined;
    this.#good = undefined;
  }

  #reload(): void {
    try {
      this.#settings = this.#load();
      // A new config object also drops the token that client-node's authenticators would keep.
      this.#config = undefined;
      this.#unread = undefined;
      this.#refused = false;
    } catch (error) {
      this.#unread = error;
      // Files may be half-written or missing for a moment: the present credentials may still be valid.
    }
  }

  /** `whole`: with everything that client-node knows, such as an agent for a proxy. */
  async #options(whole = false): Promise<TlsOptions> {
    try {
      const settings = await this.#answered(this.#settings);
      if (!whole && !needsAuthenticator(settings)) return identity(settings);
      return await authenticated(settings === this.#settings ? this.config : fullConfig(settings));
    } catch (cause) {
      throw new OperatorError('ERR_CONFIG_INVALID', `kubeconfig: ${errorText(cause)}`, { cause });
    }
  }

  /** The settings with the answer of the exec plugin in place of its section. */
  async #answered(settings: KubeSettings): Promise<KubeSettings> {
    const exec = currentUser(settings)?.exec as ExecSection | null | undefined;
    if (exec) return withCredential(settings, await this.#plugin.credential(exec));
    this.#plugin.stop();
    return settings;
  }

  async #resolveOrKeep(): Promise<Endpoint> {
    if (this.#refused && this.#unread !== undefined) throw this.#unread;
    try {
      return (this.#good = await this.#resolve());
    } catch (error) {
      if (!this.#good) throw error;
      this.#staleAt = this.#readAt + minRefreshMs;
      return this.#good;
    }
  }

  async #resolve(): Promise<Endpoint> {
    const settings = this.#settings;
    const cluster = currentCluster(settings);
    const options = await this.#options();
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
    const { origin, host, pathname } = new URL(serverOf(settings));
    return { origin, host, basePath: pathname === '/' ? '' : pathname, headers, tls, dispatcher: this.#pool };
  }
}

type TlsOptions = TlsMembers & { headers?: Record<string, unknown>; auth?: string } & Record<string, unknown>;

/** True when a provider, such as OIDC, supplies the credentials. */
function needsAuthenticator(settings: KubeSettings): boolean {
  return Boolean(currentUser(settings)?.authProvider) && tokenFileOf(settings) === undefined;
}

/** A token or certificate in the kubeconfig itself takes precedence over that of the plugin. */
function withCredential(settings: KubeSettings, { token, certificate, key }: PluginCredential): KubeSettings {
  const current = currentUser(settings);
  const base64 = (pem: string): string => Buffer.from(pem).toString('base64');
  const users = settings.users.map((user) => {
    if (user !== current) return user;
    const { exec: _, ...rest } = user;
    return {
      ...rest,
      ...(token !== undefined && !user.token ? { token } : {}),
      ...(certificate === undefined || key === undefined || user.certFile || user.certData
        ? {}
        : { certData: base64(certificate), keyData: base64(key) }),
    };
  });
  return { ...settings, users };
}

async function authenticated(config: KubeConfig): Promise<TlsOptions> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  return options as TlsOptions;
}

/** Options with the certificates, token or password in the kubeconfig or in files that it names. Runs no program. */
function identity(settings: KubeSettings): TlsOptions {
  const cluster = currentCluster(settings);
  const user = currentUser(settings);
  if (cluster?.server.startsWith('http:') && !cluster.skipTLSVerify) {
    throw new Error('plain http needs insecure-skip-tls-verify');
  }
  const tokenFile = tokenFileOf(settings);
  const token = user?.token ?? (tokenFile === undefined ? undefined : fileContent(tokenFile).toString('utf8'));
  return {
    ca: content(cluster?.caFile, cluster?.caData),
    cert: content(user?.certFile, user?.certData),
    key: content(user?.keyFile, user?.keyData),
    servername: cluster?.tlsServerName,
    ...(cluster?.skipTLSVerify ? { rejectUnauthorized: false } : {}),
    ...(user?.username ? { auth: `${user.username}:${user.password ?? ''}` } : {}),
    headers: {
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(user?.impersonateUser ? { 'Impersonate-User': user.impersonateUser } : {}),
    },
  };
}

function tokenFileOf(settings: KubeSettings): string | undefined {
  const provider = currentUser(settings)?.authProvider as { config?: { tokenFile?: string } } | undefined;
  return provider?.config?.tokenFile || undefined;
}

function content(file: string | undefined, data: string | undefined): Buffer | undefined {
  if (file) return fileContent(file);
  return data ? Buffer.from(data, 'base64') : undefined;
}

/** Errors: a file without content, which is being written. Without its token the request would be anonymous. */
function fileContent(file: string): Buffer {
  const bytes = readFileSync(file);
  if (bytes.toString('latin1').trim() === '') throw new Error(`${file} is empty`);
  return bytes;
}

function pick(options: TlsOptions): TlsMembers {
  const tls: TlsMembers = {};
  for (const name of ['ca', 'cert', 'key', 'pfx', 'passphrase', 'servername', 'rejectUnauthorized'] as const) {
    if (options[name] !== undefined && options[name] !== null) tls[name] = options[name];
  }
  return tls;
}
