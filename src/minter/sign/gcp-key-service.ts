import type { KeyManagementServiceClient } from '@google-cloud/kms';
import type { Clock } from '../../base/clock.ts';
import { deadlineIn, orTimeout } from '../deadline.ts';
import {
  KeyServiceFailure,
  type KeyFailureKind,
  type KeyService,
  type KeyVersionInfo,
  type PublicKeyAnswer,
  type SignAnswer,
} from './key-service.ts';

/** gRPC status codes that are handled here. Source: the gRPC status code list. */
const kinds: Readonly<Record<number, KeyFailureKind>> = {
  4: 'deadline',
  5: 'not_found',
  7: 'permission_denied',
  8: 'resource_exhausted',
  9: 'failed_precondition',
  14: 'unavailable',
};

/**
 * Google Cloud KMS through its official client. Deadlines are per call and the client's own retries are off: the
 * caller, which knows the request's deadline, decides about retries.
 * Errors: KeyServiceFailure.
 */
export class GcpKeyService implements KeyService {
  readonly #make: () => KeyManagementServiceClient;
  readonly #clock: Clock;
  #starting: Promise<KeyManagementServiceClient> | null = null;

  /** `make`: called at the first use, and again after a client that could not start. */
  constructor(make: () => KeyManagementServiceClient, clock: Clock) {
    this.#make = make;
    this.#clock = clock;
  }

  async describeVersion(version: string, timeoutMs: number): Promise<KeyVersionInfo> {
    const [answer] = await this.#call(timeoutMs, (c) => c.getCryptoKeyVersion({ name: version }, once(timeoutMs)));
    return { name: answer.name ?? '', state: String(answer.state ?? ''), algorithm: String(answer.algorithm ?? '') };
  }

  async publicKey(version: string, timeoutMs: number): Promise<PublicKeyAnswer> {
    const [answer] = await this.#call(timeoutMs, (c) => c.getPublicKey({ name: version }, once(timeoutMs)));
    return {
      name: answer.name ?? '',
      algorithm: String(answer.algorithm ?? ''),
      pem: answer.pem ?? '',
      pemCrc32c: int64(answer.pemCrc32c?.value),
    };
  }

  async signDigest(version: string, digest: Uint8Array, digestCrc32c: number, timeoutMs: number): Promise<SignAnswer> {
    const request = { name: version, digest: { sha256: digest }, digestCrc32c: { value: digestCrc32c } };
    const [answer] = await this.#call(timeoutMs, (c) => c.asymmetricSign(request, once(timeoutMs)));
    return {
      name: answer.name ?? '',
      signature: Buffer.from((answer.signature as Uint8Array | undefined) ?? []),
      signatureCrc32c: int64(answer.signatureCrc32c?.value),
      verifiedDigestCrc32c: answer.verifiedDigestCrc32c === true,
    };
  }

  async close(): Promise<void> {
    await (await this.#starting?.catch(() => null))?.close();
  }

  async #call<T>(timeoutMs: number, use: (client: KeyManagementServiceClient) => Promise<T>): Promise<T> {
    try {
      const deadline = deadlineIn(this.#clock, timeoutMs);
      return await use(await orTimeout(this.#clock, deadline, this.#connected(), notReady));
    } catch (cause) {
      throw failureOf(cause);
    }
  }

  /**
   * Resolves to the client when it has found its credentials. A pod often starts before its identity is ready, and a
   * client that has found no credentials never recovers, so the next call creates a new one.
   */
  #connected(): Promise<KeyManagementServiceClient> {
    this.#starting ??= (async () => {
      const client = this.#make();
      try {
        await client.initialize();
        return client;
      } catch (error) {
        this.#starting = null;
        throw error;
      }
    })();
    return this.#starting;
  }
}

/**
 * The failure of a client that is not ready at the deadline, with the code that the client itself gives to a missed
 * deadline.
 */
function notReady(): Error {
  return Object.assign(new Error('the key service client is not ready in time'), { code: 4 });
}

/**
 * Converts the client's error to ours. The state of the key version is parsed from the message because the protocol has
 * no field for it.
 */
export function failureOf(cause: unknown): KeyServiceFailure {
  const { code, details } = (cause ?? {}) as { code?: unknown; details?: unknown };
  const kind = (typeof code === 'number' && kinds[code]) || 'other';
  const text = typeof details === 'string' ? details : '';
  const state = /\b(DISABLED|DESTROY_SCHEDULED|DESTROYED|PENDING_IMPORT|IMPORT_FAILED|PENDING_GENERATION)\b/.exec(
    text,
  )?.[1];
  return new KeyServiceFailure(kind, `key service answered ${kind.replace('_', ' ')}${state ? ` (${state})` : ''}`, {
    ...(state === undefined ? {} : { state }),
    cause,
  });
}

function once(timeoutMs: number): { timeout: number; retry: null } {
  return { timeout: Math.max(1, Math.floor(timeoutMs)), retry: null };
}

function int64(value: unknown): number | null {
  return value === undefined || value === null ? null : Number(value);
}
