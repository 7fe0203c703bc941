import { constants, createPublicKey, privateEncrypt, type KeyObject } from 'node:crypto';
import { crc32c } from '../../base/wire/crc32c.ts';
import { OperatorError } from '../../base/errors.ts';
import { readPrivateKey } from './private-key.ts';
import type { KeyService } from './key-service.ts';

/**
 * DigestInfo prefix of SHA-256 (RFC 8017 §9.2): what PKCS#1 v1.5 puts before a digest. Signing is then a private-key
 * operation over prefix and digest, so a service can sign a digest without its message.
 */
const sha256Prefix = Buffer.from('3031300d060960864801650304020105000420', 'hex');

/** An RSASSA-PKCS1-v1_5 signature over a SHA-256 digest. */
export function signSha256Digest(key: KeyObject, digest: Uint8Array): Buffer {
  return privateEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, Buffer.concat([sha256Prefix, digest]));
}

/**
 * A key in this process, for development: there is no audit log, and access to the memory reveals the key. The settings
 * accept it only with an explicit permission.
 * Errors: ERR_CONFIG_INVALID when the PEM is not a usable RSA key.
 */
export function fileKeyService(pem: Buffer): KeyService {
  let key: KeyObject;
  let bits: number;
  try {
    ({ key, bits } = readPrivateKey(pem));
  } catch (cause) {
    throw new OperatorError('ERR_CONFIG_INVALID', 'DEV_KEY_FILE must hold a PEM RSA private key', { cause });
  }
  const algorithm = `RSA_SIGN_PKCS1_${bits}_SHA256`;
  const publicPem = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
  return {
    describeVersion: (name) => Promise.resolve({ name, state: 'ENABLED', algorithm }),
    publicKey: (name) =>
      Promise.resolve({ name, algorithm, pem: publicPem, pemCrc32c: crc32c(Buffer.from(publicPem)) }),
    signDigest: (name, digest, digestCrc32c) => {
      const signature = signSha256Digest(key, digest);
      return Promise.resolve({
        name,
        signature,
        signatureCrc32c: crc32c(signature),
        verifiedDigestCrc32c: digestCrc32c === crc32c(digest),
      });
    },
    close: () => Promise.resolve(),
  };
}
