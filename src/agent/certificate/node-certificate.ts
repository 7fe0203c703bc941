import { createPrivateKey, X509Certificate } from 'node:crypto';
import { access, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { errorText, OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { CertificateOffer } from '../../capture/index.ts';
import { createCa, issueLeaf, type KeyPairPem } from '../../net/ca.ts';
import { createCertificateRequest, type CertificateRequest } from '../../net/certificate-request.ts';
import {
  certificatesOf,
  checkTlsMaterial,
  HeldTls,
  pollUntilAborted,
  type TlsSource,
  watchTlsDirectory,
} from '../../net/tls-material.ts';
import { readIfPresent, replaceFile } from '../capture/durable-file.ts';

const fileName = 'certificate.pem';
/** Only the agent's own user may read the key. */
const fileMode = 0o600;

export interface NodeCertificateOptions {
  /** The folder of `ca.crt`, the trusted authorities, and `token`, which proves the pod's identity. */
  readonly dir: string;
  /** Where key and certificate are kept, so that the agent can answer after a restart while no operator runs. */
  readonly dataDir: string;
  readonly node: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly pollMs?: number;
}

/**
 * The identity of a node's agent. Its key is made here and never leaves the node. The operator fetches a certificate
 * request and returns a certificate.
 *
 * Flow: the certificate on disk if there is one, else a placeholder that no client trusts → `offer` → `install`, which
 * replaces it for new connections. Renewal repeats the same steps with a new key.
 * Guarantees: a certificate comes into force only with the key it was issued for. It comes into force even if it cannot
 * be written to disk; the agent then requests another certificate after a restart. A certificate on disk is used
 * whatever its validity period says: clients judge it by their own clocks, and the operator replaces it in time.
 * Errors: ERR_TLS_MATERIAL when `ca.crt` cannot be read at the start.
 */
export class NodeCertificate extends HeldTls {
  readonly #options: NodeCertificateOptions;
  #isIssued: boolean;
  #pending: Promise<CertificateRequest> | undefined;

  private constructor(options: NodeCertificateOptions, ca: string, kept: KeyPairPem | undefined, standIn: KeyPairPem) {
    super({ ...(kept ?? standIn), ca });
    this.#options = options;
    this.#isIssued = kept !== undefined;
  }

  static async open(options: NodeCertificateOptions): Promise<NodeCertificate> {
    const { dataDir, logger, clock, dir, signal, pollMs } = options;
    const ca = await readCa(dir);
    const kept = await readKept(join(dataDir, fileName), ca, logger);
    if (!kept) logger.info('no certificate yet: the ports for query and operator wait for one', { dir: dataDir });
    const made = new NodeCertificate(options, ca, kept, kept ?? (await standIn(clock)));
    pollUntilAborted({ clock, signal, ...(pollMs === undefined ? {} : { pollMs }) }, () => made.#followCa());
    return made;
  }

  /** Whether the agent serves a certificate that an operator issued. */
  get isIssued(): boolean {
    return this.#isIssued;
  }

  /**
   * The certificate request for the operator to check. The same key is offered until its certificate has arrived.
   * Errors: ERR_TLS_MATERIAL.
   */
  async offer(): Promise<CertificateOffer> {
    const { node, dir } = this.#options;
    const path = join(dir, 'token');
    const token = await readFile(path, 'utf8').catch((cause: unknown) => {
      throw new OperatorError('ERR_TLS_MATERIAL', `cannot read ${path}: ${errorText(cause)}`, { cause });
    });
    const { request } = await (this.#pending ??= createCertificateRequest(`svc-agent of ${node.slice(0, 40)}`));
    const offer = { node, request, token: token.trim() };
    return this.#isIssued ? { ...offer, certificate: this.current.cert } : offer;
  }

  /**
   * Puts a certificate for the offered key in force.
   * Errors: ERR_INPUT_INVALID with the reason.
   */
  async install(certificate: string): Promise<void> {
    const { logger, node } = this.#options;
    const pending = await this.#pending;
    if (!pending) throw new OperatorError('ERR_INPUT_INVALID', 'certificate: no request is pending');
    const fault = faultOf({ cert: certificate, key: pending.key }, this.current.ca);
    if (fault !== undefined) throw new OperatorError('ERR_INPUT_INVALID', `certificate: ${fault}`);
    await this.#keep(pending.key, certificate);
    this.#pending = undefined;
    this.#isIssued = true;
    this.replace({ cert: certificate, key: pending.key, ca: this.current.ca });
    logger.info('certificate installed', { node, notAfter: new X509Certificate(certificate).validTo });
  }

  async #keep(key: string, certificate: string): Promise<void> {
    const { dataDir, logger } = this.#options;
    try {
      await mkdir(dataDir, { recursive: true });
      await replaceFile(join(dataDir, fileName), `${key}${certificate}`, fileMode);
    } catch (error) {
      logger.warn('certificate not kept: a restart will ask for another', { dir: dataDir, error: errorText(error) });
    }
  }

  async #followCa(): Promise<void> {
    const { dir, logger } = this.#options;
    try {
      const ca = await readCa(dir);
      if (ca === this.current.ca) return;
      this.replace({ ...this.current, ca });
      logger.info('certificate authorities reloaded', { dir });
    } catch (error) {
      logger.warn('certificate authorities not reloaded, the last good ones stay', { dir, error: errorText(error) });
    }
  }
}

async function readCa(dir: string): Promise<string> {
  const path = join(dir, 'ca.crt');
  try {
    const ca = await readFile(path, 'utf8');
    if (certificatesOf(ca).length === 0) throw new Error('no certificate in it');
    return ca;
  } catch (cause) {
    throw new OperatorError('ERR_TLS_MATERIAL', `cannot read ${path}: ${errorText(cause)}`, { cause });
  }
}

/** Key and certificate of an earlier run. Damaged ones are skipped: the operator then issues a new certificate. */
async function readKept(path: string, ca: string, logger: Logger): Promise<KeyPairPem | undefined> {
  try {
    const text = (await readIfPresent(path))?.toString('utf8');
    if (text === undefined) return undefined;
    const [key, cert] = [block(text, 'PRIVATE KEY'), block(text, 'CERTIFICATE')];
    if (key === undefined || cert === undefined) throw new Error('key or certificate is missing');
    // The certificate's authority may have been replaced in the meantime. Clients then refuse the certificate until the
    // operator has replaced it.
    checkTlsMaterial({ key, cert, ca });
    return { key, cert };
  } catch (error) {
    logger.warn('kept certificate cannot be used', { path, error: errorText(error) });
    return undefined;
  }
}

function block(text: string, label: string): string | undefined {
  const found = new RegExp(`-----BEGIN ${label}-----[^-]+-----END ${label}-----`).exec(text);
  return found ? `${found[0]}\n` : undefined;
}

/** Why a certificate cannot come into force with that key; undefined when it can. */
function faultOf({ cert, key }: KeyPairPem, ca: string): string | undefined {
  let leaf: X509Certificate;
  try {
    leaf = new X509Certificate(cert);
  } catch {
    return 'it is no certificate in PEM';
  }
  if (!leaf.checkPrivateKey(createPrivateKey(key))) return 'it is not for the key of the last request';
  const isTrusted = certificatesOf(ca).some((issuer) => leaf.checkIssued(issuer) && leaf.verify(issuer.publicKey));
  return isTrusted ? undefined : 'it is of an authority that this agent does not trust (yet)';
}

/**
 * A certificate from an authority that is discarded immediately: a TLS server needs a certificate, and no client may
 * trust this one.
 */
async function standIn(clock: Clock): Promise<KeyPairPem> {
  const now = clock.now();
  const ca = await createCa({ commonName: 'svc-agent without a certificate', now, days: 1 });
  return issueLeaf(ca, { commonName: 'svc-agent without a certificate', dnsNames: [], usage: 'server' }, { now });
}

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
