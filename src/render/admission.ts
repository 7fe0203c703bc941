import type { KubeObject, ResourceRef } from '../api/meta.ts';
import { group, version } from '../api/v1alpha1/index.ts';
import { names, selectorLabels } from './names.ts';
import { base64, objectOf } from './objects.ts';

/**
 * `fail-open`: requests that cannot be reviewed are admitted, and the status reports faults later. `fail-closed`: they
 * are refused.
 */
export type AdmissionMode = 'off' | 'fail-open' | 'fail-closed';

export interface WebhookAddress {
  namespace: string;
  /** PEM certificates that the API server trusts for this webhook; two during a rotation. */
  caBundle: string;
  /** `https://host:port` of an operator outside the cluster; by default its Service. */
  url?: string | undefined;
}

export interface AdmissionInput extends WebhookAddress {
  /** With `off` no validating webhook is registered, and only conversion is routed to the operator. */
  mode: AdmissionMode;
  /** The port on which every replica listens. */
  port: number;
}

/** The resources of each validating webhook, and its path. */
export const admissionPaths = {
  trafficmonitors: '/validate/trafficmonitors',
  clustertrafficpolicies: '/validate/clustertrafficpolicies',
} as const;

/** The `clientConfig` of a webhook of the operator, for a registration or for a CRD. */
function clientConfig({ namespace, caBundle, url }: WebhookAddress, path: string): object {
  return {
    caBundle: base64(caBundle),
    ...(url ? { url: url + path } : { service: { namespace, name: names.webhook, path, port: 443 } }),
  };
}

/** Path of the conversion webhook. */
export const conversionPath = '/convert';

/**
 * The part of a CRD that makes the API server call the operator to convert a kind. The operator applies it, not the
 * installer of the CRD, because the CA bundle changes with each rotation and cannot be in a manifest.
 */
export function renderConversion(kind: ResourceRef, address: WebhookAddress): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      conversion: {
        strategy: 'Webhook',
        webhook: { conversionReviewVersions: ['v1'], clientConfig: clientConfig(address, conversionPath) },
      },
    },
  };
}

/**
 * The objects that route reviews of the API server to the operator: the webhook's registration, with the CA that signed
 * the operator's certificate, and, for an operator inside the cluster, the Service that selects every replica.
 */
export function renderAdmission(input: AdmissionInput): KubeObject[] {
  const { namespace, mode, port, url } = input;
  const webhooks = Object.entries(admissionPaths).map(([resource, path]) => ({
    name: `${resource}.${group}`,
    admissionReviewVersions: ['v1'],
    clientConfig: clientConfig(input, path),
    rules: [
      {
        apiGroups: [group],
        apiVersions: [version],
        operations: ['CREATE', 'UPDATE'],
        resources: [resource],
        scope: '*',
      },
    ],
    failurePolicy: mode === 'fail-open' ? 'Ignore' : 'Fail',
    matchPolicy: 'Equivalent',
    sideEffects: 'None',
    timeoutSeconds: 5,
  }));
  const registration = objectOf(
    'ValidatingWebhookConfiguration',
    { component: 'controller', name: names.controller },
    { webhooks },
  );
  const registrations = mode === 'off' ? [] : [registration];
  if (url) return registrations;
  const id = { component: 'controller' as const, name: names.webhook, namespace };
  const service = objectOf('Service', id, {
    spec: {
      selector: selectorLabels('controller'),
      ports: [{ name: 'webhook', port: 443, protocol: 'TCP', targetPort: port }],
    },
  });
  // API servers mostly run outside the pod network, so their address cannot be listed here: TLS protects the port.
  const policy = objectOf('NetworkPolicy', id, {
    spec: {
      podSelector: { matchLabels: selectorLabels('controller') },
      policyTypes: ['Ingress'],
      ingress: [{ ports: [{ port, protocol: 'TCP' }] }],
    },
  });
  return [service, policy, ...registrations];
}
