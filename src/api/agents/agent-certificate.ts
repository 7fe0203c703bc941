import { sha256Hex } from '../../base/canonical-json.ts';

/** Longest DNS name, RFC 1035 §2.3.4. */
const maxNameLength = 253;

/**
 * The names that the certificate of a node's agent may have. A client accepts only a certificate with the name of the
 * node that it wants to reach, so that an agent can answer only for its own node, at whatever address it listens.
 */
export interface AgentServerName {
  /** The DNS name that the certificate of this node's agent carries. */
  readonly servername: string;
  /** The name that all agents share. It is accepted from agents of earlier versions, whose certificate has only it. */
  readonly sharedName?: string;
}

/** The DNS name of one node's agent. A node name that would make it too long is replaced by the name's digest. */
export function agentServerName(node: string, namespace: string): string {
  const domain = sharedAgentName(namespace);
  const whole = `${node}.${domain}`;
  return whole.length <= maxNameLength ? whole : `sha256-${sha256Hex(node).slice(0, 40)}.${domain}`;
}

/** The DNS name that all agents have in common: that of their Service. */
export function sharedAgentName(namespace: string): string {
  return `svc-agent.${namespace}.svc`;
}

/**
 * The names to accept at the address of a node's agent. `isShared`: its pod has the certificate that all agents share.
 */
export function agentIdentity(node: string, namespace: string, isShared: boolean): AgentServerName {
  const servername = agentServerName(node, namespace);
  return isShared ? { servername, sharedName: sharedAgentName(namespace) } : { servername };
}

/** The Secret with the one certificate that agents of earlier versions share. */
export const sharedAgentSecret = 'svc-agent-tls';

/**
 * Audience of the service-account token by which an agent proves its identity to the operator. The API server itself
 * accepts no token of this audience.
 */
export const certificateAudience = 'svc-controller-certificates';

/** The part of a pod that shows which certificate its agent has. */
export interface PodVolumes {
  readonly volumes?: readonly { readonly secret?: { readonly secretName?: string } }[];
}

/**
 * Whether the agent in this pod has the certificate that all agents share. A pod's volumes cannot change after its
 * creation, so neither the agent nor its node can claim this for a pod of a later version.
 */
export function hasSharedCertificate(spec: PodVolumes | undefined): boolean {
  return spec?.volumes?.some(({ secret }) => secret?.secretName === sharedAgentSecret) ?? false;
}
