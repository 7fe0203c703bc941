import { X509Certificate } from 'node:crypto';
import { createCa, expiryTime, issueLeaf, leafRenewalReason, renewalTime } from './ca.ts';

const now = Date.UTC(2026, 5, 1);
const day = 86_400_000;
const names = {
  commonName: 'svc-agent',
  dnsNames: ['svc-agent', 'svc-agent.svc-system.svc'],
  ipAddresses: ['127.0.0.1'],
};

test('issues a leaf that OpenSSL accepts as signed by the CA for its names', async () => {
  const ca = await createCa({ commonName: 'svc-ca', now });
  const leaf = await issueLeaf(ca, names, { now });
  const cert = new X509Certificate(leaf.cert);
  expect(cert.verify(new X509Certificate(ca.cert).publicKey)).toBe(true);
  expect(cert.checkHost('svc-agent.svc-system.svc')).toBe('svc-agent.svc-system.svc');
  expect(cert.checkIP('127.0.0.1')).toBe('127.0.0.1');
  expect(cert.checkHost('svc-query')).toBeUndefined();
  expect(cert.ca).toBe(false);
  expect(expiryTime(leaf)).toBe(now + 90 * day);
});

test('keeps a leaf that is young, complete and signed by this CA', async () => {
  const ca = await createCa({ commonName: 'svc-ca', now });
  const leaf = await issueLeaf(ca, names, { now });
  expect(await leafRenewalReason(leaf, ca, names, now + 30 * day)).toBeNull();
});

test.each([
  ['it is absent', 'absent'],
  ['it is not PEM', 'unreadable'],
  ['its names changed', 'names changed'],
  ['another CA signed it', 'signed by another CA'],
  ['two thirds of its life are over', 'due for renewal'],
  ['it was issued while the clock ran ahead', 'not yet valid'],
])('renews a leaf when %s', async (_why, reason) => {
  const ca = await createCa({ commonName: 'svc-ca', now });
  const other = await createCa({ commonName: 'svc-ca', now });
  const leaf = await issueLeaf(reason === 'signed by another CA' ? other : ca, names, { now });
  const held = reason === 'absent' ? undefined : reason === 'unreadable' ? { cert: 'x', key: 'y' } : leaf;
  const wanted = reason === 'names changed' ? { ...names, dnsNames: ['svc-agent'] } : names;
  const at = reason === 'due for renewal' ? renewalTime(leaf) : reason === 'not yet valid' ? now - day : now;
  expect(await leafRenewalReason(held, ca, wanted, at)).toBe(reason);
});

test('refuses to sign with a CA key that is not a key', async () => {
  const ca = await createCa({ commonName: 'svc-ca', now });
  await expect(issueLeaf({ ...ca, key: 'nonsense' }, names, { now })).rejects.toMatchObject({
    code: 'ERR_TLS_MATERIAL',
  });
});
