/** The parts of a request target; only the parameters are decoded. */
export interface RequestTarget {
  /** Begins with `/`, or is `*`. Dot segments and escapes are unchanged. */
  readonly path: string;
  /** From the `?` on, or empty. */
  readonly search: string;
  readonly params: URLSearchParams;
}

/**
 * The target in origin form, as handlers see it: `http://host/path?query` becomes `/path?query`.
 * Result: undefined for what RFC 9112 §3.2 does not allow here (authority form, fragments, other schemes, no slash).
 */
export function originForm(target: string): string | undefined {
  if (target.includes('#')) return undefined;
  if (target.startsWith('/') || target === '*') return target;
  const absolute = /^https?:\/\/[^/?]+/i.exec(target);
  if (!absolute) return undefined;
  const rest = target.slice(absolute[0].length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Splits `req.url`. Never throws: an invalid target gets a path that no route has. */
export function requestTarget(req: { readonly url?: string | undefined }): RequestTarget {
  const target = originForm(req.url ?? '/') ?? '*';
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const search = mark < 0 ? '' : target.slice(mark);
  let params: URLSearchParams | undefined;
  return {
    path,
    search,
    get params() {
      return (params ??= new URLSearchParams(search));
    },
  };
}
