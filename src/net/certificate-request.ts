import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import type { webcrypto } from 'node:crypto';
import { errorText, OperatorError } from '../base/errors.ts';
import { exportKey, generateKeys, keyAlgorithm } from './ca.ts';

/** A key that stays where it was created, and the request for a certificate for it (PKCS#10, RFC 2986). */
export interface CertificateRequest {
  /** PEM private key, PKCS#8. */
  key: string;
  /** PEM request, signed with that key. */
  request: string;
}

/** Longest accepted request. A request for a P-256 key takes some 500 bytes. Units: bytes of PEM. */
export const maxRequestLength = 4 * 1024;

/** A new key and the request for it. The subject is only an informative label: the signer decides the names. */
export async function createCertificateRequest(commonName: string): Promise<CertificateRequest> {
  const keys = await generateKeys();
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [commonName] }],
    keys,
    signingAlgorithm: keyAlgorithm,
  });
  return { key: await exportKey(keys.privateKey), request: `${request.toString('pem')}\n` };
}

/**
 * The public key of a request, after checking that the sender has the private key. Requested names, usages and
 * extensions are ignored.
 * Errors: ERR_INPUT_INVALID with the reason: too long, not a PKCS#10 request in PEM, a key other than P-256, a
 * signature that does not verify.
 */
export async function readCertificateRequest(pem: string): Promise<webcrypto.CryptoKey> {
  if (pem.length > maxRequestLength) throw refused(`longer than ${maxRequestLength} bytes`);
  let request: x509.Pkcs10CertificateRequest;
  try {
    request = new x509.Pkcs10CertificateRequest(pem);
  } catch (cause) {
    throw refused('no PKCS#10 in PEM', cause);
  }
  const found = request.publicKey.algorithm as { name: string; namedCurve?: string };
  if (found.name !== keyAlgorithm.name || found.namedCurve !== keyAlgorithm.namedCurve) {
    throw refused(`a key of ${[found.name, found.namedCurve].filter(Boolean).join(' ')}, not of ECDSA P-256`);
  }
  const hash = (request.signatureAlgorithm as { hash?: { name?: string } }).hash?.name;
  if (hash !== keyAlgorithm.hash) throw refused(`signed with ${hash ?? 'an unknown hash'}, not with SHA-256`);
  try {
    if (await request.verify()) return await request.publicKey.export(keyAlgorithm, ['verify']);
  } catch (cause) {
    throw refused(`its signature cannot be checked: ${errorText(cause)}`, cause);
  }
  throw refused('its signature is not that of its key');
}

function refused(reason: string, cause?: unknown): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', `certificate request: ${reason}`, { cause });
}
