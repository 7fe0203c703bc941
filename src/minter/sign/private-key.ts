import { createPrivateKey, type KeyObject } from 'node:crypto';
import { OperatorError } from '../../base/errors.ts';

/** Key sizes that both the key service and the platform accept. */
export const keySizes = [2048, 3072, 4096] as const;
export type KeySize = (typeof keySizes)[number];

/**
 * Reads an RSA private key of an accepted size from PEM, PKCS#1 or PKCS#8.
 * Errors: ERR_INPUT_INVALID; the message never repeats any part of the PEM.
 */
export function readPrivateKey(pem: Buffer): { key: KeyObject; bits: KeySize } {
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: pem, format: 'pem' });
  } catch {
    throw new OperatorError('ERR_INPUT_INVALID', 'private key: not a PEM private key, or protected by a passphrase');
  }
  const type = key.asymmetricKeyType;
  const size = key.asymmetricKeyDetails?.modulusLength;
  const bits = keySizes.find((s) => s === size);
  if (type !== 'rsa')
    throw new OperatorError('ERR_INPUT_INVALID', `private key: must be RSA, this is ${type ?? 'unknown'}`);
  if (!bits) throw new OperatorError('ERR_INPUT_INVALID', 'private key: must have 2048, 3072 or 4096 bits');
  return { key, bits };
}
