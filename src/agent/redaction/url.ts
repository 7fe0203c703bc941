/** A URL without its user part and with the values of the query parameters that `isSensitive` names as `REDACTED`. */
export function redactUrl(url: string, isSensitive: (name: string) => boolean, queryOnly = false): string {
  const at = queryOnly ? 0 : url.indexOf('?') + 1;
  if (!queryOnly && at === 0) return withoutUser(url);
  const query = url
    .slice(at)
    .split('&')
    .map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 0) return pair;
      return isSensitive(decoded(pair.slice(0, equals))) ? `${pair.slice(0, equals)}=REDACTED` : pair;
    })
    .join('&');
  return withoutUser(url.slice(0, at)) + query;
}

/** Rewrites the path of a URL, or of a text that is a path, and leaves its origin, query and fragment alone. */
export function rewritePath(url: string, rewrite: (path: string) => string): string {
  const [, origin, path, rest] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)?([^?#]*)(.*)$/is.exec(url)!;
  return path ? `${origin ?? ''}${rewrite(path)}${rest ?? ''}` : url;
}

function withoutUser(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@?#]*@/i, '$1');
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
