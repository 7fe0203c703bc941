import { OperatorError } from '../../base/errors.ts';
import type { AttributeCache } from './protobuf/attribute-cache.ts';
import { BoundsCache } from './protobuf/bounds-cache.ts';

/**
 * Limits on one request beyond its size in bytes: a small body must not become a large structure.
 * A request that exceeds one is malformed as a whole (HTTP 400), as it can only come from a broken or hostile sender.
 * Exceptions are what a pod decides about itself, since the request has data of other pods: attributes of Resources and
 * spans beyond the limits are skipped. Names and status messages of spans have no limit here: what cuts them must
 * redact them, too.
 */
export const decodeLimits = {
  /** Attributes of one resource, scope, point or span. OpenTelemetry SDKs keep at most 128. */
  attributes: 1_024,
  /** Nesting of array and map values. */
  valueDepth: 16,
  /** Characters of an attribute's key, or of a name other than a span's. */
  nameBytes: 1_024,
  /** Buckets of one histogram; the instrument's exponential ones have at most 160. */
  buckets: 4_096,
  /** Points or spans of one request. */
  items: 200_000,
  /** Exemplars, or quantiles, of one point. SDKs keep at most one exemplar for each bucket. */
  perPoint: 256,
  /** Resources, scopes and metrics of one request, all together. */
  containers: 20_000,
  /**
   * Attributes, nested values, exemplars and quantiles of one request, all together. Each has two bytes in the request,
   * and about 64 in memory. Those of the instrument have about 32 in a request, which has at most 32 MiB.
   */
  values: 1_000_000,
} as const;

/**
 * The position of a decoder, so that an error can name the field at no cost in the normal case. `#steps` has the name
 * and the index of each message that the decoder is inside of; the index is -1 for a message that is not repeated.
 */
export class Cursor {
  field = '';
  items = 0;
  containers = 0;
  values = 0;
  /** Attributes of Resources and spans that were skipped. */
  skipped = 0;
  /** Attribute lists seen before, if the caller keeps them. */
  readonly cache: AttributeCache | null;
  readonly bounds: BoundsCache;
  readonly #steps: (string | number)[] = [];

  constructor(cache: AttributeCache | null = null) {
    this.cache = cache;
    this.bounds = cache?.bounds ?? new BoundsCache();
  }

  enter(name: string, index = -1): void {
    this.#steps.push(name, index);
    this.field = '';
  }

  leave(): void {
    this.#steps.length -= 2;
    this.field = '';
  }

  /** Counts a point or span against the request's cap. */
  countItem(): void {
    if (++this.items > decodeLimits.items) throw this.error(`more than ${decodeLimits.items} points or spans`);
  }

  countContainer(): void {
    if (++this.containers > decodeLimits.containers) {
      throw this.error(`more than ${decodeLimits.containers} resources, scopes and metrics`);
    }
  }

  /** Counts what takes as much memory as `n` small values. */
  countValues(n: number): void {
    this.values += n;
    if (this.values > decodeLimits.values) throw this.error(`more than ${decodeLimits.values} values`);
  }

  /** Counts numbers of a list: eight take as much memory as one value. */
  countNumbers(n: number): void {
    this.countValues(Math.ceil(n / 8));
  }

  /** The decoded request, with the number of its skipped attributes if there are any. */
  counted<T extends object>(request: T): T & { readonly skippedAttributes?: number } {
    return this.skipped === 0 ? request : { ...request, skippedAttributes: this.skipped };
  }

  /** ERR_INPUT_INVALID whose message starts with the field's path. */
  error(reason: string, cause?: unknown): OperatorError {
    let path = '';
    for (let i = 0; i < this.#steps.length; i += 2) {
      const index = this.#steps[i + 1] as number;
      path += `${path && '.'}${this.#steps[i]}${index < 0 ? '' : `[${index}]`}`;
    }
    if (this.field) path += `${path && '.'}${this.field}`;
    return new OperatorError('ERR_INPUT_INVALID', `${path || 'request'}: ${reason}`, { cause });
  }
}
