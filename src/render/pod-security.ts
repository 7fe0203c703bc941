import { nonRootId } from './names.ts';

/** Container security of all our unprivileged containers, which are all except the instrument. */
export const restrictedContainer = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  runAsUser: nonRootId,
  runAsGroup: nonRootId,
  seccompProfile: { type: 'RuntimeDefault' },
} as const;

/**
 * Pod security with `fsGroup`, the group that owns mounted volumes: emptyDirs become writable, and Secrets with mode
 * 0440 readable, for the non-root containers. It has no effect on host paths.
 */
export const sharedVolumes = { fsGroup: nonRootId, fsGroupChangePolicy: 'OnRootMismatch' } as const;

/** Mode of mounted keys: owner and group only, 0440. */
export const keyFileMode = 0o440;

/**
 * Labels and annotations of our pods. They refuse the sidecar proxies of service meshes: such a proxy forwards
 * connections of other pods from loopback, terminates the TLS that these programs speak themselves, and cannot connect
 * out through the pods' NetworkPolicies.
 */
export function podMetadata(labels: Record<string, string>, annotations: Record<string, string> = {}) {
  return {
    labels: { ...labels, 'sidecar.istio.io/inject': 'false', 'kuma.io/sidecar-injection': 'disabled' },
    annotations: {
      ...annotations,
      'sidecar.istio.io/inject': 'false',
      'linkerd.io/inject': 'disabled',
      'kuma.io/sidecar-injection': 'disabled',
      'consul.hashicorp.com/connect-inject': 'false',
      'appmesh.k8s.aws/sidecarInjectorWebhook': 'disabled',
    },
  };
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: { fieldRef: { apiVersion: string; fieldPath: string } } | { secretKeyRef: { name: string; key: string } };
}

/**
 * An environment variable with a field of the pod itself. The reference is one atomic value, and the server fills in a
 * missing API version. So the version is written out: the stored value would otherwise never equal the rendered one.
 */
export function fromField(name: string, fieldPath: string): EnvVar {
  return { name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } };
}

/** Spreads replicas over nodes if there is room, but still schedules them otherwise. */
export function spreadOverNodes(labels: Record<string, string>) {
  return [
    {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: labels },
    },
  ];
}

/**
 * Keeps replicas on different nodes where possible. Used in addition to `spreadOverNodes`, because a scheduler weighs
 * the two separately, and because users look for an anti-affinity. The weight is the largest: our pods have no other
 * preference.
 */
export function apartFromEachOther(labels: Record<string, string>) {
  return {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 100,
          podAffinityTerm: { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: labels } },
        },
      ],
    },
  };
}

/** The spec of a Deployment. During an update a new pod is ready before an old one ends. */
export function deploymentSpec(
  replicas: number | undefined,
  labels: Record<string, string>,
  pod: object,
  annotations: Record<string, string> = {},
) {
  return {
    ...(replicas === undefined ? {} : { replicas }),
    selector: { matchLabels: labels },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: { metadata: podMetadata(labels, annotations), spec: pod },
  };
}

/** What the pods of the operator and of the query server have in common: API access, Linux, replicas kept apart. */
export function replicatedPod(
  account: string,
  labels: Record<string, string>,
  registrySecrets: readonly string[] | undefined,
) {
  return {
    serviceAccountName: account,
    automountServiceAccountToken: true,
    enableServiceLinks: false,
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    ...pullSecrets(registrySecrets),
    affinity: apartFromEachOther(labels),
    topologySpreadConstraints: spreadOverNodes(labels),
    terminationGracePeriodSeconds: 30,
  };
}

/** The pod's registry credentials, if any. */
export function pullSecrets(secrets: readonly string[] | undefined) {
  return secrets && secrets.length > 0 ? { imagePullSecrets: secrets.map((name) => ({ name })) } : {};
}

/** An HTTP probe. Periods and timeouts in seconds. */
export function httpProbe(
  path: string,
  port: number | string,
  periodSeconds: number,
  failureThreshold: number,
  scheme?: 'HTTPS',
) {
  return {
    httpGet: { path, port, ...(scheme ? { scheme } : {}) },
    periodSeconds,
    failureThreshold,
    timeoutSeconds: 3,
  };
}

/**
 * The probes of a program that serves `/livez` and reports with `ready` whether it can work. A start may take two
 * minutes, on a busy node or with a long log to replay, without a restart; after that liveness is strict.
 */
export function lifeProbes(livePort: string, ready: { path: string; port: string; scheme?: 'HTTPS' | undefined }) {
  return {
    // A process opens its socket within three seconds on an ordinary node; an earlier probe would cause a warning
    // event.
    startupProbe: { initialDelaySeconds: 3, ...httpProbe('/livez', livePort, 2, 60) },
    livenessProbe: httpProbe('/livez', livePort, 10, 3),
    readinessProbe: httpProbe(ready.path, ready.port, 5, 3, ready.scheme),
  };
}
