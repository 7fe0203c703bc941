import { constants, createCipheriv, publicEncrypt, randomBytes, type KeyObject } from 'node:crypto';

/** Initial value of AES key wrap with padding. Source: RFC 5649 §3. */
const keyWrapIv = Buffer.from('A65959A6', 'hex');

/**
 * Wraps a private key for an import job: the PKCS#8 form under a fresh AES-256 key (RFC 5649), and that AES key under
 * the job's public key (RSA-OAEP with SHA-256). Result: OAEP block ‖ wrapped key. The unwrapped bytes of both keys are
 * zeroed.
 */
export function wrapPrivateKey(key: KeyObject, jobPublicKeyPem: string): Buffer {
  const der = key.export({ format: 'der', type: 'pkcs8' });
  const aesKey = randomBytes(32);
  try {
    const cipher = createCipheriv('id-aes256-wrap-pad', aesKey, keyWrapIv);
    const wrapped = Buffer.concat([cipher.update(der), cipher.final()]);
    const block = publicEncrypt(
      { key: jobPublicKeyPem, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' },
      aesKey,
    );
    return Buffer.concat([block, wrapped]);
  } finally {
    der.fill(0);
    aesKey.fill(0);
  }
}
