import type { Attribute } from '../otlp/model.ts';
import { type Enriched, enrichResource } from './enrich.ts';
import { type EnrichedFlow, enrichFlow, type FlowSide } from './enrich-flow.ts';
import { instanceKey, lastText } from './instance-id.ts';
import type { PodIdentity } from './pod-identity.ts';
import { PodIndex } from './pod-index.ts';
import { ResourceProofs } from './resource-proofs.ts';

interface Kept<T> {
  readonly version: number;
  readonly enriched: T;
}

interface KeptResource extends Kept<Enriched> {
  /** The `service.instance.id` of the Resource itself, and the one that identified the sender. */
  readonly own: string;
  readonly instance: string;
}

/** The sender of spans. */
export interface SpanSender extends Enriched {
  /**
   * The pod that the spans name, while nothing in the Resource contradicts it and no metric point has proven it. `pod`
   * is null then.
   */
  readonly unshown: PodIdentity | null;
}

/**
 * Finds the sender of each Resource and caches the result: the same Resource comes with every export.
 * Guarantees: returns the same object for the same list of attributes as long as the answer is the same.
 */
export class Identity {
  readonly pods: PodIndex;
  readonly #resources = new WeakMap<readonly Attribute[], KeptResource>();
  #flows = new WeakMap<readonly Attribute[], Kept<EnrichedFlow>>();
  #farNodes: ReadonlySet<FlowSide> = new Set();
  readonly #proofs = new ResourceProofs();

  constructor(pods = new PodIndex()) {
    this.pods = pods;
  }

  /** The sender of a point: its own `service.instance.id` takes precedence over that of its Resource. */
  point(resource: readonly Attribute[], point: readonly Attribute[]): Enriched {
    return this.#resource(resource, lastText(point, instanceKey));
  }

  /**
   * The sender of spans, which carry only a Resource. The Resource is trusted if both are true: it has the uid of the
   * pod that it names (other pods do not know that uid), and points have proven that only this pod sends under it.
   * Otherwise the sender is unknown; `unshown` is the pod that points may still prove.
   */
  spans(resource: readonly Attribute[]): SpanSender {
    const named = this.#resource(resource, '');
    const { pod } = named;
    if (!pod) return { ...named, unshown: null };
    const uid = lastText(resource, 'k8s.pod.uid');
    const refuted = uid !== pod.uid || this.#proofs.isRefuted(resource);
    if (!refuted && this.#proofs.isShown(resource, pod)) return { ...named, unshown: null };
    const unknown = enrichResource(resource, this.pods, '');
    return { ...unknown, contradicts: refuted && uid !== '', unshown: refuted ? null : pod };
  }

  /** Records what a point has proven about its Resource. Units: monotonic ms. */
  notePoint(resource: readonly Attribute[], point: readonly Attribute[], sender: Enriched, nowMs: number): void {
    if (sender.forged) this.#proofs.refute(resource, nowMs);
    else if (sender.pod) this.#proofs.show(resource, sender.pod, point, nowMs);
  }

  /** Sets the sides of a flow on which the node of an end elsewhere is kept. */
  keepFarNodes(sides: ReadonlySet<FlowSide>): void {
    this.#farNodes = sides;
    this.#flows = new WeakMap();
  }

  flow(attributes: readonly Attribute[]): EnrichedFlow {
    const { version } = this.pods;
    const known = this.#flows.get(attributes);
    if (known?.version === version) return known.enriched;
    const fresh = enrichFlow(attributes, this.pods, this.#farNodes);
    const enriched = known && isSameFlow(known.enriched, fresh) ? known.enriched : fresh;
    this.#flows.set(attributes, { version, enriched });
    return enriched;
  }

  pod(namespace: string, name: string): PodIdentity | undefined {
    return this.pods.named(namespace, name);
  }

  #resource(attributes: readonly Attribute[], ofPoint: string): Enriched {
    const { version } = this.pods;
    const known = this.#resources.get(attributes);
    const own = known?.own ?? lastText(attributes, instanceKey);
    const instance = ofPoint || own;
    if (known?.version === version && known.instance === instance) return known.enriched;
    const fresh = enrichResource(attributes, this.pods, instance);
    const enriched = known && isSame(known.enriched, fresh) ? known.enriched : fresh;
    this.#resources.set(attributes, { version, own, instance, enriched });
    return enriched;
  }
}

function isSame(a: Enriched, b: Enriched): boolean {
  const facts = ['pod', 'container', 'namesPod', 'contradicts', 'forged'] as const;
  return facts.every((fact) => a[fact] === b[fact]) && sameList(a.attributes, b.attributes);
}

function isSameFlow(a: EnrichedFlow, b: EnrichedFlow): boolean {
  return a.unknown === b.unknown && a.local.join() === b.local.join() && sameList(a.attributes, b.attributes);
}

function sameList(a: readonly Attribute[], b: readonly Attribute[]): boolean {
  return a.length === b.length && a.every(({ key, value }, i) => b[i]!.key === key && b[i]!.value === value);
}
