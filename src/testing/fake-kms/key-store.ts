import {
  constants,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  privateDecrypt,
  type KeyObject,
} from 'node:crypto';

export type VersionState =
  'ENABLED' | 'DISABLED' | 'DESTROYED' | 'DESTROY_SCHEDULED' | 'PENDING_IMPORT' | 'IMPORT_FAILED';

export interface StoredVersion {
  name: string;
  state: VersionState;
  algorithm: string;
  key: KeyObject | undefined;
  importJob?: string;
  importFailureReason?: string;
}

export interface StoredKey {
  name: string;
  purpose: string;
  importOnly: boolean;
  algorithm: string;
  protectionLevel: string;
  versions: StoredVersion[];
}

export interface StoredJob {
  name: string;
  importMethod: string;
  protectionLevel: string;
  state: 'PENDING_GENERATION' | 'ACTIVE' | 'EXPIRED';
  publicKeyPem: string;
  privateKey: KeyObject;
  createdAt: number;
}

/** An error with the gRPC status code that the real service answers in the same case. */
export class KmsStatus extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Unwraps an imported key. `wrapped` is an AES key, encrypted with RSA-OAEP-SHA256, followed by the PKCS#8 key, wrapped
 * with that AES key (key wrap with padding).
 */
export function unwrapImported(wrapped: Buffer, job: KeyObject): KeyObject {
  const blockSize = (job.asymmetricKeyDetails?.modulusLength ?? 0) / 8;
  const aesKey = privateDecrypt(
    { key: job, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' },
    wrapped.subarray(0, blockSize),
  );
  const decipher = createDecipheriv('id-aes256-wrap-pad', aesKey, Buffer.from('A65959A6', 'hex'));
  const der = Buffer.concat([decipher.update(wrapped.subarray(blockSize)), decipher.final()]);
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}

export function publicPem(key: KeyObject): string {
  return createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
}

/** The key pair of every import job: one per process, because making keys is slow and a fake has nothing to protect. */
export function jobKeyPair(): { privateKey: KeyObject; publicKeyPem: string } {
  shared ??= generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  return { privateKey: shared, publicKeyPem: publicPem(shared) };
}

let shared: KeyObject | undefined;
