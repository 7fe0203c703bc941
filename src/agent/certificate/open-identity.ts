import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { watchTlsDirectory, type TlsSource } from '../../net/tls-material.ts';
import { NodeCertificate, type NodeCertificateOptions } from './node-certificate.ts';

/**
 * The identity that the agent's ports for query and operator serve: the key and certificate in the directory if it
 * holds them, else the node's own, for which the operator issues a certificate (`own`).
 * Errors: ERR_TLS_MATERIAL.
 */
export async function openIdentity(
  options: NodeCertificateOptions,
): Promise<{ source: TlsSource; own: NodeCertificate | undefined }> {
  const isGiven = await access(join(options.dir, 'tls.crt')).then(
    () => true,
    () => false,
  );
  if (isGiven) return { source: await watchTlsDirectory(options.dir, options), own: undefined };
  const own = await NodeCertificate.open(options);
  return { source: own, own };
}
