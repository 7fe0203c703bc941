import { keyPart } from '../../base/text/labels.ts';
import type { Attribute } from '../otlp/model.ts';
import { attributesKey } from './attributes-key.ts';
import type { Stream, StreamSet } from './stream.ts';

/** Maximum number of metrics of one Resource that are found by identity; beyond it, some are looked up by text. */
const setsKept = 1_000;

/**
 * Streams by resource, scope, metric and attributes. If a point's attribute list is the same object as an earlier
 * point's, its stream is found by that identity, which is the common case for a decoder with a cache. For any other
 * point, the stream is found by the text of the attributes.
 */
export class StreamIndex {
  readonly #sets = new Map<string, StreamSet>();
  /**
   * Sets by the identity of a Resource's list of attributes, then by scope and metric, so that the text of all these
   * attributes need not be built again.
   */
  readonly #byResource = new WeakMap<readonly Attribute[], Map<string, StreamSet>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The streams of one metric of one resource and scope. The set is kept only while it holds a stream. */
  set(resource: readonly Attribute[], scope: string, metric: string): StreamSet {
    const short = `${keyPart(scope)}\x00${keyPart(metric)}`;
    const known = this.#byResource.get(resource)?.get(short);
    if (known && known.byText.size > 0) return known;
    const key = `${attributesKey(resource)}\x00${short}`;
    const set = this.#sets.get(key);
    if (!set) return { key, byList: new WeakMap(), byText: new Map() };
    let sets = this.#byResource.get(resource);
    if (!sets) this.#byResource.set(resource, (sets = new Map()));
    else if (sets.size >= setsKept) sets.clear();
    sets.set(short, set);
    return set;
  }

  find(set: StreamSet, attributes: readonly Attribute[]): Stream | undefined {
    const known = set.byList.get(attributes);
    if (known && !known.forgotten) return known;
    const stream = set.byText.get(attributesKey(attributes));
    if (stream) set.byList.set(attributes, stream);
    else if (known) set.byList.delete(attributes);
    return stream;
  }

  add(set: StreamSet, stream: Stream): void {
    this.#sets.set(set.key, set);
    set.byText.set(attributesKey(stream.point), stream);
    set.byList.set(stream.point, stream);
    this.#size++;
  }

  delete(stream: Stream): void {
    stream.forgotten = true;
    // The decoder may keep the list for hours.
    stream.set.byList.delete(stream.point);
    stream.set.byText.delete(attributesKey(stream.point));
    if (stream.set.byText.size === 0) this.#sets.delete(stream.set.key);
    this.#size--;
  }

  *[Symbol.iterator](): Generator<Stream> {
    for (const set of this.#sets.values()) yield* set.byText.values();
  }
}
