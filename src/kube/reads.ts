import type { KubeObject, ResourceRef } from '../api/meta.ts';
import type { KubeClient, KubeList, ListOptions, ObjectName, ReadOptions, TypedObject } from './client.ts';
import { isGone, isNotFound } from './errors.ts';

/** The object, or undefined when it does not exist. */
export async function getIfExists<T extends TypedObject = KubeObject>(
  client: KubeClient,
  resource: ResourceRef,
  name: ObjectName,
  options?: ReadOptions,
): Promise<T | undefined> {
  try {
    return await client.get<T>(resource, name, options);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/**
 * Reads the whole list in pages of `pageSize` objects. When a continue token expires, the list is read once more in one
 * piece, so the result is always one consistent snapshot.
 */
export async function listAll<T extends TypedObject = KubeObject>(
  client: KubeClient,
  resource: ResourceRef,
  options: Omit<ListOptions, 'continue' | 'limit'> = {},
  pageSize = 500,
): Promise<KubeList<T>> {
  const items: T[] = [];
  let page = await client.list<T>(resource, { ...options, limit: pageSize });
  items.push(...page.items);
  while (page.continue) {
    try {
      // A continue token carries its own version; the server refuses another version together with it.
      page = await client.list<T>(resource, {
        ...options,
        resourceVersion: undefined,
        resourceVersionMatch: undefined,
        limit: pageSize,
        continue: page.continue,
      });
    } catch (error) {
      if (!isGone(error)) throw error;
      return client.list<T>(resource, { ...options, limit: undefined });
    }
    for (const item of page.items) items.push(item);
  }
  return { items, resourceVersion: page.resourceVersion };
}
