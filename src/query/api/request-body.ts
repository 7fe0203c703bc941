import type { IncomingMessage } from 'node:http';
import { Crowded, Share } from '../../base/collections/share.ts';
import { readWhole } from '../../base/wire/http-body.ts';
import { ApiError } from './api-error.ts';

const limit = { all: 32 * 1024 * 1024, ofOne: 8 * 1024 * 1024 };
/** Bytes of each request that do not count, so that a usual one is served also while others are many. */
const freeBytes = 16 * 1024;

/**
 * Makes the bodies of requests. Those of all requests that are in hand share a limit, in which a caller has a quarter.
 * Requests that wait for a place hold them, too, and there may be hundreds.
 */
export function requestBodies(): (caller: string) => RequestBody {
  const share = new Share(limit);
  return (caller) => new RequestBody(share, caller);
}

/** The body of one request. It counts from the arrival of its first bytes until `release`. */
export class RequestBody {
  readonly #share: Share;
  readonly #caller: string;
  #held = 0;

  constructor(share: Share, caller: string) {
    this.#share = share;
    this.#caller = caller;
  }

  /**
   * A request's whole body.
   * Errors: ApiError bad_data beyond `maxBytes`, and too_many_requests beyond the limit of all; the request is then not
   * destroyed, because the caller still answers it on the same connection. ApiError canceled when the rest of the body
   * does not come: the client has left, or the server has already answered a slow one with 408.
   */
  async read(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
    const tooLarge = (): Error => new ApiError('bad_data', `request body is larger than ${maxBytes} bytes`);
    try {
      return await readWhole(this.#counted(req.iterator({ destroyOnReturn: false })), maxBytes, tooLarge);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      throw new ApiError('canceled', 'the request ended before its body was whole', { cause: error });
    }
  }

  /** Counts memory of what is made from the body. Errors: ApiError too_many_requests. */
  take(bytes: number): void {
    const more = this.#charge(this.#held + bytes) - this.#charge(this.#held);
    try {
      this.#share.take(this.#caller, more);
    } catch (error) {
      if (!(error instanceof Crowded)) throw error;
      throw new ApiError('too_many_requests', 'too many large requests at a time; try again', { cause: error });
    }
    this.#held += bytes;
  }

  /** Calling it twice is harmless. */
  release(): void {
    this.#share.give(this.#caller, this.#charge(this.#held));
    this.#held = 0;
  }

  #charge(held: number): number {
    return Math.max(0, held - freeBytes);
  }

  async *#counted(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const part of source) {
      this.take(part.length);
      yield part;
    }
  }
}
