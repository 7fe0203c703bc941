import { generateKeyPairSync } from 'node:crypto';
import { isIP } from 'node:net';
import { createCa, issueLeaf as issue, type KeyPairPem } from '../../src/net/ca.ts';

export type KeyPair = KeyPairPem;

export interface LeafOptions {
  /** Subject CN: the user name towards the API server. */
  commonName: string;
  /** The values of Subject O: the user's groups towards the API server. */
  organizations?: readonly string[];
  /** DNS names and IP addresses, told apart by their form. */
  names?: readonly string[];
}

/** A self-signed P-256 authority, good for ten years. */
export const createAuthority = (commonName: string): Promise<KeyPair> => createCa({ commonName, now: Date.now() });

/** A P-256 leaf for client and server use, signed by `authority`; good for as long as a cluster can be kept. */
export function issueLeaf(authority: KeyPair, options: LeafOptions): Promise<KeyPair> {
  const { commonName, organizations = [], names = [] } = options;
  const dnsNames = names.filter((name) => isIP(name) === 0);
  const ipAddresses = names.filter((name) => isIP(name) !== 0);
  return issue(authority, { commonName, organizations, dnsNames, ipAddresses }, { now: Date.now(), days: 365 });
}

/** A bare P-256 key pair, PEM: what the API server signs service-account tokens with. */
export function createSigningKey(): { publicKey: string; privateKey: string } {
  return generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}
