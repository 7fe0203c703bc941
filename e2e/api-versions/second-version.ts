/**
 * A second version of TrafficMonitor, in tests alone: `state` instead of `suspend`, and `contact`, which v1alpha1 cannot
 * hold and keeps in an annotation.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { KubeObject } from '../../src/api/meta.ts';
import type { Converters } from '../../src/net/webhook/conversion.ts';
import { repository } from '../install/tools.ts';

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

/** What the operator of a test build converts. */
export const converters: Converters = {
  'svc.dev/TrafficMonitor': { [first]: { [second]: toSecond }, [second]: { [first]: toFirst } },
};

interface Version {
  name: string;
  schema: { openAPIV3Schema: { properties: { spec: { properties: Record<string, object> } } } };
}

/**
 * The definition as a release of the guide's table has it: which versions are served, and which of them is stored.
 * `url` is where the API server reaches the operator's webhooks.
 */
export function definition(served: readonly string[], stored: string, url: string): KubeObject {
  const text = readFileSync(join(repository, 'crds/svc.dev_trafficmonitors.yaml'), 'utf8');
  const crd = parse(text) as KubeObject & { spec: { versions: [Version] } };
  const [shipped] = crd.spec.versions;
  const versions = served.map((name) => ({
    ...(name === first ? shipped : secondVersion(shipped)),
    served: true,
    storage: name === stored,
  }));
  // Without the bundle, which the operator puts in: until then a conversion fails and nothing is lost.
  const webhook = { conversionReviewVersions: ['v1'], clientConfig: { url: `${url}/convert` } };
  return { ...crd, spec: { ...crd.spec, versions, conversion: { strategy: 'Webhook', webhook } } } as KubeObject;
}

function secondVersion(shipped: Version): Version {
  const copy = structuredClone(shipped);
  const { properties } = copy.schema.openAPIV3Schema.properties.spec;
  delete properties['suspend'];
  properties['state'] = { type: 'string', enum: ['Active', 'Suspended'] };
  properties['contact'] = { type: 'string' };
  return { ...copy, name: second };
}
