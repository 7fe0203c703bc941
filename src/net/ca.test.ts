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
  ['its key is another one', 'key of another certificate'],
])('renews a leaf when %s', async (_why, reason) => {
  const ca = await createCa({ commonName: 'svc-ca', now });
  const other = await createCa({ commonName: 'svc-ca', now });
  const leaf = await issueLeaf(reason === 'signed by another CA' ? other : ca, names, { now });
  const held = reason === 'absent' ? undefined : reason === 'unreadable' ? { cert: 'x', key: 'y' } : leaf;
  const pair = held && reason === 'key of another certificate' ? { ...held, key: other.key } : held;
  const wanted = reason === 'names changed' ? { ...names, dnsNames: ['svc-agent'] } : names;
  const at = reason === 'due for renewal' ? renewalTime(leaf) : reason === 'not yet valid' ? now - day : now;
  expect(await leafRenewalReason(pair, ca, wanted, at)).toBe(reason);
});

test('renews a leaf whose key is unreadable, and keeps one whose key is elsewhere', async () => {
  const ca = await createCa({ commonName: 'svc-ca', now });
  const { cert } = await issueLeaf(ca, names, { now });
  expect(await leafRenewalReason({ cert, key: 'nonsense' }, ca, names, now)).toBe('key of another certificate');
  expect(await leafRenewalReason({ cert }, ca, names, now)).toBeNull();
});

test('refuses to sign with a CA key that is not a key', async () => {
  const ca = await createCa({ commonName: 'svc-ca', now });
  await expect(issueLeaf({ ...ca, key: 'nonsense' }, names, { now })).rejects.toMatchObject({
    code: 'ERR_TLS_MATERIAL',
  });
});

test('refuses to sign with the key of another CA', async () => {
  const [ca, other] = await Promise.all([1, 2].map(() => createCa({ commonName: 'svc-ca', now })));
  await expect(issueLeaf({ ...ca!, key: other!.key }, names, { now })).rejects.toThrow(
    'ca.key is not the key of ca.crt',
  );
});
