import {
  resourceRef,
  type KubeObject,
  type ObjectMeta,
  type OwnerReference,
  type ResourceRef,
} from '../../api/meta.ts';

/**
 * An object of any kind, by default a ConfigMap `one` in namespace `shop`. State only what differs; `metadata` is
 * merged.
 * `anObject({ kind: 'Widget', apiVersion: 'example.dev/v1', spec: { size: 3 } })`
 */
export function anObject(
  over: Partial<Omit<KubeObject, 'metadata'>> & { metadata?: ObjectMeta; [member: string]: unknown } = {},
): KubeObject {
  const { metadata, ...rest } = over;
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    ...rest,
    metadata: { name: 'one', namespace: 'shop', ...metadata },
  };
}

/** A ConfigMap. */
export function aConfigMap(data: Record<string, string> = {}, metadata: ObjectMeta = {}): KubeObject {
  return anObject({ data, metadata });
}

/** A Deployment of one container, with labels that match its selector. */
export function aDeployment(over: { image?: string; replicas?: number } = {}, metadata: ObjectMeta = {}): KubeObject {
  const labels = { app: metadata.name ?? 'one' };
  const containers = [{ name: 'main', image: over.image ?? 'main:1' }];
  return anObject({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { labels, ...metadata },
    spec: {
      replicas: over.replicas ?? 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  });
}

/** The owner reference that a child of `owner` carries; `owner` is an object as the server returned it. */
export function anOwnerReference(owner: KubeObject, over: Partial<OwnerReference> = {}): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name ?? '', uid: metadata.uid ?? '', controller: true, ...over };
}

/** A namespaced resource of group `example.dev/v1`, for kinds that exist in a test only. */
export function aResource(kind: string, over: Partial<Omit<ResourceRef, 'apiVersion'>> = {}): ResourceRef {
  const plural = `${kind.toLowerCase()}s`;
  return resourceRef({ group: 'example.dev', version: 'v1', kind, plural, namespaced: true, ...over });
}
