import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isIPv6 } from 'node:net';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import type * as ClientNode from '@kubernetes/client-node';
// The index of client-node loads fifteen hundred generated files, which takes most of a second, and 80 MB for the life
// of a process. The module `config_types` reads a kubeconfig and loads nothing else.
import { newClusters, newContexts, newUsers } from '@kubernetes/client-node/dist/config_types.js';
import { parse as parseYaml } from 'yaml';
import { errorText, OperatorError } from '../base/errors.ts';

const require = createRequire(import.meta.url);
type KubeConfig = ClientNode.KubeConfig;

/** A whole kubeconfig, including the contexts that are not in use, in client-node's types and with absolute paths. */
export interface KubeSettings {
  clusters: ClientNode.Cluster[];
  users: ClientNode.User[];
  contexts: ClientNode.Context[];
  currentContext: string;
}

const serviceAccount = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Which kubeconfig, and what it is read for. */
export interface KubeSettingsOptions {
  path?: string | undefined;
  context?: string | undefined;
  /** Act as this user. */
  impersonate?: string | undefined;
}

/**
 * Finds the cluster: the given file, else the files of `KUBECONFIG` that exist (several are merged), else the pod's
 * service account. Without `KUBECONFIG`, `~/.kube/config` comes before the service account.
 * Errors: ERR_CONFIG_INVALID when none is usable, or when it requires an unsupported feature (impersonated groups).
 */
export function loadKubeSettings(options: KubeSettingsOptions = {}): KubeSettings {
  return kubeSettingsLoader(options)();
}

/**
 * Like `loadKubeSettings`, to be called again and again. Files, context and server are decided at the first call: a
 * later call fails when one of the files is missing, because another identity must not take its place while it is
 * replaced, and when the context has gone or means another server. That server may be another cluster, where the
 * resource versions and answers that the caller holds mean nothing.
 */
export function kubeSettingsLoader(options: KubeSettingsOptions): () => KubeSettings {
  let files: readonly string[] | undefined;
  let context: string | undefined;
  let server: string | undefined;
  return () => {
    let settings: KubeSettings;
    try {
      files ??= filesOf(options.path);
      settings = merge(files.map(readSettings)) ?? inCluster();
    } catch (cause) {
      if (cause instanceof OperatorError) throw cause;
      throw new OperatorError('ERR_CONFIG_INVALID', `kubeconfig: ${errorText(cause)}`, { cause });
    }
    context ??= options.context ?? settings.currentContext;
    settings.currentContext = context;
    server ??= serverOf(settings);
    if (serverOf(settings) !== server) {
      throw new OperatorError('ERR_CONFIG_INVALID', `kubeconfig: the context ${context} no longer means ${server}`);
    }
    const user = currentUser(settings);
    const { user: name } = currentContext(settings)!;
    // Without this check, requests would be sent without credentials.
    if (name && !user) {
      const missing = `the current context names the user ${name}, which does not exist`;
      throw new OperatorError('ERR_CONFIG_INVALID', `kubeconfig: ${missing}`);
    }
    if (user && groups.has(user)) {
      throw new OperatorError('ERR_CONFIG_INVALID', `kubeconfig: user ${user.name}: as-groups is not supported`);
    }
    return options.impersonate === undefined ? settings : actingAs(settings, options.impersonate);
  };
}

/** The same cluster as another user; the caller needs the right to `impersonate` that user. */
function actingAs(settings: KubeSettings, name: string): KubeSettings {
  const context = currentContext(settings)!;
  let user = context.user;
  if (user) {
    const users = settings.users.map((u) => (u.name === user ? { ...u, impersonateUser: name } : u));
    return { ...settings, users };
  }
  // The context has no credentials, such as one for a proxy that has its own: only a user can carry the header.
  user = name;
  while (settings.users.some((u) => u.name === user)) user += '-';
  const users = [...settings.users, { name: user, impersonateUser: name }];
  const contexts = settings.contexts.map((c) => (c === context ? { ...c, user } : c));
  return { ...settings, users, contexts };
}

/** The settings for a server that requires no credentials. */
export function openKubeSettings(server: string): KubeSettings {
  return {
    // client-node refuses plain http unless verification is off.
    clusters: [{ name: 'open', server, skipTLSVerify: true }],
    users: [{ name: 'open' }],
    contexts: [{ name: 'open', cluster: 'open', user: 'open' }],
    currentContext: 'open',
  };
}

export function currentCluster(settings: KubeSettings): ClientNode.Cluster | undefined {
  const name = currentContext(settings)?.cluster;
  return settings.clusters.find((c) => c.name === name);
}

export function currentUser(settings: KubeSettings): ClientNode.User | undefined {
  const name = currentContext(settings)?.user;
  return settings.users.find((u) => u.name === name);
}

/** Base URL without a trailing slash. Errors: ERR_CONFIG_INVALID when the current context names no cluster. */
export function serverOf(settings: KubeSettings): string {
  const server = currentCluster(settings)?.server;
  if (!server) throw new OperatorError('ERR_CONFIG_INVALID', 'kubeconfig: the current context names no cluster');
  return server.replace(/\/+$/, '');
}

/** Namespace of the current context: the default of a command without `--namespace`. Undefined when it names none. */
export function namespaceOf(settings: KubeSettings): string | undefined {
  return currentContext(settings)?.namespace || undefined;
}

