import { agentServerName, sharedAgentName } from '../api/agents/agent-certificate.ts';
import { createCa, issueLeaf, type KeyPairPem, type LeafNames } from '../net/ca.ts';
import type { TlsMaterial } from '../net/tls-material.ts';

let ca: Promise<KeyPairPem> | undefined;
/** For each CA, the certificates that it has issued so far, by their names. */
const issued = new WeakMap<KeyPairPem, Map<string, Promise<TlsMaterial>>>();

/** The CA that all tests of this process share: to make one takes many milliseconds of processor time. */
export function stageCa(): Promise<KeyPairPem> {
  return (ca ??= createCa({ commonName: 'svc-ca', now: Date.now() }));
}

/** The TLS material of the agent on `node`: the CA, and a certificate as the operator in `svc-system` issues it. */
export function agentTls(of: KeyPairPem, node: string): Promise<TlsMaterial> {
  const dnsNames = [agentServerName(node, 'svc-system'), sharedAgentName('svc-system')];
  return issueOnce(of, { commonName: 'svc-agent', dnsNames, usage: 'server' });
}

/** The TLS material of a server or controller that runs on loopback. */
export function loopbackTls(of: KeyPairPem, commonName: string): Promise<TlsMaterial> {
  const dnsNames = [commonName, `${commonName}.svc-system.svc`, 'localhost'];
  return issueOnce(of, { commonName, dnsNames, ipAddresses: ['127.0.0.1'] });
}

/** One certificate for each CA and names. */
function issueOnce(of: KeyPairPem, names: LeafNames): Promise<TlsMaterial> {
  const leaves = issued.get(of) ?? new Map<string, Promise<TlsMaterial>>();
  issued.set(of, leaves);
  const key = JSON.stringify(names);
  const made = leaves.get(key) ?? issue(of, names);
  leaves.set(key, made);
  return made;
}

async function issue(of: KeyPairPem, names: LeafNames): Promise<TlsMaterial> {
  return { ...(await issueLeaf(of, names, { now: Date.now() })), ca: of.cert };
}
