import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { createPrivateKey, createPublicKey, KeyObject, type webcrypto } from 'node:crypto';
import { createCertificateRequest, maxRequestLength, readCertificateRequest } from './certificate-request.ts';

test('a request contains only the public half of its key', async () => {
  const { key, request } = await createCertificateRequest('svc-agent of node-1');
  const found = KeyObject.from(await readCertificateRequest(request));
  const own = createPublicKey(createPrivateKey(key));
  expect(found.export({ type: 'spki', format: 'pem' })).toBe(own.export({ type: 'spki', format: 'pem' }));
  expect(request).not.toContain('PRIVATE');
});

async function requestOf(
  algorithm: webcrypto.RsaHashedKeyGenParams | webcrypto.EcKeyGenParams,
  hash = 'SHA-256',
  change: (der: Uint8Array) => void = () => {},
): Promise<string> {
  const keys = (await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const signingAlgorithm = { ...algorithm, hash } as webcrypto.EcdsaParams;
  const made = await x509.Pkcs10CertificateRequestGenerator.create({ name: 'CN=x', keys, signingAlgorithm });
  const der = new Uint8Array(made.rawData);
  change(der);
  return x509.PemConverter.encode(der, 'CERTIFICATE REQUEST');
}

const p256 = { name: 'ECDSA', namedCurve: 'P-256' };
const rsa = { name: 'RSASSA-PKCS1-v1_5', publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' };
const refusals: [string, () => Promise<string>, RegExp][] = [
  ['an empty string', () => Promise.resolve(''), /no PKCS#10 in PEM/],
  ['text that is not a request', () => Promise.resolve('nonsense'), /no PKCS#10 in PEM/],
  ['a request that is too long', async () => (await requestOf(p256)) + ' '.repeat(maxRequestLength), /longer than/],
  ['a short RSA key', () => requestOf({ ...rsa, modulusLength: 1024 }), /a key of RSASSA.*not of ECDSA P-256/],
  ['a long RSA key', () => requestOf({ ...rsa, modulusLength: 2048 }), /not of ECDSA P-256/],
  ['a key of another curve', () => requestOf({ name: 'ECDSA', namedCurve: 'P-384' }), /P-384, not of ECDSA P-256/],
  ['a signature over SHA-1', () => requestOf(p256, 'SHA-1'), /SHA-1, not with SHA-256/],
  [
    'a request whose signature is not that of its key',
    () => requestOf(p256, 'SHA-256', (der) => (der[der.length - 1]! ^= 1)),
    /signature/,
  ],
];
test.each(refusals)('refuses %s, and says why', async (_what, request, reason) => {
  await expect(readCertificateRequest(await request())).rejects.toMatchObject({
    code: 'ERR_INPUT_INVALID',
    message: expect.stringMatching(reason) as string,
  });
});

test('a request with another public key is refused: the requester must hold the private key', async () => {
  const [mine, theirs] = await Promise.all([requestOf(p256), requestOf(p256)]);
  const der = (pem: string) => Buffer.from(x509.PemConverter.decode(pem)[0]!);
  const spki = Buffer.from(new x509.Pkcs10CertificateRequest(mine).publicKey.rawData);
  const other = Buffer.from(new x509.Pkcs10CertificateRequest(theirs).publicKey.rawData);
  const swapped = der(mine);
  other.copy(swapped, swapped.indexOf(spki));
  const pem = x509.PemConverter.encode(new Uint8Array(swapped), 'CERTIFICATE REQUEST');
  await expect(readCertificateRequest(pem)).rejects.toThrow(/signature/);
});
