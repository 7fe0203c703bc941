import type { KubeObject } from '../../api/meta.ts';
import { errorText } from '../../base/errors.ts';
import { createCa, issueLeaf, leafRenewalReason, renewalTime, type KeyPairPem, type LeafNames } from '../../net/ca.ts';
import { names, objectLabels, type Component } from '../../render/index.ts';

/** A Secret as it is or shall be; data in base64 as the API has it. */
export interface SecretObject extends KubeObject {
  type?: string;
  data?: Record<string, string>;
}

/** One identity that the platform needs: which Secret holds it and what its certificate says. */
export interface Identity {
  secret: string;
  component: Component;
  names: LeafNames;
}

/** Identity is the subject's CN; the DNS names are those a peer connects with. */
export function platformIdentities(namespace: string): Identity[] {
  const identity = (secret: string, component: Component, name: string, local = false): Identity => ({
    secret,
    component,
    names: {
      commonName: name,
      dnsNames: [
        name,
        `${name}.${namespace}`,
        `${name}.${namespace}.svc`,
        `${name}.${namespace}.svc.cluster.local`,
        ...(local ? ['localhost'] : []),
      ],
      ...(local ? { ipAddresses: ['127.0.0.1'] } : {}),
    },
  });
  return [
    identity(names.agentTls, 'agent', names.agent),
    // People reach the query server through a port-forward.
    identity(names.queryTls, 'query', names.query, true),
    identity(names.controllerTls, 'controller', names.controller),
  ];
}

/** The CA in a Secret, or why there is none that can be used. */
export function readCa(secret: SecretObject | undefined): { ca: KeyPairPem } | { fault: string } {
  if (!secret) return { fault: 'absent' };
  const ca = { cert: decode(secret, 'ca.crt'), key: decode(secret, 'ca.key') };
  if (ca.cert === '' || ca.key === '') return { fault: 'ca.crt or ca.key is missing' };
  try {
    renewalTime(ca);
    return { ca };
  } catch (error) {
    return { fault: errorText(error) };
  }
}

/** The Secret of a new CA. Units: `now` in ms since the epoch. */
export async function newCaSecret(namespace: string, now: number): Promise<SecretObject> {
  const ca = await createCa({ commonName: names.ca, now });
  return secretObject(namespace, names.ca, 'controller', 'Opaque', { 'ca.crt': ca.cert, 'ca.key': ca.key });
}

export interface LeafPlan {
  /** Secrets to apply, those to be kept included: the set is complete. */
  secrets: SecretObject[];
  /** Why each one that is new was issued, by Secret name. */
  issued: Record<string, string>;
  /** When the first of them is due. Units: ms since the epoch. */
  renewAt: number;
}

/**
 * The leaf Secrets as they shall be: what still serves is kept byte for byte, the rest is issued anew.
 * Units: `now` in ms since the epoch.
 */
export async function planLeaves(
  namespace: string,
  ca: KeyPairPem,
  live: ReadonlyMap<string, SecretObject>,
  now: number,
): Promise<LeafPlan> {
  const plan: LeafPlan = { secrets: [], issued: {}, renewAt: Infinity };
  for (const identity of platformIdentities(namespace)) {
    const secret = live.get(identity.secret);
    const present = secret && { cert: decode(secret, 'tls.crt'), key: decode(secret, 'tls.key') };
    const leaf = present?.cert && present.key ? present : undefined;
    const reason =
      (await leafRenewalReason(leaf, ca, identity.names, now)) ??
      (decode(secret, 'ca.crt') === ca.cert ? null : 'CA bundle changed');
    // A changed bundle alone needs no new key.
    const current =
      reason === null || reason === 'CA bundle changed' ? leaf! : await issueLeaf(ca, identity.names, { now });
    if (reason !== null) plan.issued[identity.secret] = reason;
    plan.renewAt = Math.min(plan.renewAt, renewalTime(current));
    plan.secrets.push(
      secretObject(namespace, identity.secret, identity.component, 'kubernetes.io/tls', {
        'tls.crt': current.cert,
        'tls.key': current.key,
        'ca.crt': ca.cert,
      }),
    );
  }
  return plan;
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
