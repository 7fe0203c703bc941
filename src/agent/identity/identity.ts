import type { Attribute } from '../otlp/model.ts';
import { type Enriched, enrichFlow, enrichResource } from './enrich.ts';
import type { PodIdentity } from './pod-identity.ts';
import { PodIndex } from './pod-index.ts';

/** Enrichment with its results kept: a Resource comes again with every export. */
export class Identity {
  readonly pods: PodIndex;
  readonly #resources = new WeakMap<readonly Attribute[], { version: number; enriched: Enriched }>();

  constructor(pods = new PodIndex()) {
    this.pods = pods;
  }

  /** As `enrichResource`; the very same object for the same list as long as the answer is the same. */
  resource(attributes: readonly Attribute[]): Enriched {
    const { version } = this.pods;
    const known = this.#resources.get(attributes);
    if (known?.version === version) return known.enriched;
    const fresh = enrichResource(attributes, this.pods);
    const enriched = known && isSame(known.enriched, fresh) ? known.enriched : fresh;
    this.#resources.set(attributes, { version, enriched });
    return enriched;
  }

  flow(attributes: readonly Attribute[]): Enriched {
    return enrichFlow(attributes, this.pods);
  }

  pod(namespace: string, name: string): PodIdentity | undefined {
    return this.pods.named(namespace, name);
  }
}

function isSame(a: Enriched, b: Enriched): boolean {
  if (a.state !== b.state || a.pod !== b.pod || a.attributes.length !== b.attributes.length) return false;
  return a.attributes.every(({ key, value }, i) => b.attributes[i]!.key === key && b.attributes[i]!.value === value);
}
