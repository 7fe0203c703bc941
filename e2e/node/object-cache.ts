import type { Api } from '../cluster/api.ts';
import type { DataObject } from './types.ts';
import { watch } from './watch.ts';

export type DataKind = 'configmaps' | 'secrets';

/**
 * Config maps and secrets that pods of this node use, each with its own watch, because the API server lets a node read
 * no other objects.
 * Guarantees: when an object appears, changes or goes, `changed` is called for every pod that uses it.
 */
export interface ObjectCache {
  /** The object, or undefined if there is none. Waits for the first answer. Errors: no answer within 3 s. */
  get(kind: DataKind, namespace: string, name: string, podUid: string): Promise<DataObject | undefined>;
  /** Forgets a pod; objects that no pod uses any more are no longer watched. */
  release(podUid: string): void;
  close(): void;
}

interface Entry {
  users: Set<string>;
  object: DataObject | undefined;
  first: Promise<void>;
  stop: AbortController;
}

export function createObjectCache(api: Api, changed: (podUid: string) => void): ObjectCache {
  const entries = new Map<string, Entry>();
  const open = (kind: DataKind, namespace: string, name: string): Entry => {
    const stop = new AbortController();
    const first = Promise.withResolvers<void>();
    const entry: Entry = { users: new Set(), object: undefined, first: first.promise, stop };
    const put = (object: DataObject | undefined): void => {
      const before = entry.object?.metadata.resourceVersion;
      entry.object = object;
      first.resolve();
      if (before !== object?.metadata.resourceVersion) for (const user of entry.users) changed(user);
    };
    const path = `/api/v1/namespaces/${namespace}/${kind}`;
    const query = { fieldSelector: `metadata.name=${name}` };
    const handler = {
      replace: (items: DataObject[]) => put(items[0]),
      upsert: (item: DataObject) => put(item),
      remove: () => put(undefined),
    };
    void watch<DataObject>(api, path, query, handler, stop.signal);
    return entry;
  };
  const drop = (key: string, entry: Entry): void => {
    entry.stop.abort();
    entries.delete(key);
  };
  return {
    async get(kind, namespace, name, podUid) {
      const key = `${kind}/${namespace}/${name}`;
      let entry = entries.get(key);
      if (!entry) entries.set(key, (entry = open(kind, namespace, name)));
      entry.users.add(podUid);
      await withDeadline(entry.first, `${key} could not be read yet`);
      return entry.object;
    },
    release(podUid) {
      for (const [key, entry] of entries) if (entry.users.delete(podUid) && entry.users.size === 0) drop(key, entry);
    },
    close() {
      for (const [key, entry] of entries) drop(key, entry);
    },
  };
}

/** The Node authorizer learns of a new pod a moment late; the watch retries, but the caller waits 3 s at most. */
async function withDeadline(first: Promise<void>, message: string): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(message)), 3000);
  try {
    await Promise.race([first, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
