import { X509Certificate } from 'node:crypto';
import { createAuthority, issueLeaf } from './pki.ts';

test('issues certificates that OpenSSL reads, verifies and matches to their names', async () => {
  const ca = await createAuthority('a-ca');
  const leaf = await issueLeaf(ca, { commonName: 'jane', organizations: ['a', 'b'], names: ['x.example', '10.1.2.3'] });
  const authority = new X509Certificate(ca.cert);
  const certificate = new X509Certificate(leaf.cert);
  expect(authority.ca).toBe(true);
  expect(certificate.ca).toBe(false);
  expect(certificate.verify(authority.publicKey)).toBe(true);
  expect(certificate.checkIssued(authority)).toBe(true);
  expect(certificate.subject).toBe('O=a\nO=b\nCN=jane');
  expect(certificate.checkHost('x.example')).toBe('x.example');
  expect(certificate.checkIP('10.1.2.3')).toBe('10.1.2.3');
  expect(certificate.checkIP('10.1.2.4')).toBeUndefined();
  expect(new Date(certificate.validFrom).getTime()).toBeLessThan(Date.now());
});
