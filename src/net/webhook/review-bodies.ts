import type { IncomingMessage } from 'node:http';
import { OperatorError } from '../../base/errors.ts';
import { Share, type SharedLimit } from '../../base/collections/share.ts';
import { jsonSize, maxJsonDepth } from '../../base/text/json-size.ts';
import { peerAddress } from '../http/index.ts';

/** A caller is an address. */
export interface BodyLimits {
  readonly bytes: SharedLimit;
  /** Of parsed bodies. A value takes up to 150 bytes of memory; what counts as one is in `JsonSize`. */
  readonly values: SharedLimit;
}

/** What one review may be. */
export interface ReviewLimits {
  readonly maxBytes: number;
  /** As `JsonSize.values`. */
  readonly maxValues: number;
}

/**
 * The bodies of the webhook's reviews that are being answered. Callers need no certificate, and the bodies take memory
 * of the operator's own process.
 * Guarantees: the bodies and what is parsed from them take no more memory than the limits, however many callers there
 * are, and one address leaves room for others.
 */
export class ReviewBodies {
  readonly #bytes: Share;
  readonly #values: Share;

  constructor(limits: BodyLimits) {
    this.#bytes = new Share(limits.bytes);
    this.#values = new Share(limits.values);
  }

  /**
   * Reads a body within `limits`, which counts until `use` has ended.
   * Errors: ERR_TOO_LARGE; Crowded; those of the request and of `use`. The rest of a body that is refused is not read.
   */
  async with<T>(req: IncomingMessage, limits: ReviewLimits, use: (body: Buffer) => Promise<T>): Promise<T> {
    const address = peerAddress(req.socket) ?? '';
    const parts: Buffer[] = [];
    let held = 0;
    try {
      for await (const part of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        if (held + part.length > limits.maxBytes) {
          throw new OperatorError('ERR_TOO_LARGE', `the review is larger than ${limits.maxBytes} bytes`);
        }
        this.#bytes.take(address, part.length);
        held += part.length;
        parts.push(part);
      }
      return await this.#measured(address, Buffer.concat(parts.splice(0)), limits, use);
    } finally {
      this.#bytes.give(address, held);
    }
  }

  async #measured<T>(
    address: string,
    body: Buffer,
    { maxValues }: ReviewLimits,
    use: (body: Buffer) => Promise<T>,
  ): Promise<T> {
    const { depth, values } = jsonSize(body);
    if (depth > maxJsonDepth) {
      throw new OperatorError('ERR_TOO_LARGE', `the review is nested deeper than ${maxJsonDepth}`);
    }
    if (values > maxValues) throw new OperatorError('ERR_TOO_LARGE', `the review has more than ${maxValues} values`);
    this.#values.take(address, values);
    try {
      return await use(body);
    } finally {
      this.#values.give(address, values);
    }
  }
}
