import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { isIP } from 'node:net';
import type { KubeObject } from '../../../api/meta.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorText } from '../../../base/errors.ts';
import { coreResources } from '../../../api/core-resources.ts';
import type { RestClient } from '../../../kube/index.ts';
import { names } from '../../../render/names.ts';
import { PluginError, UsageError } from '../errors.ts';
import type { CommonFlags } from '../flags.ts';
import { httpsServer } from './https-server.ts';
import { PodAgent, readyQueryPods } from './pod-agent.ts';
import type { QueryServer } from './query-server.ts';

export interface ConnectDeps {
  /** Returns the client of the API server; called only when it is needed. */
  readonly kube: () => Promise<RestClient>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * The connection to the query server that the flags ask for: `--server`, or a port-forward to a ready pod, which needs
 * no token because loopback connections inside the pod are exempt.
 * Errors: UsageError, PluginError.
 */
export async function connectQueryServer(flags: CommonFlags, deps: ConnectDeps): Promise<QueryServer> {
  return flags.server === undefined ? throughPod(flags, deps) : direct(flags, flags.server, deps);
}

async function direct(flags: CommonFlags, server: string, deps: ConnectDeps): Promise<QueryServer> {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url?.protocol !== 'https:')
    throw new UsageError(
      `--server ${JSON.stringify(server)}: an address such as https://svc-query.example:9095 is needed`,
    );
  // The URL is not repeated in the message: it may hold a password.
  if (url.username !== '' || url.password !== '') throw new UsageError('--server must not hold a user or a password');
  const insecure = flags.insecureSkipTlsVerify;
  const ca = insecure ? undefined : await authority(flags, deps);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return httpsServer({
    target: url.origin,
    tls: {
      host,
      port: url.port || 443,
      path: url.pathname.replace(/\/+$/, ''),
      ...(ca === undefined ? {} : { ca }),
      ...serverName(flags, host),
      rejectUnauthorized: !insecure,
    },
    agent: new Agent({ keepAlive: true }),
    // The kubeconfig's token is sent only to a server whose certificate was verified.
    token: flags.token ?? (insecure ? undefined : await ownToken(deps)),
    ...(flags.token === undefined && !insecure ? { renewToken: () => ownToken(deps, true) } : {}),
    operatorNamespace: flags.operatorNamespace,
    clock: deps.clock,
  });
}

async function throughPod(flags: CommonFlags, deps: ConnectDeps): Promise<QueryServer> {
  const kube = await deps.kube();
  const namespace = flags.operatorNamespace;
  const pods = await readyQueryPods(kube, namespace, deps.signal);
  const ca = flags.insecureSkipTlsVerify ? undefined : await authority(flags, deps);
  const host = `${names.query}.${namespace}.svc`;
  return httpsServer({
    target: `pod ${namespace}/${pods[0]}`,
    tls: {
      host,
      ...(ca === undefined ? {} : { ca }),
      servername: flags.tlsServerName ?? host,
      // Without permission to read the authority nothing is verified: the API server vouches for the pod.
      rejectUnauthorized: ca !== undefined,
    },
    agent: new PodAgent({ kube, namespace, pods, signal: deps.signal }),
    token: flags.token,
    operatorNamespace: namespace,
    clock: deps.clock,
  });
}

/** The server name for the handshake; none for an IP address, which is matched against the certificate's addresses. */
function serverName({ tlsServerName }: CommonFlags, host: string): { servername?: string } {
  if (tlsServerName !== undefined) return { servername: tlsServerName };
  return isIP(host) ? {} : { servername: host };
}

/**
 * The trusted authorities as PEM: those in the file of `--certificate-authority`, else those that the operator
 * publishes; undefined if neither exists, which stands for the machine's own list.
 */
async function authority(flags: CommonFlags, deps: ConnectDeps): Promise<string | undefined> {
  const file = flags.certificateAuthority;
  if (file === undefined) return publishedAuthority(deps, flags.operatorNamespace);
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new PluginError('ERR_CONFIG_INVALID', `--certificate-authority ${file}: ${errorText(cause)}`, { cause });
  }
}

/**
 * The bearer token of the kubeconfig's user, read again if the last one was refused. Without a kubeconfig there is none.
 */
async function ownToken({ kube, signal }: ConnectDeps, isRefused = false): Promise<string | undefined> {
  try {
    const client = await kube();
    if (isRefused) client.tokenRefused();
    return await client.bearerToken({ signal });
  } catch {
    return undefined;
  }
}

/**
 * The authorities that the operator publishes, as PEM; undefined without a cluster, an operator, or permission to read
 * them. The caller then trusts the machine's own list, or relies on the API server that forwards the port.
 */
async function publishedAuthority(
  { kube, signal }: { kube: () => Promise<RestClient>; signal: AbortSignal },
  namespace: string,
): Promise<string | undefined> {
  try {
    const client = await kube();
    const name = { namespace, name: names.caBundle };
    const found = await client.get<KubeObject>(coreResources.configMaps, name, { signal, deadlineMs: 5_000 });
    return (found['data'] as Record<string, string> | undefined)?.['ca.crt'];
  } catch {
    return undefined;
  }
}