/**
 * The same content as a configuration object of client-node, for code that needs its authenticators (OIDC, cloud
 * providers) or its typed clients. Caveats: the first call in a process loads all of client-node, synchronously.
 */
export function fullConfig(settings: KubeSettings): KubeConfig {
  const config = new (clientNode().KubeConfig)();
  config.loadFromOptions(structuredClone(settings));
  return config;
}

/** All of client-node, loaded when it is first needed. */
export function clientNode(): typeof ClientNode {
  return require('@kubernetes/client-node') as typeof ClientNode;
}

/**
 * Users with impersonated groups. They are refused: client-node would drop the groups and act with other permissions
 * than requested.
 */
const groups = new WeakSet<ClientNode.User>();

function currentContext(settings: KubeSettings): ClientNode.Context | undefined {
  return settings.contexts.find((c) => c.name === settings.currentContext);
}

function filesOf(path: string | undefined): string[] {
  if (path !== undefined) return [path];
  const named = namedFiles();
  // A file that exists and cannot be read is an error: without it another identity would be used.
  if (named.length > 0) return named.filter((file) => statSync(file, { throwIfNoEntry: false }));
  const own = join(process.env['HOME'] || homedir(), '.kube', 'config');
  return existsSync(own) ? [own] : [];
}

/** The entries of `KUBECONFIG`. As for kubectl, files that do not exist may be among them. */
function namedFiles(): string[] {
  return (process.env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
}

function readSettings(path: string): KubeSettings {
  const raw = (parseYaml(readFileSync(path, 'utf8')) ?? {}) as RawConfig;
  const absolute = (file: string): string => resolve(dirname(path), file);
  const users = newUsers(raw.users).map((user) => {
    const entry = raw.users?.find((u) => u.name === user.name)?.user ?? {};
    const { tokenFile, 'as-groups': asGroups } = entry;
    const file = typeof tokenFile === 'string' ? absolute(tokenFile) : undefined;
    // Where both are set, `token` is used only while nothing can be read from the token file, as in client-go.
    const fromFile = file !== undefined && (!user.token || holdsToken(file));
    const { token, ...rest } = user;
    // A command without a slash is looked up in PATH.
    const exec = user.exec as { command?: string } | null | undefined;
    const read: ClientNode.User = {
      ...rest,
      ...(user.certFile ? { certFile: absolute(user.certFile) } : {}),
      ...(user.keyFile ? { keyFile: absolute(user.keyFile) } : {}),
      ...(exec?.command?.includes('/') ? { exec: { ...exec, command: absolute(exec.command) } } : {}),
      // client-node reads `token-file`, which is not a kubeconfig field, and ignores `tokenFile`, which is one.
      ...(fromFile ? { authProvider: tokenFrom(file) } : token ? { token } : {}),
    };
    if (Array.isArray(asGroups)) groups.add(read);
    return read;
  });
  const clusters = newClusters(raw.clusters);
  for (const cluster of clusters) if (cluster.caFile) cluster.caFile = absolute(cluster.caFile);
  return { clusters, users, contexts: newContexts(raw.contexts), currentContext: raw['current-context'] ?? '' };
}

interface RawConfig {
  clusters?: unknown;
  users?: { name?: string; user?: Record<string, unknown> }[];
  contexts?: unknown;
  'current-context'?: string;
}

const tokenFrom = (tokenFile: string): { name: string; config: { tokenFile: string } } => ({
  name: 'tokenFile',
  config: { tokenFile },
});

function holdsToken(file: string): boolean {
  try {
    return readFileSync(file, 'utf8').trim() !== '';
  } catch {
    return false;
  }
}

/** The first file that defines a name wins, as for kubectl; undefined when there is no file. */
function merge(all: readonly KubeSettings[]): KubeSettings | undefined {
  const first = <T extends { name: string }>(entries: T[]): T[] => [
    ...new Map(entries.toReversed().map((e) => [e.name, e])).values(),
  ];
  if (all.length === 0) return undefined;
  return {
    clusters: first(all.flatMap((s) => s.clusters)),
    users: first(all.flatMap((s) => s.users)),
    contexts: first(all.flatMap((s) => s.contexts)),
    currentContext: all.find((s) => s.currentContext)?.currentContext ?? '',
  };
}

function inCluster(): KubeSettings {
  const host = process.env['KUBERNETES_SERVICE_HOST'];
  const port = process.env['KUBERNETES_SERVICE_PORT'] ?? '443';
  if (!host || !existsSync(`${serviceAccount}/token`)) {
    const named = namedFiles();
    const none =
      named.length > 0 ? `no file of KUBECONFIG exists (${named.join(', ')})` : 'no KUBECONFIG, no ~/.kube/config';
    throw new OperatorError('ERR_CONFIG_INVALID', `${none}, and not inside a cluster`);
  }
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  return {
    clusters: [{ name: 'pod', server, caFile: `${serviceAccount}/ca.crt`, skipTLSVerify: false }],
    users: [{ name: 'pod', authProvider: tokenFrom(`${serviceAccount}/token`) }],
    contexts: [{ name: 'pod', cluster: 'pod', user: 'pod', namespace: readIfThere(`${serviceAccount}/namespace`) }],
    currentContext: 'pod',
  };
}

function readIfThere(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
}
