/**
 * A second version of TrafficMonitor, only for tests. It has `state` instead of `suspend`, and a new field `contact`,
 * which v1alpha1 lacks: in v1alpha1 the converters keep it in an annotation.
 */
import type { KubeObject } from '../../src/api/meta.ts';
import type { Converters } from '../../src/net/webhook/conversion.ts';

export const [first, second] = ['v1alpha1', 'v1beta1'] as const;
const contactAnnotation = 'svc.dev/v1beta1-contact';

type Spec = Readonly<Record<string, unknown>>;
const specOf = (object: KubeObject): Spec => object['spec'] as Spec;

function withAnnotation(object: KubeObject, value: unknown): KubeObject['metadata'] {
  const { annotations = {}, ...metadata } = object.metadata;
  const { [contactAnnotation]: _, ...others } = annotations;
  const kept = typeof value === 'string' ? { ...others, [contactAnnotation]: value } : others;
  return Object.keys(kept).length > 0 ? { ...metadata, annotations: kept } : metadata;
}

function toSecond(object: KubeObject): KubeObject {
  const { suspend, ...spec } = specOf(object);
  const contact = object.metadata.annotations?.[contactAnnotation];
  const state = suspend === undefined ? {} : { state: suspend === true ? 'Suspended' : 'Active' };
  const added = { ...state, ...(contact === undefined ? {} : { contact }) };
  return { ...object, metadata: withAnnotation(object, undefined), spec: { ...spec, ...added } };
}

function toFirst(object: KubeObject): KubeObject {
  const { state, contact, ...spec } = specOf(object);
  const suspend = state === undefined ? {} : { suspend: state === 'Suspended' };
  return { ...object, metadata: withAnnotation(object, contact), spec: { ...spec, ...suspend } };
}

/** The converters of the operator in a test build. */
export const converters: Converters = {
  'svc.dev/TrafficMonitor': { [first]: { [second]: toSecond }, [second]: { [first]: toFirst } },
};
