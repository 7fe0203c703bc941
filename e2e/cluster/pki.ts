import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import * as der from './der.ts';

/** A certificate and its private key, both PEM (the key as PKCS #8). */
export interface KeyPair {
  cert: string;
  key: string;
}

export interface LeafOptions {
  /** Subject CN: the user name towards the API server. */
  commonName: string;
  /** Subject O, each: the groups towards the API server. */
  organizations?: readonly string[];
  /** DNS names and IP addresses, told apart by their form. */
  names?: readonly string[];
}

const lifetimeMs = 10 * 365 * 24 * 3600 * 1000;
const ecdsaWithSha256 = der.sequence(der.oid('1.2.840.10045.4.3.2'));

/** A self-signed P-256 authority, good for ten years. */
export function createAuthority(commonName: string): KeyPair {
  const key = newEcKey();
  const subject = name(commonName, []);
  return { cert: certificate({ key, subject, issuer: subject, signer: key, ca: true, names: [] }), key };
}

/** A P-256 leaf for client and server use, signed by `authority`. */
export function issueLeaf(authority: KeyPair, options: LeafOptions): KeyPair {
  const key = newEcKey();
  const cert = certificate({
    key,
    subject: name(options.commonName, options.organizations ?? []),
    issuer: subjectOf(authority.cert),
    signer: authority.key,
    ca: false,
    names: options.names ?? [],
  });
  return { cert, key };
}

/** A bare P-256 key pair, PEM: what the API server signs service-account tokens with. */
export function createSigningKey(): { publicKey: string; privateKey: string } {
  return generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}

const newEcKey = (): string => createSigningKey().privateKey;

interface CertificateParts {
  key: string;
  subject: Buffer;
  issuer: Buffer;
  signer: string;
  ca: boolean;
  names: readonly string[];
}

function certificate(parts: CertificateParts): string {
  const publicKey = createPublicKey(createPrivateKey(parts.key)).export({ type: 'spki', format: 'der' });
  const signerKey = createPublicKey(createPrivateKey(parts.signer)).export({ type: 'spki', format: 'der' });
  const now = Date.now();
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const tbs = der.sequence(
    der.tlv(0xa0, der.integer(Buffer.from([2]))),
    der.integer(serial),
    ecdsaWithSha256,
    parts.issuer,
    der.sequence(der.utcTime(new Date(now - 3600_000)), der.utcTime(new Date(now + lifetimeMs))),
    parts.subject,
    publicKey,
    der.tlv(0xa3, der.sequence(...extensions(parts, publicKey, signerKey))),
  );
  const signature = sign('sha256', tbs, parts.signer);
  const body = der.sequence(tbs, ecdsaWithSha256, der.bits(signature)).toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${body.replaceAll(/(.{64})(?=.)/g, '$1\n')}\n-----END CERTIFICATE-----\n`;
}

function extensions(parts: CertificateParts, publicKey: Buffer, signerKey: Buffer): Buffer[] {
  const extension = (id: string, critical: boolean, value: Buffer): Buffer =>
    der.sequence(der.oid(id), ...(critical ? [der.boolean(true)] : []), der.octets(value));
  const list = [
    extension('2.5.29.19', true, parts.ca ? der.sequence(der.boolean(true)) : der.sequence()),
    // keyCertSign, cRLSign and digitalSignature for an authority; digitalSignature for a leaf.
    extension('2.5.29.15', true, parts.ca ? der.bits(Buffer.from([0x86]), 1) : der.bits(Buffer.from([0x80]), 7)),
    extension('2.5.29.14', false, der.octets(keyId(publicKey))),
    extension('2.5.29.35', false, der.sequence(der.tlv(0x80, keyId(signerKey)))),
  ];
  if (!parts.ca) {
    const uses = der.sequence(der.oid('1.3.6.1.5.5.7.3.1'), der.oid('1.3.6.1.5.5.7.3.2'));
    list.push(extension('2.5.29.37', false, uses));
  }
  if (parts.names.length > 0) {
    list.push(extension('2.5.29.17', false, der.sequence(...parts.names.map(alternativeName))));
  }
  return list;
}

function alternativeName(text: string): Buffer {
  if (isIP(text) === 4) return der.tlv(0x87, Buffer.from(text.split('.').map(Number)));
  return der.tlv(0x82, Buffer.from(text));
}

function name(commonName: string, organizations: readonly string[]): Buffer {
  const attribute = (id: string, text: string): Buffer => der.set(der.sequence(der.oid(id), der.utf8(text)));
  return der.sequence(...organizations.map((o) => attribute('2.5.4.10', o)), attribute('2.5.4.3', commonName));
}

/** Authorities here have a CN alone, so the issuer's name can be made again from it. */
function subjectOf(certPem: string): Buffer {
  const common = commonNames.get(certPem);
  if (common !== undefined) return common;
  const raw = Buffer.from(certPem.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64');
  const subject = nthField(raw, 5);
  commonNames.set(certPem, subject);
  return subject;
}

const commonNames = new Map<string, Buffer>();

/** The nth field of the to-be-signed part: 0 version, 1 serial, 2 algorithm, 3 issuer, 4 validity, 5 subject. */
function nthField(certDer: Buffer, n: number): Buffer {
  let at = valueOffset(certDer, valueOffset(certDer, 0));
  for (let i = 0; ; i++) {
    const start = valueOffset(certDer, at);
    const end = start + valueLength(certDer, at);
    if (i === n) return certDer.subarray(at, end);
    at = end;
  }
}

function valueOffset(buf: Buffer, at: number): number {
  const first = buf[at + 1] ?? 0;
  return at + 2 + (first < 0x80 ? 0 : first - 0x80);
}

function valueLength(buf: Buffer, at: number): number {
  const first = buf[at + 1] ?? 0;
  return first < 0x80 ? first : buf.readUIntBE(at + 2, first - 0x80);
}

const keyId = (spki: Buffer): Buffer => createHash('sha1').update(spki).digest();
