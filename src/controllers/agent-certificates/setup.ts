import { X509Certificate } from 'node:crypto';
import type { Registry } from 'prom-client';
import { agentIdentity, certificateAudience } from '../../api/agents/agent-certificate.ts';
import { errorText, isOperatorError } from '../../base/errors.ts';
import { metricsOn } from '../../base/metric-set.ts';
import { CertificateClient } from '../../capture/index.ts';
import { coreResources, reviewTokenFor } from '../../kube/index.ts';
import { signLeaf } from '../../net/ca.ts';
import type { UserInfo } from '../../kube/reviews.ts';
import { names } from '../../render/index.ts';
import {
  allOf,
  changed,
  type ControllerEnvironment,
  type ControllerHandle,
  type Mapper,
  type ObjectKey,
  type Predicate,
  type ReconcileContext,
  type ReconcileResult,
  toSelf,
} from '../../runtime/index.ts';
import { controllerTransport } from '../capture/controller-transport.ts';
import { agentOf, agentPodsIn, agentRestarts, isAgentPod, type PodObject, podTransform } from '../capture/facts.ts';
import { managedSecrets, readCa, type SecretObject } from '../platform/certificates.ts';
import {
  agentCertificateDays,
  agentNames,
  agentRenewalReason,
  agentRenewalTime,
  type AgentToCertify,
  judgeOffer,
  OfferRefused,
} from './judge.ts';
import { WaitingAgents } from './waiting.ts';

const controllerName = 'agent-certificates';
/** Number of agents that are contacted at the same time. */
const concurrency = 8;
/** An agent that does not answer is asked again after this time, which doubles with each attempt. Units: ms. */
const firstRetryMs = 250;
const lastRetryMs = 15_000;
/** An agent is contacted this often even if nothing is due, in case it lost its certificate. Units: ms. */
const recheckMs = 3_600_000;
/** An agent without a certificate for this long is reported as waiting. Units: ms. */
const waitingAfterMs = 60_000;
/**
 * An agent that got no new certificate is also reported as waiting when its current one ends within this time. Units:
 * ms.
 */
const endsSoonMs = (agentCertificateDays / 10) * 86_400_000;

export interface AgentCertificateSettings {
  /** Where operator and agents run. */
  readonly namespace: string;
  /** Default 9093. */
  readonly agentPort?: number;
  /** Records the agents that could not be given a certificate. */
  readonly waiting?: WaitingAgents;
  /** Called after the agent of a node accepted a certificate. */
  readonly onIssued?: (node: string) => void;
  /** The user of a token that is valid and issued for `certificateAudience`. Default: asks the API server. */
  readonly review?: (token: string, signal: AbortSignal) => Promise<UserInfo | undefined>;
}

/**
 * Gives each agent a certificate of its own, and renews it.
 *
 * Flow, for each running agent pod: ask the agent for an offer → if its certificate is still good, come back when
 * renewal is due → check the offer by a TokenReview of its token → sign the key in it → hand the certificate over.
 * Guarantees: a certificate names the node of the pod that was asked, whatever the offer says; private keys of agents
 * never reach the operator; at most one certificate is issued per pod at a time; after a failure, the back-off of the
 * queue applies. An agent without a certificate for a minute is recorded in `waiting`, and an Event on its pod says
 * why.
 * Assumptions: the operator's client certificate and the authority exist; until they do, the controller waits.
 * Caveats: the controller runs only on the leader. Without a leader, new agents wait for their first certificate; the
 * others keep theirs, which has a third of its life left when renewal is due.
 */
