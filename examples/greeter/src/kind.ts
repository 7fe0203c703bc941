import { resourceRef, type KubeObject } from 'svc-operator/runtime';
import {
  conditions,
  list,
  object,
  observedGeneration,
  optional,
  text,
  type KindDefinition,
  type Static,
} from 'svc-operator/schema';

/** What users write. Every string and list has a bound, every member a description: `kubectl explain` shows it. */
const spec = object('What is said, and to whom.', {
  greeting: text('What is said.', { minLength: 1, maxLength: 64 }),
  audiences: list(
    'Who is greeted: one ConfigMap for each.',
    text('A name, as Kubernetes writes names.', { maxLength: 32, pattern: '^[a-z]([-a-z0-9]*[a-z0-9])?$' }),
    { maxItems: 32, type: 'set' },
  ),
});

/** What the controller writes. */
const status = object('What the controller has done.', {
  observedGeneration: optional(observedGeneration),
  conditions: optional(conditions),
});

export interface Greeter extends KubeObject {
  spec: Static<typeof spec>;
  status?: Static<typeof status>;
}

/** Where the kind lives in the API. */
export const greeters = resourceRef({
  group: 'example.dev',
  version: 'v1',
  kind: 'Greeter',
  plural: 'greeters',
  namespaced: true,
});

/** All that its CustomResourceDefinition is made of: `npm run generate` writes it to `manifests/crd.json`. */
export const greeterKind: KindDefinition = {
  resource: greeters,
  listKind: 'GreeterList',
  singular: 'greeter',
  shortNames: [],
  categories: [],
  product: 'greeter-operator',
  description: 'A Greeter greets each of its audiences.',
  spec,
  status,
  columns: [
    { name: 'Greeting', type: 'string', path: '.spec.greeting' },
    { name: 'Ready', type: 'string', condition: 'Ready' },
  ],
};
