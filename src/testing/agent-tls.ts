import { agentServerName, sharedAgentName } from '../api/agents/agent-certificate.ts';
import { issueLeaf, type KeyPairPem } from '../net/ca.ts';
import type { TlsMaterial } from '../net/tls-material.ts';

/** The TLS material of the agent on `node`: the CA, and a certificate as the operator in `svc-system` issues it. */
export async function agentTls(ca: KeyPairPem, node: string): Promise<TlsMaterial> {
  const dnsNames = [agentServerName(node, 'svc-system'), sharedAgentName('svc-system')];
  const leaf = await issueLeaf(ca, { commonName: 'svc-agent', dnsNames, usage: 'server' }, { now: Date.now() });
  return { ...leaf, ca: ca.cert };
}
