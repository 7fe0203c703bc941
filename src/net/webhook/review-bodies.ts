import type { IncomingMessage } from 'node:http';
import { changeCount } from '../../base/collections/counts.ts';
import { OperatorError } from '../../base/errors.ts';

export interface BodyLimits {
  /** All bodies together. Units: bytes. */
  readonly all: number;
  /** The bodies from one address. Units: bytes. */
  readonly ofAddress: number;
}

/** There is no memory for a body at the moment. */
export class Crowded extends Error {}

/**
 * The bodies of the webhook's reviews that are being answered. Callers need no certificate, and the bodies take memory
 * of the operator's own process.
 * Guarantees: the bodies take no more memory than the limits, however many callers there are, and one address leaves
 * room for others.
 */
export class ReviewBodies {
  readonly #limits: BodyLimits;
  readonly #byAddress = new Map<string, number>();
  #held = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /**
   * Reads a body of at most `maxBytes`, which counts until `use` has ended.
   * Errors: ERR_TOO_LARGE; Crowded; those of the request and of `use`. The rest of a body that is refused is not read.
   */
  async with<T>(req: IncomingMessage, maxBytes: number, use: (body: Buffer) => Promise<T>): Promise<T> {
    const address = req.socket.remoteAddress ?? '';
    const parts: Buffer[] = [];
    let held = 0;
    try {
      for await (const part of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        if (held + part.length > maxBytes) {
          throw new OperatorError('ERR_TOO_LARGE', `the review is larger than ${maxBytes} bytes`);
        }
        this.#take(address, part.length);
        held += part.length;
        parts.push(part);
      }
      return await use(Buffer.concat(parts.splice(0)));
    } finally {
      this.#held -= held;
      changeCount(this.#byAddress, address, -held);
    }
  }

  #take(address: string, bytes: number): void {
    const { all, ofAddress } = this.#limits;
    const own = (this.#byAddress.get(address) ?? 0) + bytes;
    if (own > ofAddress || this.#held + bytes > all) throw new Crowded('too many reviews at a time');
    this.#held += bytes;
    changeCount(this.#byAddress, address, bytes);
  }
}
