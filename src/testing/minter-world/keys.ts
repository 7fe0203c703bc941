import { generateKeyPairSync, type KeyObject } from 'node:crypto';

const made = new Map<string, KeyObject>();

/** A private RSA key, made once per name and process: making a key takes a noticeable part of a second. */
export function testKey(name: string, bits = 2048): KeyObject {
  const id = `${name}/${bits}`;
  let key = made.get(id);
  if (!key) {
    key = generateKeyPairSync('rsa', { modulusLength: bits }).privateKey;
    made.set(id, key);
  }
  return key;
}

/** PEM of a private key: PKCS#1, as the hosting platform issues the keys of Apps, or PKCS#8. */
export function privatePem(key: KeyObject, type: 'pkcs1' | 'pkcs8' = 'pkcs1'): Buffer {
  return Buffer.from(key.export({ type, format: 'pem' }) as string);
}
