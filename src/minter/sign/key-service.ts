/**
 * The interface of a service that holds the App's key. One implementation calls Google Cloud KMS, one uses a local file
 * for development. Implementations only transport the calls; `KmsSigner` checks every answer.
 */
export interface KeyService {
  /** The state and the algorithm of a key version, in the words of the service. */
  describeVersion(version: string, timeoutMs: number): Promise<KeyVersionInfo>;
  publicKey(version: string, timeoutMs: number): Promise<PublicKeyAnswer>;
  /** Signs a SHA-256 digest. With `digestCrc32c` the service can detect a digest that was damaged in transit. */
  signDigest(version: string, digest: Uint8Array, digestCrc32c: number, timeoutMs: number): Promise<SignAnswer>;
  close(): Promise<void>;
}

export interface KeyVersionInfo {
  name: string;
  state: string;
  algorithm: string;
}

export interface PublicKeyAnswer {
  name: string;
  algorithm: string;
  pem: string;
  /** Null when the service sent no checksum. */
  pemCrc32c: number | null;
}

export interface SignAnswer {
  name: string;
  signature: Uint8Array;
  signatureCrc32c: number | null;
  verifiedDigestCrc32c: boolean;
}

/** The failure of a call, by the status codes of the service that are distinguished here. */
export type KeyFailureKind =
  | 'not_found'
  | 'permission_denied'
  | 'failed_precondition'
  | 'resource_exhausted'
  | 'unavailable'
  | 'deadline'
  | 'integrity'
  | 'other';

export class KeyServiceFailure extends Error {
  readonly kind: KeyFailureKind;
  /** The version's state if the service named it, e.g. `DISABLED`. */
  readonly state: string | undefined;

  constructor(kind: KeyFailureKind, message: string, options: { state?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'KeyServiceFailure';
    this.kind = kind;
    this.state = options.state;
  }
}

/**
 * Algorithms that the hosting platform accepts: RSA with PKCS#1 v1.5 padding. A PSS key would sign, but the platform
 * would refuse it.
 */
export const usableAlgorithms = [
  'RSA_SIGN_PKCS1_2048_SHA256',
  'RSA_SIGN_PKCS1_3072_SHA256',
  'RSA_SIGN_PKCS1_4096_SHA256',
] as const;

export function isUsableAlgorithm(algorithm: string): boolean {
  return (usableAlgorithms as readonly string[]).includes(algorithm);
}
