import { X509Certificate } from 'node:crypto';
import { createCa, issueLeaf, signLeaf } from '../../net/ca.ts';
import { createCertificateRequest } from '../../net/certificate-request.ts';
import type { UserInfo } from '../../kube/reviews.ts';
import { agentNames, agentRenewalReason, agentRenewalTime, judgeOffer, type AgentToCertify } from './judge.ts';

const agent: AgentToCertify = { namespace: 'svc-system', pod: 'svc-agent-x', uid: 'u-1', node: 'node-a' };
const claims = {
  'authentication.kubernetes.io/pod-name': ['svc-agent-x'],
  'authentication.kubernetes.io/pod-uid': ['u-1'],
  'authentication.kubernetes.io/node-name': ['node-a'],
};
const user: UserInfo = { username: 'system:serviceaccount:svc-system:svc-agent', extra: claims };
const without = (claim: keyof typeof claims): UserInfo => {
  const { [claim]: _gone, ...extra } = claims;
  return { ...user, extra };
};
const withClaim = (claim: string, ...values: string[]): UserInfo => ({
  ...user,
  extra: { ...claims, [claim]: values },
});
const offered = async (request?: string) => ({
  ...{ node: 'node-a', token: 't' },
  request: request ?? (await createCertificateRequest('x')).request,
});
const day = 86_400_000;

test.each<[string, UserInfo]>([
  ['with its node name', user],
  ['from an API server that omits the node name', without('authentication.kubernetes.io/node-name')],
])('accepts the token of the very pod that the operator asked, %s', async (_what, found) => {
  expect((await judgeOffer(await offered(), agent, () => Promise.resolve(found))).type).toBe('public');
});

test.each<[string, string, UserInfo | undefined]>([
  ['that is expired, for another audience or missing', 'TokenInvalid', undefined],
  ['of another account', 'OtherAccount', { ...user, username: 'system:serviceaccount:svc-system:svc-query' }],
  [
    'of the account of that name in another namespace',
    'OtherAccount',
    { ...user, username: 'system:serviceaccount:shop:svc-agent' },
  ],
  ['of a person', 'OtherAccount', { ...user, username: 'svc-agent' }],
  ['that is bound to nothing', 'NotBound', { username: user.username }],
  ['without a pod name', 'NotBound', without('authentication.kubernetes.io/pod-name')],
  ['without a pod uid', 'NotBound', without('authentication.kubernetes.io/pod-uid')],
  ['with two pods', 'NotBound', withClaim('authentication.kubernetes.io/pod-name', 'svc-agent-x', 'y')],
  ['of the agent of another node', 'OtherPod', withClaim('authentication.kubernetes.io/pod-name', 'svc-agent-y')],
  ['of an earlier pod of that name', 'OtherPod', withClaim('authentication.kubernetes.io/pod-uid', 'u-0')],
  ['of another node', 'OtherNode', withClaim('authentication.kubernetes.io/node-name', 'node-b')],
  ['of two nodes', 'OtherNode', withClaim('authentication.kubernetes.io/node-name', 'node-a', 'node-b')],
])('refuses a token %s', async (_what, reason, found) => {
  await expect(judgeOffer(await offered(), agent, () => Promise.resolve(found))).rejects.toMatchObject({ reason });
});

test('a malformed certificate request costs the API server no token review', async () => {
  const review = (): never => {
    throw new Error('asked');
  };
  await expect(judgeOffer(await offered('nonsense'), agent, review)).rejects.toMatchObject({ reason: 'BadRequest' });
});

test('a foreign user name is quoted and truncated in the message', async () => {
  const shouting = { ...user, username: `"\n${'x'.repeat(10_000)}` };
  const refused = judgeOffer(await offered(), agent, () => Promise.resolve(shouting));
  const error = await refused.catch((found: Error) => found);
  expect((error as Error).message).toMatch(/^the token is of "\\"\\nx+"$/);
  expect((error as Error).message.length).toBeLessThan(200);
});

test('the certificate names the node of the pod, whatever node the agent states, and is for servers only', async () => {
  const ca = await createCa({ commonName: 'svc-ca', now: 0 });
  const key = await judgeOffer({ ...(await offered()), node: 'node-b' }, agent, () => Promise.resolve(user));
  const leaf = new X509Certificate(await signLeaf(ca, key, agentNames(agent), { now: 0, days: 30 }));
  expect(leaf.subject).toBe('CN=svc-agent');
  expect(leaf.subjectAltName).toBe('DNS:node-a.svc-agent.svc-system.svc, DNS:svc-agent.svc-system.svc');
  expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  expect(leaf.ca).toBe(false);
});

test('renewal is due at two thirds of the lifetime, or up to a tenth earlier depending on the node', async () => {
  const ca = await createCa({ commonName: 'svc-ca', now: 0 });
  const { cert } = await issueLeaf(ca, agentNames(agent), { now: 0, days: 30 });
  const times = Array.from({ length: 100 }, (_, i) => agentRenewalTime(cert, `node-${i}`) / day);
  expect(Math.max(...times)).toBeLessThanOrEqual(20);
  expect(Math.min(...times)).toBeGreaterThan(16.9);
  expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(2.5);
  expect(agentRenewalTime(cert, 'node-1')).toBe(agentRenewalTime(cert, 'node-1'));
});

test('gives the reason why another certificate is needed, or null when none is', async () => {
  const [ca, other] = await Promise.all([1, 2].map(() => createCa({ commonName: 'svc-ca', now: 0 })));
  const leaf = async (node: string, authority = ca!) =>
    (await issueLeaf(authority, agentNames({ ...agent, node }), { now: 0, days: 30 })).cert;
  const due = agentRenewalTime(await leaf('node-a'), 'node-a');
  const reason = (cert: string | undefined, now = day) => agentRenewalReason(cert, agent, ca!, now);
  expect(await reason(undefined)).toBe('absent');
  expect(await reason('nonsense')).toBe('unreadable');
  // As after a cloned disk or a copied key.
  expect(await reason(await leaf('node-b'))).toBe('names changed');
  expect(await reason(await leaf('node-a', other))).toBe('signed by another CA');
  expect(await reason(await leaf('node-a'), due - 60_000)).toBeNull();
  expect(await reason(await leaf('node-a'), due + 60_000)).toBe('due for renewal');
  expect(await reason(await leaf('node-a'), -day)).toBe('not yet valid');
});
