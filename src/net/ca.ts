import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { createPrivateKey, X509Certificate, type webcrypto } from 'node:crypto';
import { OperatorError } from '../base/errors.ts';

// The self-managed certificate authority: one CA, and the short-lived certificates that it signs (leaves) for agents,
// query and controller. Keys are ECDSA P-256, certificates X.509 v3 (RFC 5280). Randomness is WebCrypto's; time is a
// parameter.

/** A certificate and its private key. */
export interface KeyPairPem {
  /** PEM certificate. A CA bundle has several certificates during a rotation, newest first. */
  cert: string;
  /** PEM private key, PKCS#8. */
  key: string;
}

export interface LeafNames {
  commonName: string;
  /** Subject O, one per entry: the groups of a client of the API server. */
  organizations?: readonly string[];
  dnsNames: readonly string[];
  ipAddresses?: readonly string[];
  /** The use of the certificate: as client and server (the default), or as server only. */
  usage?: 'server-and-client' | 'server';
}

/** How long a leaf is valid from `now` (ms since the epoch); never longer than its CA. Default 90 days. */
export interface LeafLife {
  now: number;
  days?: number;
}

/** The one algorithm of our keys and signatures. */
export const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const dayMs = 86_400_000;
/** Certificates start a little in the past, so that a node whose clock lags accepts them immediately. */
const backdateMs = 5 * 60_000;
const serverAuth = '1.3.6.1.5.5.7.3.1';
const clientAuth = '1.3.6.1.5.5.7.3.2';

/** A new self-signed CA. Units: `now` in ms since the epoch, `days` of validity. */
export async function createCa(options: { commonName: string; now: number; days?: number }): Promise<KeyPairPem> {
  const keys = await generateKeys();
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [options.commonName] }],
    notBefore: new Date(options.now - backdateMs),
    notAfter: new Date(options.now + (options.days ?? 3650) * dayMs),
    signingAlgorithm: keyAlgorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: `${cert.toString('pem')}\n`, key: await exportKey(keys.privateKey) };
}

/** A leaf signed by `ca`, with a key created here. */
export async function issueLeaf(ca: KeyPairPem, names: LeafNames, life: LeafLife): Promise<KeyPairPem> {
  const keys = await generateKeys();
  const cert = await signLeaf(ca, keys.publicKey, names, life);
  return { cert, key: await exportKey(keys.privateKey) };
}

/**
 * A PEM certificate signed by `ca` for a public key whose private key is elsewhere.
 * Errors: ERR_TLS_MATERIAL if the key of `ca` does not belong to its certificate: no signature of it could be verified.
 */
export async function signLeaf(
  ca: KeyPairPem,
  publicKey: webcrypto.CryptoKey,
  names: LeafNames,
  { now, days = 90 }: LeafLife,
): Promise<string> {
  const issuer = parseCertificate(ca.cert, 'ca.crt');
  const signingKey = await importKey(ca.key);
  if (!isPair(ca)) throw new OperatorError('ERR_TLS_MATERIAL', 'ca.key is not the key of ca.crt');
  const alternatives = [
    ...names.dnsNames.map((value) => ({ type: 'dns' as const, value })),
    ...(names.ipAddresses ?? []).map((value) => ({ type: 'ip' as const, value })),
  ];
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [...(names.organizations ?? []).map((group) => ({ O: [group] })), { CN: [names.commonName] }],
    issuer: issuer.subjectName,
    notBefore: new Date(now - backdateMs),
    // Never longer than its issuer: a certificate that outlives its CA could not be verified anyway.
    notAfter: new Date(Math.min(now + days * dayMs, issuer.notAfter.getTime())),
    signingAlgorithm: keyAlgorithm,
    publicKey,
    signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(names.usage === 'server' ? [serverAuth] : [serverAuth, clientAuth]),
      ...(alternatives.length > 0 ? [new x509.SubjectAlternativeNameExtension(alternatives)] : []),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
    ],
  });
  return `${cert.toString('pem')}\n`;
}

