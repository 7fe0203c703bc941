import { nonRootId } from './names.ts';

/** Container security of everything of ours that needs no privilege: which is all but the instrument. */
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
 * Pod security with the group that owns mounted volumes: emptyDirs become writable, and Secrets with mode 0440 readable,
 * for the non-root containers. It has no effect on host paths.
 */
export const sharedVolumes = { fsGroup: nonRootId, fsGroupChangePolicy: 'OnRootMismatch' } as const;

/** Mode of mounted keys: owner and group only, 0440. */
export const keyFileMode = 0o440;

/**
 * Labels and annotations of a pod of ours. They refuse the proxies that service meshes put into pods: such a proxy hands
 * connections of other pods on from loopback, ends the TLS that these programs speak themselves, and has no way out
 * through their NetworkPolicies.
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
 * An environment variable with a field of the pod itself. The API version is written out because the server would fill
 * it in, and the reference is one atomic value: without it, what is stored would never equal what we render.
 */
export function fromField(name: string, fieldPath: string): EnvVar {
  return { name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } };
}

/** Spreads replicas over nodes where there is room, without refusing to run where there is not. */
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
 * Keeps replicas off one node where there is another. Besides the spread, because a scheduler weighs the two apart, and
 * because people look for it. The weight is the largest: nothing else of ours has a preference.
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

/** The pod's registry credentials, where there are any. */
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
 * The probes of a program that serves `/livez` and says with `ready` whether it can work. A start may take two minutes,
 * on a busy node or with a long log to replay, without being taken for death; after that liveness is strict.
 */
export function lifeProbes(livePort: string, ready: { path: string; port: string; scheme?: 'HTTPS' | undefined }) {
  return {
    // A process opens its socket within three seconds on an ordinary node; asked earlier it would leave a warning.
    startupProbe: { initialDelaySeconds: 3, ...httpProbe('/livez', livePort, 2, 60) },
    livenessProbe: httpProbe('/livez', livePort, 10, 3),
    readinessProbe: httpProbe(ready.path, ready.port, 5, 3, ready.scheme),
  };
}
