import { createHash, createPublicKey, verify, type KeyObject } from 'node:crypto';
import { crc32c } from '../../base/wire/crc32c.ts';
import type { Clock } from '../../base/clock.ts';
import { deadlineIn, orTimeout, type Deadline } from '../deadline.ts';
import { isUsableAlgorithm, KeyServiceFailure, type KeyService } from './key-service.ts';

const attemptMs = 1_500;

export type KmsOperation = 'sign' | 'public_key' | 'describe';

export interface KmsSignerOptions {
  service: KeyService;
  version: string;
  clock: Clock;
  onCall?: (operation: KmsOperation, result: string, seconds: number) => void;
}

/**
 * Signs with one key version and verifies every answer: the answer must be for the requested version, the service must
 * have received the digest that was sent, and the signature must have arrived intact and must verify with the version's
 * public key.
 * Errors: KeyServiceFailure.
 */
export class KmsSigner {
  readonly version: string;
  readonly #options: KmsSignerOptions;
  #publicKey: KeyObject | undefined;
  #loadingKey: Promise<KeyObject> | undefined;

  constructor(options: KmsSignerOptions) {
    this.version = options.version;
    this.#options = options;
  }

  /** RSASSA-PKCS1-v1_5 with SHA-256 over `message`. One retry if that can help and time allows. */
  async sign(message: Uint8Array, deadline: Deadline): Promise<Uint8Array> {
    const digest = createHash('sha256').update(message).digest();
    const publicKey = await this.publicKey(deadline);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#signOnce(message, digest, publicKey, deadline);
      } catch (error) {
        if (attempt >= 2 || !isRetryable(error) || deadline.remaining() < 50) throw error;
      }
    }
  }

  /**
   * The version's public key, fetched once. Concurrent callers share a fetch, so it has a time limit of its own: a
   * caller whose deadline passes stops waiting, and does not end the fetch for the others.
   */
  publicKey(deadline: Deadline): Promise<KeyObject> {
    if (this.#publicKey) return Promise.resolve(this.#publicKey);
    this.#loadingKey ??= this.#loadPublicKey().finally(() => (this.#loadingKey = undefined));
    return orTimeout(this.#options.clock, deadline, this.#loadingKey, noTimeLeft);
  }

  /** Drops the public key, so that the key of a newly imported version is fetched. */
  forgetPublicKey(): void {
    this.#publicKey = undefined;
  }

  /** State and algorithm as the service reports them. */
  async describe(deadline: Deadline): Promise<{ state: string; algorithm: string }> {
    const info = await this.#timed(
      'describe',
      (ms) => this.#options.service.describeVersion(this.version, ms),
      deadline,
    );
    if (info.name !== this.version) throw new KeyServiceFailure('integrity', 'the answer is for another key version');
    return info;
  }

  async #loadPublicKey(): Promise<KeyObject> {
    const { service, clock } = this.#options;
    const limit = deadlineIn(clock, attemptMs);
    const answer = await this.#timed('public_key', (ms) => service.publicKey(this.version, ms), limit);
    if (answer.name !== this.version) throw new KeyServiceFailure('integrity', 'the public key is of another version');
    if (answer.pemCrc32c !== crc32c(Buffer.from(answer.pem))) {
      throw new KeyServiceFailure('integrity', 'the public key was damaged on its way');
    }
    if (!isUsableAlgorithm(answer.algorithm)) {
      throw new KeyServiceFailure('failed_precondition', 'the key version has an algorithm the platform refuses', {
        state: 'WRONG_ALGORITHM',
      });
    }
    try {
      this.#publicKey = createPublicKey(answer.pem);
    } catch (cause) {
      throw new KeyServiceFailure('integrity', 'the public key cannot be read', { cause });
    }
    return this.#publicKey;
  }

  async #signOnce(message: Uint8Array, digest: Buffer, key: KeyObject, deadline: Deadline): Promise<Uint8Array> {
    const { service } = this.#options;
    const sum = crc32c(digest);
    return this.#timed(
      'sign',
      async (ms) => {
        const answer = await service.signDigest(this.version, digest, sum, ms);
        if (answer.name !== this.version) throw new KeyServiceFailure('integrity', 'another key version signed');
        if (!answer.verifiedDigestCrc32c) throw new KeyServiceFailure('integrity', 'the digest was not verified');
        if (answer.signatureCrc32c !== crc32c(answer.signature)) {
          throw new KeyServiceFailure('integrity', 'the signature was damaged on its way');
        }
        if (!verify('sha256', message, key, answer.signature)) {
          throw new KeyServiceFailure('integrity', 'the signature does not verify with the public key');
        }
        return answer.signature;
      },
      deadline,
    );
  }

  async #timed<T>(operation: KmsOperation, call: (ms: number) => Promise<T>, deadline: Deadline): Promise<T> {
    const { clock, onCall } = this.#options;
    const ms = deadline.atMost(attemptMs);
    if (ms < 1) throw noTimeLeft();
    const start = clock.monotonic();
    const seconds = (): number => (clock.monotonic() - start) / 1000;
    try {
      const result = await call(ms);
      onCall?.(operation, 'ok', seconds());
      return result;
    } catch (error) {
      onCall?.(operation, error instanceof KeyServiceFailure ? error.kind : 'other', seconds());
      throw error;
    }
  }
}

function noTimeLeft(): KeyServiceFailure {
  return new KeyServiceFailure('deadline', 'no time left for the key service');
}

function isRetryable(error: unknown): boolean {
  return error instanceof KeyServiceFailure && ['unavailable', 'deadline', 'integrity'].includes(error.kind);
}
