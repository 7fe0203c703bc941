import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import type * as Undici from 'undici';
import type { Dispatcher } from 'undici';
import { errorText, OperatorError } from '../base/errors.ts';
import { Agent, loadProxyAgent } from '../base/wire/http-client.ts';

/** Options of a TLS connection, in the form of `tls.connect`. */
export interface TlsMembers {
  ca?: unknown;
  cert?: unknown;
  key?: unknown;
  pfx?: unknown;
  passphrase?: unknown;
  servername?: unknown;
  rejectUnauthorized?: unknown;
}

/**
 * Connections to one server, kept open for reuse; one per concurrent request.
 * Errors: ERR_CONFIG_INVALID for a proxy that is not HTTP and for certificates or keys that cannot be read.
 */
export function createPool(tls: TlsMembers, proxyUrl: string | undefined): Dispatcher {
  const { servername, rejectUnauthorized } = tls;
  const connect = {
    // One context for all connections: parsing the certificates costs more than a handshake.
    secureContext: secureContext(tls),
    ...(servername === undefined ? {} : { servername }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    timeout: 10_000,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  };
  // HTTP/1.1 only: with the HTTP/2 that undici would negotiate, one dead connection would end every watch and every
  // write.
  const pool = { connect, keepAliveTimeout: 30_000, pipelining: 1, allowH2: false } as Undici.Agent.Options;
  if (!proxyUrl) return new Agent(pool);
  if (!/^https?:/.test(proxyUrl)) {
    throw new OperatorError('ERR_CONFIG_INVALID', 'kubeconfig: proxy-url must be http or https');
  }
  const ProxyAgent = loadProxyAgent();
  return new ProxyAgent({ ...pool, uri: proxyUrl, requestTls: connect } as Undici.ProxyAgent.Options);
}

function secureContext(tls: TlsMembers): SecureContext {
  try {
    return createSecureContext(tls as SecureContextOptions);
  } catch (cause) {
    throw new OperatorError('ERR_CONFIG_INVALID', `kubeconfig: certificates: ${errorText(cause)}`, { cause });
  }
}
