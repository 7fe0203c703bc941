import type { KeyManagementServiceClient } from '@google-cloud/kms';
import {
  KeyServiceFailure,
  type KeyFailureKind,
  type KeyService,
  type KeyVersionInfo,
  type PublicKeyAnswer,
  type SignAnswer,
} from './key-service.ts';

/** gRPC status codes that mean something to us. Source: the gRPC status code list. */
const kinds: Readonly<Record<number, KeyFailureKind>> = {
  4: 'deadline',
  5: 'not_found',
  7: 'permission_denied',
  8: 'resource_exhausted',
  9: 'failed_precondition',
  14: 'unavailable',
};

/**
 * Google Cloud KMS through its official client. Deadlines are per call and the client's own retries are off:
 * how often to try again is decided by who knows the request's deadline.
 * Errors: KeyServiceFailure.
 */
export class GcpKeyService implements KeyService {
  readonly #client: KeyManagementServiceClient;

  constructor(client: KeyManagementServiceClient) {
    this.#client = client;
  }

  async describeVersion(version: string, timeoutMs: number): Promise<KeyVersionInfo> {
    const [answer] = await this.#call(this.#client.getCryptoKeyVersion({ name: version }, once(timeoutMs)));
    return { name: answer.name ?? '', state: String(answer.state ?? ''), algorithm: String(answer.algorithm ?? '') };
  }

  async publicKey(version: string, timeoutMs: number): Promise<PublicKeyAnswer> {
    const [answer] = await this.#call(this.#client.getPublicKey({ name: version }, once(timeoutMs)));
    return {
      name: answer.name ?? '',
      algorithm: String(answer.algorithm ?? ''),
      pem: answer.pem ?? '',
      pemCrc32c: int64(answer.pemCrc32c?.value),
    };
  }

  async signDigest(version: string, digest: Uint8Array, digestCrc32c: number, timeoutMs: number): Promise<SignAnswer> {
    const [answer] = await this.#call(
      this.#client.asymmetricSign(
        { name: version, digest: { sha256: digest }, digestCrc32c: { value: digestCrc32c } },
        once(timeoutMs),
      ),
    );
    return {
      name: answer.name ?? '',
      signature: Buffer.from((answer.signature as Uint8Array | undefined) ?? []),
      signatureCrc32c: int64(answer.signatureCrc32c?.value),
      verifiedDigestCrc32c: answer.verifiedDigestCrc32c === true,
    };
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #call<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (cause) {
      throw failureOf(cause);
    }
  }
}

/** Turns the client's error into ours. The state is fished out of the message because the protocol has no field for it. */
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
