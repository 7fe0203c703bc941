import type { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { percentDecoded } from '../../../base/text/texts.ts';
import type { UserInfo } from '../../../kube/reviews.ts';
import { isIssuedBy } from '../../../net/verified-clients.ts';
import type { AuthenticationConfig } from './client-ca.ts';

/**
 * Identifies the caller by certificate and headers: the front proxy names the user that it forwards for; any other
 * certificate identifies its own subject. Undefined where neither applies. Identity headers from anyone but the front
 * proxy are ignored.
 */
export function userByCertificate(
  headers: IncomingMessage['headersDistinct'],
  chain: readonly X509Certificate[],
  config: AuthenticationConfig,
  now: number,
): UserInfo | undefined {
  const [leaf] = chain;
  if (!leaf) return undefined;
  const { commonName, organizations } = subjectOf(leaf);
  const { allowedNames } = config;
  const nameAllowed = allowedNames.length === 0 || (commonName !== undefined && allowedNames.includes(commonName));
  if (nameAllowed && isIssuedBy(chain, config.frontProxyCas, now)) {
    const user = userOfHeaders(headers, config);
    if (user) return user;
  }
  if (commonName === undefined || !isIssuedBy(chain, config.clientCas, now)) return undefined;
  return { username: commonName, groups: [...organizations, 'system:authenticated'] };
}

/** The anonymous user. */
export const anonymous: UserInfo = { username: 'system:anonymous', groups: ['system:unauthenticated'] };

function userOfHeaders(
  headers: IncomingMessage['headersDistinct'],
  config: AuthenticationConfig,
): UserInfo | undefined {
  const all = (names: readonly string[]): string[] => names.flatMap((name) => headers[name] ?? []).map(asUtf8);
  const first = (names: readonly string[]): string | undefined => all(names).find((value) => value !== '');
  const username = first(config.usernameHeaders);
  if (username === undefined) return undefined;
  const uid = first(config.uidHeaders);
  const groups = withAuthenticated(username, all(config.groupHeaders));
  const extra: Record<string, string[]> = {};
  for (const name of Object.keys(headers)) {
    const prefix = config.extraHeaderPrefixes.find((p) => name.startsWith(p));
    if (prefix === undefined) continue;
    const key = percentDecoded(name.slice(prefix.length)).toLowerCase();
    extra[key] = [...(extra[key] ?? []), ...all([name])];
  }
  return { username, groups, extra, ...(uid === undefined ? {} : { uid }) };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The value of a header that the API server wrote in UTF-8. Node reads its bytes as latin1. */
function asUtf8(value: string): string {
  try {
    return utf8.decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}

/**
 * Every user but the anonymous one is in `system:authenticated`. The front proxy omits the group for its own requests:
 * its aggregator fetches OpenAPI as a user without groups.
 */
function withAuthenticated(username: string, groups: string[]): string[] {
  const known = groups.includes('system:authenticated') || groups.includes('system:unauthenticated');
  return known || username === anonymous.username ? groups : [...groups, 'system:authenticated'];
}

/** The common name and the organizations of a certificate's subject. */
function subjectOf(certificate: X509Certificate): { commonName: string | undefined; organizations: string[] } {
  const { subject } = certificate.toLegacyObject() as { subject?: Record<string, string | string[]> };
  const all = (key: string): string[] => [subject?.[key] ?? []].flat();
  return { commonName: all('CN')[0], organizations: all('O') };
}
