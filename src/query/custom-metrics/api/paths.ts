import { describedResource, type DescribedResource } from '../../../api/described-resources.ts';

export const customGroup = 'custom.metrics.k8s.io';
export const externalGroup = 'external.metrics.k8s.io';
export type CustomVersion = 'v1beta1' | 'v1beta2';
/** The newest version is last, and is preferred. */
export const customVersions: readonly CustomVersion[] = ['v1beta1', 'v1beta2'];

/** The attributes for the authorizer, as the API server would set them. */
export interface ResourceAttributes {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly verb: 'get' | 'list';
}

interface ObjectPath {
  readonly version: CustomVersion;
  readonly namespace: string | undefined;
  /** `*` for all. */
  readonly name: string;
  readonly metric: string;
  readonly attributes: ResourceAttributes;
}

/** A path that requests metric values. `elsewhere`: for objects of a kind that captured series have no label for. */
export type ValuePath =
  | ({ readonly kind: 'custom'; readonly resource: DescribedResource } & ObjectPath)
  | ({ readonly kind: 'elsewhere' } & ObjectPath)
  | {
      readonly kind: 'external';
      readonly namespace: string;
      readonly metric: string;
      readonly attributes: ResourceAttributes;
    };

/**
 * Reads a path below `/apis`; undefined where it requests no values. Names are percent-decoded.
 * Errors: URIError for a broken escape.
 */
export function parseValuePath(path: string): ValuePath | undefined {
  const [empty, apis, group, version, ...rest] = path.split('/').map(decodeURIComponent);
  if (empty !== '' || apis !== 'apis' || rest.includes('')) return undefined;
  if (group === customGroup && customVersions.includes(version as CustomVersion)) {
    return customPath(version as CustomVersion, rest);
  }
  if (group === externalGroup && version === 'v1beta1') return externalPath(rest);
  return undefined;
}

function customPath(version: CustomVersion, parts: readonly string[]): ValuePath | undefined {
  const at = { group: customGroup, version };
  if (parts[0] === 'namespaces' && parts.length === 4 && parts[2] === 'metrics') {
    const [, name, , metric] = parts as [string, string, string, string];
    const attributes = { ...at, resource: 'metrics', name: metric, namespace: name, verb: 'get' } as const;
    const resource = describedResource('namespaces')!;
    return { kind: 'custom', version, resource, namespace: undefined, name, metric, attributes };
  }
  const isWithin = parts[0] === 'namespaces' && parts.length === 5;
  if (!isWithin && parts.length !== 3) return undefined;
  const [plural, name, metric] = parts.slice(-3) as [string, string, string];
  const namespace = isWithin ? parts[1] : undefined;
  const within = namespace === undefined ? {} : { namespace };
  const attributes = { ...at, resource: plural, subresource: metric, name, ...within, verb: 'get' } as const;
  const path = { version, namespace, name, metric, attributes };
  const resource = describedResource(plural);
  if (!resource) return pluralName.test(plural) ? { kind: 'elsewhere', ...path } : undefined;
  return resource.ref.namespaced === isWithin ? { kind: 'custom', resource, ...path } : undefined;
}

/** How resources are written in paths: in plural, with their group. */
const pluralName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

function externalPath(parts: readonly string[]): ValuePath | undefined {
  if (parts[0] !== 'namespaces' || parts.length !== 3) return undefined;
  const [, namespace, metric] = parts as [string, string, string];
  const at = { group: externalGroup, version: 'v1beta1' };
  return {
    kind: 'external',
    namespace,
    metric,
    attributes: { ...at, resource: metric, namespace, verb: 'list' },
  };
}
