/** The CustomResourceDefinition of TrafficMonitor with a second version, to and from which `converters.ts` converts. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { KubeObject } from '../../src/api/meta.ts';
import { repository } from '../install/tools.ts';
import { first, second } from './converters.ts';

interface Version {
  name: string;
  schema: { openAPIV3Schema: { properties: { spec: { properties: Record<string, object> } } } };
}

/**
 * The definition with the given served versions and stored version, as in the releases of the table in
 * docs/guides/api-versions.md. `url` is where the API server reaches the conversion webhook; default: the operator's
 * Service.
 */
export function definition(served: readonly string[], stored: string, url?: string): KubeObject {
  const text = readFileSync(join(repository, 'crds/svc.dev_trafficmonitors.yaml'), 'utf8');
  const crd = parse(text) as KubeObject & { spec: { versions: [Version] } };
  const [shipped] = crd.spec.versions;
  const versions = served.map((name) => ({
    ...(name === first ? shipped : secondVersion(shipped)),
    served: true,
    storage: name === stored,
  }));
  // The operator sets `caBundle`. Until then conversions fail, and no data is lost.
  const service = { namespace: 'svc-system', name: 'svc-controller-webhook', path: '/convert', port: 443 };
  const clientConfig = url === undefined ? { service } : { url: `${url}/convert` };
  const webhook = { conversionReviewVersions: ['v1'], clientConfig };
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
