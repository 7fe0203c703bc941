import { createRequire } from 'node:module';
import type * as Undici from 'undici';
import type { Dispatcher } from 'undici';

// Only the used parts of undici: its index also loads fetch, mocks and caches, 15 MB in every process.
const require = createRequire(import.meta.url);
const requestOn = require('undici/lib/api/api-request.js') as (
  this: Dispatcher,
  options: Dispatcher.RequestOptions,
) => Promise<Dispatcher.ResponseData<null>>;

/** Opens connections, and keeps them open for later requests to the same origin. */
export const Agent = require('undici/lib/dispatcher/agent.js') as typeof Undici.Agent;

/** Loads the class that connects through an HTTP proxy. Called only where there is a proxy. */
export function loadProxyAgent(): typeof Undici.ProxyAgent {
  return require('undici/lib/dispatcher/proxy-agent.js') as typeof Undici.ProxyAgent;
}

/** `fetch` on connections of ours. */
export type FetchOn = (
  url: string,
  init: Omit<RequestInit, 'dispatcher'> & { dispatcher: Dispatcher },
) => Promise<Response>;

/** Loads `fetch` of the same undici as `Agent`: that of Node.js takes no connections of another version. */
export function loadFetch(): FetchOn {
  return (require('undici/lib/web/fetch/index.js') as { fetch: FetchOn }).fetch;
}

/** Opens a request whose answer is read as a stream. */
export function requestStream(
  dispatcher: Dispatcher,
  options: Dispatcher.RequestOptions,
): Promise<Dispatcher.ResponseData<null>> {
  return requestOn.call(dispatcher, options);
}