/**
 * Why a leaf must be reissued, or null when it is still good: absent, unreadable, another common name or other
 * alternative names, signed by another CA, with a key that is not its own, issued by a clock that ran ahead, or past
 * two thirds of its life. Organizations and usage are not compared, and a key that is elsewhere is not either.
 */
export async function leafRenewalReason(
  leaf: { readonly cert: string; readonly key?: string } | undefined,
  ca: Pick<KeyPairPem, 'cert'>,
  names: LeafNames,
  now: number,
): Promise<string | null> {
  if (!leaf) return 'absent';
  let cert: x509.X509Certificate;
  let issuer: x509.X509Certificate;
  try {
    cert = parseCertificate(leaf.cert, 'tls.crt');
    issuer = parseCertificate(ca.cert, 'ca.crt');
  } catch {
    return 'unreadable';
  }
  const wanted = [...names.dnsNames, ...(names.ipAddresses ?? [])].toSorted().join();
  const extension = cert.getExtension(x509.SubjectAlternativeNameExtension);
  const present = (extension?.names.toJSON() ?? [])
    .map((n) => n.value)
    .toSorted()
    .join();
  if (wanted !== present || cert.subjectName.getField('CN')[0] !== names.commonName) return 'names changed';
  if (!(await cert.verify({ publicKey: issuer.publicKey, signatureOnly: true }))) return 'signed by another CA';
  if (leaf.key !== undefined && !isPair({ cert: leaf.cert, key: leaf.key })) return 'key of another certificate';
  if (now < cert.notBefore.getTime()) return 'not yet valid';
  return now >= renewalTime(leaf) ? 'due for renewal' : null;
}

/** Whether the key is that of the certificate. A key that cannot be read is not. */
export function isPair({ cert, key }: KeyPairPem): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

/** When a certificate should be replaced: two thirds into its life. Units: ms since the epoch. */
export function renewalTime(leaf: Pick<KeyPairPem, 'cert'>): number {
  const cert = parseCertificate(leaf.cert, 'certificate');
  const from = cert.notBefore.getTime();
  return from + ((cert.notAfter.getTime() - from) * 2) / 3;
}

/**
 * Whether the renewal of a certificate is overdue. It is due at two thirds of the life of the certificate, and overdue
 * at three quarters, which working renewal never reaches. Units: `now` in ms since the epoch.
 */
export function isOverdue(leaf: Pick<KeyPairPem, 'cert'>, now: number): boolean {
  const cert = parseCertificate(leaf.cert, 'certificate');
  const from = cert.notBefore.getTime();
  return now >= from + ((cert.notAfter.getTime() - from) * 3) / 4;
}

/** Begin of validity in ms since the epoch. */
export function beginTime(leaf: Pick<KeyPairPem, 'cert'>): number {
  return parseCertificate(leaf.cert, 'certificate').notBefore.getTime();
}

/** End of validity in ms since the epoch. */
export function expiryTime(leaf: Pick<KeyPairPem, 'cert'>): number {
  return parseCertificate(leaf.cert, 'certificate').notAfter.getTime();
}

function parseCertificate(pem: string, what: string): x509.X509Certificate {
  try {
    return new x509.X509Certificate(pem);
  } catch (cause) {
    throw new OperatorError('ERR_TLS_MATERIAL', `${what} is not a PEM certificate`, { cause });
  }
}

/** A new key pair of the kind that every certificate of ours has. */
export async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;
}

/** PEM of a private key, PKCS#8. */
export async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = await crypto.subtle.exportKey('pkcs8', key);
  return `${x509.PemConverter.encode(der, 'PRIVATE KEY')}\n`;
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  try {
    const [der] = x509.PemConverter.decode(pem);
    return await crypto.subtle.importKey('pkcs8', der!, keyAlgorithm, false, ['sign']);
  } catch (cause) {
    throw new OperatorError('ERR_TLS_MATERIAL', 'ca.key is not a PEM PKCS#8 P-256 key', { cause });
  }
}

/** 16 random bytes with the top bit clear: positive, never zero, as RFC 5280 §4.1.2.2 demands. */
function serialNumber(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return Buffer.from(bytes).toString('hex');
}
