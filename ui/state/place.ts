/** The current place in the page: a view and its parameters, all of it in the URL. Pure. */

export const views = ['services', 'service', 'map', 'live', 'graph', 'nodes', 'objects'] as const;
export type View = (typeof views)[number];

export interface Place {
  readonly view: View;
  readonly params: URLSearchParams;
}

/**
 * The place of a URL. Only the last part of the path names the view, so that the page works below any prefix. If it
 * names no view, the page shows the services, or the view `graph` if the URL contains a query.
 */
export function placeOf({ pathname, search }: Pick<URL, 'pathname' | 'search'>): Place {
  const params = new URLSearchParams(search);
  const last = pathname.slice(pathname.lastIndexOf('/') + 1);
  const view = views.find((name) => name === last);
  if (view !== undefined) return { view, params };
  return { view: params.has('g0.expr') ? 'graph' : 'services', params };
}

/** The URL of a place, relative to the page's folder. Empty parameters are left out. */
export function addressOf(
  view: View,
  params: Readonly<Record<string, string | undefined>> | URLSearchParams = {},
): string {
  const given = params instanceof URLSearchParams ? [...params] : Object.entries(params);
  const filled = given.filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '');
  const search = new URLSearchParams(filled).toString();
  return search === '' ? view : `${view}?${search}`;
}

/** `params` with some of them replaced; undefined and '' remove one. */
export function withParams(
  params: URLSearchParams,
  changes: Readonly<Record<string, string | undefined>>,
): URLSearchParams {
  const changed = new URLSearchParams(params);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') changed.delete(name);
    else changed.set(name, value);
  }
  return changed;
}
