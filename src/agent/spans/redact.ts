import type { AnyValue } from '../otlp/model.ts';

/** Names of query parameters whose values are never kept. Compared without case. */
const sensitiveParams = new Set([
  'access_token',
  'api_key',
  'apikey',
  'auth',
  'authorization',
  'awsaccesskeyid',
  'code',
  'key',
  'password',
  'passwd',
  'pwd',
  'secret',
  'session',
  'sig',
  'signature',
  'token',
  'x-amz-credential',
  'x-amz-security-token',
  'x-amz-signature',
  'x-goog-signature',
]);

/** Attributes that are dropped whole: who called, and the texts of database queries. */
const dropped = new Set([
  'client.address',
  'client.port',
  'network.peer.address',
  'network.peer.port',
  'db.query.text',
  'db.statement',
]);
const urls = new Set(['url.full', 'url.query', 'url.path', 'http.url', 'http.target']);

/** An attribute as it may be kept, or undefined where it may not. Headers are dropped: they carry credentials. */
export function redactAttribute(key: string, value: AnyValue): AnyValue | undefined {
  if (dropped.has(key) || key.startsWith('http.request.header.') || key.startsWith('http.response.header.')) {
    return undefined;
  }
  return urls.has(key) && typeof value === 'string' ? redactUrl(value, key === 'url.query') : value;
}

/** A URL without its user part and with the values of sensitive query parameters replaced by `REDACTED`. */
export function redactUrl(url: string, queryOnly = false): string {
  const at = queryOnly ? 0 : url.indexOf('?') + 1;
  const head = url.slice(0, at).replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@?#]*@/i, '$1');
  if (!queryOnly && at === 0) return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@?#]*@/i, '$1');
  const query = url
    .slice(at)
    .split('&')
    .map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 0) return pair;
      return sensitiveParams.has(decoded(pair.slice(0, equals))) ? `${pair.slice(0, equals)}=REDACTED` : pair;
    })
    .join('&');
  return head + query;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name).toLowerCase();
  } catch {
    return name.toLowerCase();
  }
}
