import { agentServerName, sharedAgentName } from '../api/agents/agent-certificate.ts';
import { issueLeaf, type KeyPairPem } from '../net/ca.ts';
import type { TlsMaterial } from '../net/tls-material.ts';

/** What the agent of that node answers with once the operator of `svc-system` has issued its certificate. */
export async function agentTls(ca: KeyPairPem, node: string): Promise<TlsMaterial> {
  const dnsNames = [agentServerName(node, 'svc-system'), sharedAgentName('svc-system')];
  const leaf = await issueLeaf(ca, { commonName: 'svc-agent', dnsNames, usage: 'server' }, { now: Date.now() });
  return { ...leaf, ca: ca.cert };
}
