/** Changes a count of a map. A count of zero is removed, so that the map holds only positive counts. */
export function changeCount(counts: Map<string, number>, key: string, change: number): void {
  const now = (counts.get(key) ?? 0) + change;
  if (now > 0) counts.set(key, now);
  else counts.delete(key);
}

/** Appends to a list in a map. The list is created for its first item. */
export function appendTo<K, T>(lists: Map<K, T[]>, key: K, item: T): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}
