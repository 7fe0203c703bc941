import type { KubeObject } from '../../api/meta.ts';
import { errorText } from '../../base/errors.ts';
import { coreResources } from '../../kube/index.ts';
import {
  expiryTime,
  isOverdue,
  issueLeaf,
  leafRenewalReason,
  renewalTime,
  type KeyPairPem,
  type LeafNames,
} from '../../net/ca.ts';
import { caBundle, type CaState } from '../../net/ca-rotation.ts';
import { names, objectLabels, type Component } from '../../render/index.ts';
import type { ControllerEnvironment, Informer } from '../../runtime/index.ts';

/** A Secret as it is or should be; data in base64 as in the API. */
export interface SecretObject extends KubeObject {
  type?: string;
  data?: Record<string, string>;
}

/** One identity that our components need: which Secret has it and what its certificate says. */
export interface Identity {
  secret: string;
  component: Component;
  names: LeafNames;
}

/** Selects all objects that the operator keeps for the installation, the Secrets among them. */
export const managedSelector = 'app.kubernetes.io/name=svc-operator,app.kubernetes.io/managed-by=svc-controller';

/** The Secrets of the namespace that the operator manages. */
export function managedSecrets(cache: ControllerEnvironment['cache'], namespace: string): Informer<SecretObject> {
  return cache.informer({ resource: coreResources.secrets, namespace, labelSelector: managedSelector });
}

/**
 * The identities whose certificates the operator keeps. The subject's CN is the identity; the DNS names are those that
 * peers connect with. Each agent has a certificate of its own (`src/controllers/agent-certificates`). With
 * `sharedAgents` the agents' shared certificate is kept as well, for pods of earlier versions, which mount it.
 */
export function platformIdentities(namespace: string, sharedAgents: boolean): Identity[] {
  const identity = (secret: string, component: Component, name: string, local = false, alias?: string): Identity => ({
    secret,
    component,
    names: {
      commonName: name,
      dnsNames: [
        ...serviceNames(name, namespace),
        ...(alias === undefined ? [] : serviceNames(alias, namespace)),
        ...(local ? ['localhost'] : []),
      ],
      ...(local ? { ipAddresses: ['127.0.0.1'] } : {}),
    },
  });
  return [
    ...(sharedAgents ? [identity(names.agentTls, 'agent', names.agent)] : []),
    // Users reach the query server through a port-forward.
    identity(names.queryTls, 'query', names.query, true),
    // The API server calls the webhooks through their own Service, or, if the operator runs outside the cluster, by the
    // address of its machine.
    identity(names.controllerTls, 'controller', names.controller, true, names.webhook),
  ];
}

/** The DNS names of a Service inside the cluster. */
function serviceNames(name: string, namespace: string): string[] {
  return [name, `${name}.${namespace}`, `${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`];
}

/** Annotations of the CA's Secret. `rotate-ca` is set by a user: any new value requests a new CA. */
const annotations = {
  nextSince: 'svc.dev/next-since',
  previousSince: 'svc.dev/previous-since',
  rotate: 'svc.dev/rotate-ca',
  rotated: 'svc.dev/rotate-ca-done',
} as const;

export interface StoredCa {
  state: CaState;
  /** The value of the annotation by which a user requests a new CA. */
  request: string | undefined;
  /** The last request that was carried out. It is stored, so that a request counts once. */
  answered: string | undefined;
}

/** The CA in a Secret, or why it cannot be used. */
export function readCa(secret: SecretObject | undefined): StoredCa | { fault: string } {
  if (!secret) return { fault: 'absent' };
  const signer = { cert: decode(secret, 'ca.crt'), key: decode(secret, 'ca.key') };
  if (signer.cert === '' || signer.key === '') return { fault: 'ca.crt or ca.key is missing' };
  const notes = secret.metadata.annotations ?? {};
  const next = { cert: decode(secret, 'next.crt'), key: decode(secret, 'next.key') };
  const previous = decode(secret, 'previous.crt');
  try {
    for (const cert of [signer.cert, next.cert, previous]) if (cert !== '') renewalTime({ cert });
  } catch (error) {
    return { fault: errorText(error) };
  }
  return {
    state: {
      signer,
      ...(next.cert && next.key ? { next: { pair: next, since: since(notes[annotations.nextSince]) } } : {}),
      ...(previous ? { previous: { cert: previous, since: since(notes[annotations.previousSince]) } } : {}),
    },
    request: notes[annotations.rotate],
    answered: notes[annotations.rotated],
  };
}

/** An unreadable time counts as the epoch, so that the step that waits for it is due. */
const since = (text: string | undefined): number => Date.parse(text ?? '') || 0;

/**
 * When the operator stored the date of a step, by the clock of the API server; undefined if that is unknown, or if
 * someone else set the date, who may wish the step earlier.
 */
export function stepStoredAt(secret: SecretObject | undefined, fieldManager: string): number | undefined {
  const entry = secret?.metadata.managedFields?.find(({ manager, fieldsV1 }) => {
    const { 'f:annotations': dates = {} } = (fieldsV1?.['f:metadata'] ?? {}) as { 'f:annotations'?: object };
    const { nextSince, previousSince } = annotations;
    return manager === fieldManager && [nextSince, previousSince].some((name) => `f:${name}` in dates);
  });
  return Date.parse(entry?.time ?? '') || undefined;
}

