import type { webcrypto } from 'node:crypto';
import { agentServerName, sharedAgentName } from '../../api/agents/agent-certificate.ts';
import { sha256Hex } from '../../base/canonical-json.ts';
import { OperatorError } from '../../base/errors.ts';
import type { CertificateOffer } from '../../capture/index.ts';
import { leafRenewalReason, renewalTime, type KeyPairPem, type LeafNames } from '../../net/ca.ts';
import { readCertificateRequest } from '../../net/certificate-request.ts';
import type { UserInfo } from '../../kube/reviews.ts';
import { names } from '../../render/index.ts';

/** The pod of the agent, as the API server reports it. */
export interface AgentToCertify {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly node: string;
}

/** Why an agent's offer (its token and certificate request) is refused; also the value of a metric's label. */
export type RefusalReason = 'BadRequest' | 'TokenInvalid' | 'OtherAccount' | 'NotBound' | 'OtherPod' | 'OtherNode';

/** An offer that is refused, as ERR_INPUT_INVALID. */
export class OfferRefused extends OperatorError {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string) {
    super('ERR_INPUT_INVALID', message);
    this.name = 'OfferRefused';
    this.reason = reason;
  }
}

/**
 * The extra fields that a TokenReview adds for a token bound to a pod (KEP-1205), and since Kubernetes 1.30 for its
 * node (KEP-4193).
 */
const podName = 'authentication.kubernetes.io/pod-name';
const podUid = 'authentication.kubernetes.io/pod-uid';
const nodeName = 'authentication.kubernetes.io/node-name';

/** How long a certificate of an agent is valid. Units: days. */
export const agentCertificateDays = 30;
/** Renewals of agents that started together are spread over a tenth of the validity. */
const renewalSpread = 0.1;

/**
 * The names in the certificate of a node's agent. It cannot be used as a client certificate. The name that all agents
 * share is for remote-read clients that know no nodes, and for query servers of earlier versions, which still run
 * during an upgrade. Our own clients accept the shared name only from a certificate without the name of a node.
 */
export function agentNames({ node, namespace }: Pick<AgentToCertify, 'node' | 'namespace'>): LeafNames {
  return {
    commonName: names.agent,
    dnsNames: [agentServerName(node, namespace), sharedAgentName(namespace)],
    usage: 'server',
  };
}

/**
 * When an agent's certificate is renewed: two thirds into its life, or earlier by up to a tenth of its life. Units: ms.
 */
export function agentRenewalTime(certificate: string, node: string): number {
  const share = parseInt(sha256Hex(node).slice(0, 8), 16) / 2 ** 32;
  return renewalTime({ cert: certificate }) - share * renewalSpread * agentCertificateDays * 86_400_000;
}

/** Why an agent needs another certificate than the one it serves; null when it needs none. */
export async function agentRenewalReason(
  certificate: string | undefined,
  agent: AgentToCertify,
  signer: Pick<KeyPairPem, 'cert'>,
  now: number,
): Promise<string | null> {
  const leaf = certificate === undefined ? undefined : { cert: certificate };
  const reason = await leafRenewalReason(leaf, signer, agentNames(agent), now);
  if (reason !== null || certificate === undefined) return reason;
  return now >= agentRenewalTime(certificate, agent.node) ? 'due for renewal' : null;
}

/**
 * The key to sign for the agent in that pod, if the offer comes from that agent.
 *
 * What is proven: the sender has the private key (the request's signature) and the token of this very pod. A token is
 * bound to its pod and its node, and only that node's kubelet can get one. So an attacker who controls a node can
 * request that node's certificate, and no other.
 * `review` returns the user of a token that is valid now and was issued for this purpose; else undefined.
 * Errors: OfferRefused; those of `review`.
 */
export async function judgeOffer(
  offer: CertificateOffer,
  agent: AgentToCertify,
  review: (token: string) => Promise<UserInfo | undefined>,
): Promise<webcrypto.CryptoKey> {
  // The signature is checked first, because the review is a request to the API server.
  const key = await readCertificateRequest(offer.request).catch((error: unknown) => {
    throw new OfferRefused('BadRequest', error instanceof Error ? error.message : String(error));
  });
  const user = await review(offer.token);
  if (!user) {
    throw new OfferRefused('TokenInvalid', 'the token is expired, was made for another audience, or is not a token');
  }
  const account = `system:serviceaccount:${agent.namespace}:${names.agent}`;
  if (user.username !== account) throw new OfferRefused('OtherAccount', `the token is of ${shown(user.username)}`);
  const [name, uid, node] = [podName, podUid, nodeName].map((claim) => user.extra?.[claim]);
  if (name?.length !== 1 || uid?.length !== 1) {
    throw new OfferRefused('NotBound', 'the token is not bound to a pod');
  }
  if (name[0] !== agent.pod || uid[0] !== agent.uid) {
    throw new OfferRefused('OtherPod', `the token is of pod ${shown(name[0]!)} (${shown(uid[0]!)})`);
  }
  // API servers before 1.30 do not report the node. The check of the pod suffices then: a pod never changes its node.
  if (node !== undefined && (node.length !== 1 || node[0] !== agent.node)) {
    throw new OfferRefused('OtherNode', `the token is of node ${shown(node.join())}`);
  }
  return key;
}

/** Foreign text in one of our messages: cut, and quoted. */
const shown = (text: string): string => JSON.stringify(text.slice(0, 120));
