/**
 * Which queries the user has run in this tab. A query from a link does not run by itself, because it would run with
 * the token of the user who follows the link, however expensive it is. A query that was run in this tab before does run
 * by itself, so that a reloaded page shows it again.
 */
import { readStored, store, type StorageName } from '../api/storage.ts';

const ranKey = 'svc-ran';
const historyKey = 'svc-history';
const kept = 50;

function read(storage: StorageName, key: string): string[] {
  try {
    const list = JSON.parse(readStored(storage, key) ?? '[]') as unknown;
    return Array.isArray(list) ? list.filter((text) => typeof text === 'string').slice(0, kept) : [];
  } catch {
    return [];
  }
}

const remembered = (list: readonly string[], query: string): string[] =>
  [query, ...list.filter((text) => text !== query)].slice(0, kept);

export const ranHere = (query: string): boolean => read('sessionStorage', ranKey).includes(query.trim());

/** Remembers that the user has run this query, or has followed a link of the page itself that shows the query. */
export function markRan(query: string): void {
  store('sessionStorage', ranKey, JSON.stringify(remembered(read('sessionStorage', ranKey), query.trim())));
}

/** Queries that were run in this browser, the newest first. */
export const queryHistory = (): string[] => read('localStorage', historyKey);

export function addToHistory(query: string): void {
  store('localStorage', historyKey, JSON.stringify(remembered(queryHistory(), query.trim())));
}
