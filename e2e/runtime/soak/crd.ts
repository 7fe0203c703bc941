import { resourceRef, type KubeObject } from '../../../src/api/meta.ts';

/** The kind of this soak test: a Part asks for `count` ConfigMaps that hold `value`. */
export const parts = resourceRef({
  group: 'soak.svc.dev',
  version: 'v1',
  kind: 'Part',
  plural: 'parts',
  namespaced: true,
});

export interface Part extends KubeObject {
  spec: { value: string; count: number };
  status?: { observedGeneration?: number; value?: string };
}

export const childLabel = 'soak.svc.dev/part';

/** The ConfigMaps that a Part asks for. */
export function childrenOf(part: Part): KubeObject[] {
  const { name = '', namespace = '' } = part.metadata;
  return Array.from({ length: part.spec.count }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `${name}-${i}`, namespace, labels: { [childLabel]: name } },
    data: { value: part.spec.value },
  }));
}

const integer = { type: 'integer', format: 'int64' };
const object = (properties: object): object => ({ type: 'object', properties });

export const crd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${parts.plural}.${parts.group}` },
  spec: {
    group: parts.group,
    scope: 'Namespaced',
    names: { kind: parts.kind, plural: parts.plural, singular: 'part', listKind: 'PartList' },
    versions: [
      {
        name: parts.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: object({
            spec: object({ value: { type: 'string' }, count: integer }),
            status: object({ observedGeneration: integer, value: { type: 'string' } }),
          }),
        },
      },
    ],
  },
} as unknown as KubeObject;