export function setupAgentCertificates(
  env: ControllerEnvironment,
  settings: AgentCertificateSettings,
): ControllerHandle {
  const { namespace, agentPort = 9093 } = settings;
  const pods = env.cache.informer<PodObject>({ resource: coreResources.pods, transform: podTransform });
  const agentPods = agentPodsIn(pods, namespace);
  const secrets = managedSecrets(env.cache, namespace);
  const { transport } = controllerTransport(env, namespace, { anyServer: true });
  const review = settings.review ?? ((token, signal) => reviewTokenFor(env.client, certificateAudience, token, signal));
  const { waiting = new WaitingAgents() } = settings;
  const certified = new Map<string, { uid: string; endsMs: number }>();
  /** When the current run of failed attempts began, by pod. Units: monotonic ms. */
  const failing = new Map<string, { uid: string; sinceMs: number }>();
  /** Attempts in a row that did not reach the agent, by pod. */
  const unanswered = new Map<string, number>();

  const count = (): Record<AgentCertificate, number> => {
    const counts = { own: 0, shared: 0, none: 0 };
    for (const pod of agentPods()) {
      const agent = agentOf(pod, namespace);
      if (!agent) continue;
      if (agent.isShared) counts.shared++;
      else if (certified.get(pod.metadata.name ?? '')?.uid === agent.uid) counts.own++;
      else counts.none++;
    }
    return counts;
  };
  const metrics = agentCertificateMetrics(env.registry, count);

  const forget = (name: string): void => {
    certified.delete(name);
    done(name);
  };
  const done = (name: string): void => {
    unanswered.delete(name);
    failing.delete(name);
    waiting.forget(name);
  };
  const warn = ({ metadata }: PodObject, reason: string, message: string): void => {
    const { apiVersion, kind } = coreResources.pods;
    env.events.record({ apiVersion, kind, metadata }, { type: 'Warning', reason, message });
  };
  const failed = (pod: PodObject, agent: CertifiableAgent, why: string): void => {
    const name = pod.metadata.name ?? '';
    const now = env.clock.monotonic();
    let since = failing.get(name);
    if (since?.uid !== agent.uid) failing.set(name, (since = { uid: agent.uid, sinceMs: now }));
    const known = certified.get(name);
    // A ready agent has a certificate; its end is known once the agent was contacted.
    const serves = known?.uid === agent.uid ? known.endsMs - env.clock.now() > endsSoonMs : isReadyAgent(pod);
    if (serves || now - since.sinceMs < waitingAfterMs) return;
    if (!waiting.note({ pod: name, node: agent.node, why })) return;
    warn(pod, 'CertificateMissing', `the agent got no certificate: ${why}`);
  };

  const later = (name: string): ReconcileResult => {
    const attempts = unanswered.get(name) ?? 0;
    unanswered.set(name, attempts + 1);
    return { requeueAfterMs: Math.min(lastRetryMs, firstRetryMs * 2 ** attempts) };
  };

  const reconcile = async (context: ReconcileContext): Promise<ReconcileResult> => {
    const { key, clock, signal } = context;
    const pod = pods.get(key);
    const agent = pod && agentOf(pod, namespace);
    if (!agent || agent.isShared) {
      forget(key.name);
      return undefined;
    }
    const authority = readCa(secrets.get({ namespace, name: names.ca }));
    const way = transport();
    if ('fault' in authority || !way) {
      failed(
        pod,
        agent,
        'fault' in authority ? `the authority: ${authority.fault}` : 'the operator has no certificate yet',
      );
      return later(key.name);
    }
    const { signer } = authority.state;
    const wanted: AgentToCertify = { namespace, pod: key.name, uid: agent.uid, node: agent.node };
    const client = new CertificateClient(way, {
      host: agent.host,
      port: agentPort,
      ...agentIdentity(agent.node, namespace, false),
    });
    try {
      const offer = await client.offer(signal);
      const reason = await agentRenewalReason(offer.certificate, wanted, signer, clock.now());
      let certificate = offer.certificate;
      if (reason !== null) {
        const publicKey = await judgeOffer(offer, wanted, (token) => review(token, signal));
        certificate = await signLeaf(signer, publicKey, agentNames(wanted), {
          now: clock.now(),
          days: agentCertificateDays,
        });
        await client.deliver(certificate, signal);
        metrics.issued.inc();
        context.logger.info('certificate issued to an agent', { node: agent.node, reason });
        settings.onIssued?.(agent.node);
      }
      done(key.name);
      certified.set(key.name, { uid: agent.uid, endsMs: Date.parse(new X509Certificate(certificate!).validTo) });
      const dueMs = agentRenewalTime(certificate!, agent.node) - clock.now();
      return { requeueAfterMs: Math.min(Math.max(dueMs, 1_000), recheckMs) };
    } catch (error) {
      if (isOperatorError(signal.reason, 'ERR_ABORTED')) throw error;
      if (isOperatorError(error, 'ERR_AGENT_UNREACHABLE') || isOperatorError(error, 'ERR_TIMEOUT')) {
        context.logger.debug('agent does not answer yet', { node: agent.node, error: error.message });
        failed(pod, agent, `it does not answer on port ${agentPort}`);
        return later(key.name);
      }
      failed(pod, agent, error instanceof OfferRefused ? `${error.reason}: ${error.message}` : errorText(error));
      if (error instanceof OfferRefused) {
        metrics.refused.inc({ reason: error.reason });
        warn(pod, 'CertificateRefused', `${error.reason}: ${error.message}`);
      }
      throw error;
    }
  };

  return env.addController({
    name: controllerName,
    concurrency,
    timeoutMs: 30_000,
    watches: [
      { source: pods.source, map: toSelf, predicates: [concerns(namespace)] },
      // When the authority changes, the agents' certificates are replaced while the old authority is still trusted.
      {
        source: secrets.source,
        map: toAgents(agentPods),
        predicates: [({ object }) => object.metadata.name === names.ca, changed<SecretObject>(({ data }) => data)],
      },
    ],
    reconcile,
  });
}

type CertifiableAgent = NonNullable<ReturnType<typeof agentOf>>;

function isReadyAgent({ status }: PodObject): boolean {
  return status?.containerStatuses?.find(({ name }) => name === 'agent')?.ready === true;
}

function toAgents(agentPods: () => PodObject[]): Mapper {
  return () =>
    agentPods().map(({ metadata }): ObjectKey => ({ namespace: metadata.namespace!, name: metadata.name ?? '' }));
}

/** Admits events that change the address, the identity or the restarts of an agent's pod. */
function concerns(namespace: string) {
  const facts = (pod: PodObject): unknown => {
    const agent = agentOf(pod, namespace);
    return agent && [agent.node, agent.host, agent.uid, agent.isShared, agentRestarts(pod)];
  };
  const isAgent: Predicate<PodObject> = ({ object }) => object.metadata.namespace === namespace && isAgentPod(object);
  return allOf<PodObject>(isAgent, changed(facts));
}

/** The state of an agent's certificate: its own, the one that agents of earlier versions share, or none yet. */
type AgentCertificate = 'own' | 'shared' | 'none';

/** `count` is called when the gauge is read. */
function agentCertificateMetrics(registry: Registry, count: () => Record<AgentCertificate, number>) {
  const { counter, gauge } = metricsOn(registry);
  const issued = counter(
    'svc_controller_agent_certificates_issued_total',
    'Certificates issued to agents and taken by them.',
  );
  const refused = counter(
    'svc_controller_agent_certificates_refused_total',
    'Certificates refused to what answered as an agent, by reason.',
    ['reason'],
  );
  gauge(
    'svc_controller_agent_certificates',
    'Running agents by their certificate: own, shared (of earlier versions), none (or not known yet).',
    ['certificate'],
    (metric) => {
      for (const [certificate, number] of Object.entries(count())) metric.set({ certificate }, number);
    },
  );
  return { issued, refused };
}