/** The Secret of a CA. `present` provides the parts that are not ours: the version, other labels and annotations. */
export function caSecret(
  namespace: string,
  state: CaState,
  request: string | undefined,
  present?: SecretObject,
): SecretObject {
  const secret = secretObject(namespace, names.ca, 'controller', present?.type ?? 'Opaque', {
    'ca.crt': state.signer.cert,
    'ca.key': state.signer.key,
    ...(state.next ? { 'next.crt': state.next.pair.cert, 'next.key': state.next.pair.key } : {}),
    ...(state.previous ? { 'previous.crt': state.previous.cert } : {}),
    'bundle.crt': caBundle(state),
  });
  secret.metadata.labels = { ...present?.metadata.labels, ...secret.metadata.labels };
  const ours: readonly string[] = Object.values(annotations);
  const found = present?.metadata.annotations ?? {};
  const others = Object.entries(found).filter(([name]) => !ours.includes(name));
  // A date that a person wrote in another form stays: rewritten, it would be the operator's (see `stepStoredAt`).
  const dated = (name: string, ms: number): Record<string, string> => {
    const text = found[name];
    return { [name]: text !== undefined && since(text) === ms ? text : new Date(ms).toISOString() };
  };
  secret.metadata.annotations = {
    ...Object.fromEntries(others),
    ...(state.next ? dated(annotations.nextSince, state.next.since) : {}),
    ...(state.previous ? dated(annotations.previousSince, state.previous.since) : {}),
    ...(request === undefined ? {} : { [annotations.rotate]: request, [annotations.rotated]: request }),
  };
  const { resourceVersion } = present?.metadata ?? {};
  if (resourceVersion) secret.metadata.resourceVersion = resourceVersion;
  return secret;
}

export interface LeafPlan {
  /** The complete set of Secrets to apply, including the unchanged ones. */
  secrets: SecretObject[];
  /** Why a certificate is issued, by the name of its Secret. */
  issued: Record<string, string>;
  /** Secrets that keep their certificate and get a changed CA bundle. */
  rebundled: string[];
  /** When the first certificate is due for renewal. Units: ms since the epoch. */
  renewAt: number;
}

/**
 * The leaf Secrets as they should be: valid certificates are kept byte for byte, and the others are issued again.
 * `sharedAgents`: pods of earlier versions still run; `days`: validity of issued certificates. Units: `now` in ms since
 * the epoch.
 */
export async function planLeaves(
  namespace: string,
  ca: CaState,
  live: ReadonlyMap<string, SecretObject>,
  { now, days, sharedAgents = false }: { now: number; days?: number; sharedAgents?: boolean },
): Promise<LeafPlan> {
  const plan: LeafPlan = { secrets: [], issued: {}, rebundled: [], renewAt: Infinity };
  const bundle = caBundle(ca);
  for (const identity of platformIdentities(namespace, sharedAgents)) {
    const secret = live.get(identity.secret);
    const leaf = leafOf(secret);
    const reason = await leafRenewalReason(leaf, ca.signer, identity.names, now);
    const current =
      reason === null
        ? leaf!
        : await issueLeaf(ca.signer, identity.names, { now, ...(days === undefined ? {} : { days }) });
    if (reason !== null) plan.issued[identity.secret] = reason;
    else if (decode(secret, 'ca.crt') !== bundle) plan.rebundled.push(identity.secret);
    plan.renewAt = Math.min(plan.renewAt, renewalTime(current));
    plan.secrets.push(
      secretObject(namespace, identity.secret, identity.component, 'kubernetes.io/tls', {
        'tls.crt': current.cert,
        'tls.key': current.key,
        'ca.crt': bundle,
      }),
    );
  }
  return plan;
}

/** A stored certificate of the installation, for metrics and conditions. */
export interface CertificateState {
  secret: string;
  /** Units: ms since the epoch. */
  expiresAt: number;
  overdue: boolean;
}

/** The certificates in the Secrets. A missing or unreadable one is left out: the next reconcile issues a new one. */
export function certificateStates(live: ReadonlyMap<string, SecretObject>, now: number): CertificateState[] {
  return [...live.values()].flatMap((secret) => {
    const cert = decode(secret, secret.metadata.name === names.ca ? 'ca.crt' : 'tls.crt');
    if (cert === '') return [];
    try {
      const expiresAt = expiryTime({ cert });
      return [{ secret: secret.metadata.name ?? '', expiresAt, overdue: isOverdue({ cert }, now) }];
    } catch {
      return [];
    }
  });
}

function leafOf(secret: SecretObject | undefined): KeyPairPem | undefined {
  const leaf = secret && { cert: decode(secret, 'tls.crt'), key: decode(secret, 'tls.key') };
  return leaf?.cert && leaf.key ? leaf : undefined;
}

function secretObject(
  namespace: string,
  name: string,
  component: Component,
  type: string,
  data: Record<string, string>,
): SecretObject {
  const encoded = Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  );
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels: objectLabels(component) },
    type,
    data: encoded,
  };
}

function decode(secret: SecretObject | undefined, key: string): string {
  return Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');
}
