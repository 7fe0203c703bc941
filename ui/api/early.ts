/**
 * One request that is sent before the page's own code is loaded: `ui/early.ts` sends it from the document's head, and
 * the first equal request of the page takes its answer over.
 */

import { readStored } from './storage.ts';

/** Where this browser tab keeps its bearer token. */
export const tokenKey = 'svc-token';

export interface EarlyQuestion {
  /** Relative to the page's folder, with its parameters. */
  readonly path: string;
  /** The token that the request carries; '' for none. */
  readonly token: string;
  readonly response: Promise<Response>;
  readonly cancel: AbortController;
}

/** A global, because the two scripts share no module. */
const shared = globalThis as { svcEarlyQuestion?: EarlyQuestion | undefined };

/** The URL of an API request, relative to the page's folder. */
export function questionOf(path: string, params: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(params).toString();
  return `api/v1/${path}${query && `?${query}`}`;
}

export const authorization = (token: string): Record<string, string> =>
  token ? { authorization: `Bearer ${token}` } : {};

export function askEarly(path: string): void {
  const token = readStored('sessionStorage', tokenKey) ?? '';
  const cancel = new AbortController();
  const response = fetch(path, { headers: authorization(token), signal: cancel.signal });
  // The caller that takes the request over handles its failure.
  response.catch(() => {});
  shared.svcEarlyQuestion = { path, token, response, cancel };
}

/** The early request, if it has this path and this token. It is returned only once. */
export function takeEarly(path: string, token: string): EarlyQuestion | undefined {
  const early = shared.svcEarlyQuestion;
  if (early === undefined || early.path !== path || early.token !== token) return undefined;
  shared.svcEarlyQuestion = undefined;
  return early;
}
