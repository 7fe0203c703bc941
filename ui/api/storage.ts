/**
 * The browser's storage for this page. If the browser refuses it (by a policy, or for a full disk), the page works but
 * remembers nothing.
 */
export type StorageName = 'sessionStorage' | 'localStorage';

/** The stored text; undefined if there is none or the browser refuses. */
export function readStored(name: StorageName, key: string): string | undefined {
  try {
    return globalThis[name].getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

export function store(name: StorageName, key: string, text: string): void {
  try {
    globalThis[name].setItem(key, text);
  } catch {
    // The page works without the stored text.
  }
}
