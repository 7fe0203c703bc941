import { setTimeout as delay } from 'node:timers/promises';
import { createInterface } from 'node:readline';
import type { Api } from '../cluster/api.ts';
import { ApiError } from '../cluster/api.ts';
import type { Meta } from './types.ts';

export interface WatchHandler<T> {
  /** The whole list, at the start and after every gap. */
  replace(items: T[]): void;
  upsert(item: T): void;
  remove(item: T): void;
  /** Called when an attempt to list or watch has failed; `watch` tries again by itself. */
  failed?(error: unknown): void;
}

/**
 * Lists, then watches until `signal` aborts. A watch that ends is followed by one from where it stopped.
 * Guarantees: after every gap that is too long to resume, `replace` gets the whole list.
 */
export async function watch<T extends { metadata: Meta }>(
  api: Api,
  path: string,
  query: Readonly<Record<string, string>>,
  handler: WatchHandler<T>,
  signal: AbortSignal,
): Promise<void> {
  let version: string | undefined;
  let failures = 0;
  while (!signal.aborted) {
    try {
      if (version === undefined) {
        const list = await api.request<{ metadata: { resourceVersion: string }; items?: T[] }>('GET', url(path, query));
        if (signal.aborted) return;
        version = list.metadata.resourceVersion;
        handler.replace(list.items ?? []);
        failures = 0;
      }
      version = await follow(api, path, query, handler, signal, version, () => (failures = 0));
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status === 410) version = undefined;
      handler.failed?.(error);
      await delay(Math.min(2000, 100 * 2 ** failures++), undefined, { signal }).catch(() => undefined);
    }
  }
}

interface Frame<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: T & { code?: number; message?: string };
}

async function follow<T extends { metadata: Meta }>(
  api: Api,
  path: string,
  query: Readonly<Record<string, string>>,
  handler: WatchHandler<T>,
  signal: AbortSignal,
  from: string,
  alive: () => void,
): Promise<string> {
  let version = from;
  const params = { ...query, watch: '1', allowWatchBookmarks: 'true', timeoutSeconds: '240', resourceVersion: from };
  const stream = await api.stream(url(path, params), signal);
  alive();
  const lines = createInterface({ input: stream, crlfDelay: Infinity });
  // readline does not handle errors of its input: without this, an aborted stream would end the process.
  stream.once('error', () => lines.close());
  for await (const line of lines) {
    if (signal.aborted) break;
    const frame = JSON.parse(line) as Frame<T>;
    if (frame.type === 'ERROR') throw new ApiError(frame.object.code ?? 500, '', frame.object.message ?? line);
    version = frame.object.metadata.resourceVersion ?? version;
    if (frame.type === 'DELETED') handler.remove(frame.object);
    else if (frame.type !== 'BOOKMARK') handler.upsert(frame.object);
  }
  if (stream.errored && !signal.aborted) throw stream.errored;
  return version;
}

const url = (path: string, query: Readonly<Record<string, string>>): string =>
  `${path}?${new URLSearchParams(query).toString()}`;
