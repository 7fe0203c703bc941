import type { KubeObject } from '../api/meta.ts';
import { variableOf } from '../base/settings.ts';
import { instrumentVersion } from './agent/containers.ts';
import type { PlatformInput } from './input.ts';
import { names, ports, selectorLabels, selectorText } from './names.ts';
import { nodeMemoryEnv } from './node-memory.ts';
import { loopbackExempt, queryServerFlags, type QueryOptions } from './query-options.ts';
import { containerPorts, objectOf, ofComponent, servicePorts } from './objects.ts';
import {
  deploymentSpec,
  fromField,
  lifeProbes,
  keyFileMode,
  replicatedPod,
  restrictedContainer,
  sharedVolumes,
} from './pod-security.ts';

const tlsPath = '/etc/svc/tls';
const rulesPath = '/etc/svc/custom-metrics';
const longTermPath = '/etc/svc/long-term';
const fallbackPath = '/etc/svc/custom-metrics-fallback';
/** The path of the service account's token in every pod. */
const ownToken = '/var/run/secrets/kubernetes.io/serviceaccount/token';
const statePath = '/var/lib/svc-query';

/**
 * Settings that the last release does not know, as environment variables. During an upgrade the program of
 * that release may get this version's arguments. It exits at an unknown flag, but ignores an unknown variable.
 */
function sinceRelease(settings: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(settings).map(([key, value]) => ({ name: variableOf(key, 'SVC_'), value }));
}

/** The ports of the container and of the Service. */
const portsOf = ({ customMetrics }: PlatformInput): Record<string, number> => ({
  https: ports.query,
  health: ports.queryHealth,
  ...(customMetrics ? { 'custom-metrics': ports.customMetrics } : {}),
});

/** A volume and its mount, which are of one name. */
interface MountedVolume {
  name: string;
  path: string;
  writable?: boolean;
  source: object;
}

function volumesOf({ customMetrics }: PlatformInput, { longTermSecret }: QueryOptions, fallbackSecret?: string) {
  const all: (MountedVolume | false)[] = [
    { name: 'tls', path: tlsPath, source: secret(names.queryTls) },
    { name: 'state', path: statePath, writable: true, source: { emptyDir: { sizeLimit: '16Mi' } } },
    longTermSecret !== undefined && { name: 'long-term', path: longTermPath, source: secret(longTermSecret) },
    // Rules in the format of prometheus-adapter, for users who migrate from it.
    customMetrics !== undefined && {
      name: 'rules',
      path: rulesPath,
      source: { configMap: { name: names.customMetricsRules, optional: true } },
    },
    // Only `ca.crt` is mounted: the rest of that Secret is not used. When the Secret is missing, the second adapter
    // (another server of custom metrics) is not called, but the query server still runs.
    fallbackSecret !== undefined && {
      name: 'fallback',
      path: fallbackPath,
      source: secret(fallbackSecret, { items: [{ key: 'ca.crt', path: 'ca.crt' }], optional: true }),
    },
  ];
  return all.filter((volume) => volume !== false);
}

const secret = (secretName: string, more: object = {}) => ({
  secret: { secretName, defaultMode: keyFileMode, ...more },
});

/** The query server: stateless, so all replicas answer alike. */
export function renderQueryDeployment(input: PlatformInput): KubeObject {
  const labels = selectorLabels('query');
  const { query = {} } = input;
  const { longTermSecret } = query;
  const fallbackSecret = input.customMetrics ? query.customMetricsFallbackSecret : undefined;
  const volumes = volumesOf(input, query, fallbackSecret);
  return objectOf('Deployment', ofComponent('query', input.namespace), {
    spec: deploymentSpec(input.queryReplicas, labels, {
      ...replicatedPod(names.query, labels, input.imagePullSecrets),
      securityContext: sharedVolumes,
      containers: [
        {
          name: 'query',
          image: input.svcImage,
          ...(input.imagePullPolicy === undefined ? {} : { imagePullPolicy: input.imagePullPolicy }),
          args: [
            'query',
            '--namespace=$(POD_NAMESPACE)',
            '--bind-address=::',
            `--port=${ports.query}`,
            `--health-port=${ports.queryHealth}`,
            `--tls-dir=${tlsPath}`,
            `--agent-selector=${selectorText('agent')}`,
            `--agent-read-port=${ports.remoteRead}`,
            `--agent-stream-port=${ports.spanStream}`,
            `--loopback-exempt=${loopbackExempt(query)}`,
            // The file's volume lives as long as the pod: a restarted container reads the file that a crashed one
            // left.
            `--active-queries-file=${statePath}/queries.active`,
            ...(query.queryLog === 'true' ? ['--query-log-file=-'] : []),
            ...queryServerFlags(query),
            ...(longTermSecret === undefined ? [] : [`--long-term-token-file=${longTermPath}/token`]),
            ...(input.customMetrics
              ? [
                  '--custom-metrics=true',
                  `--custom-metrics-port=${ports.customMetrics}`,
                  `--custom-metrics-rules=${rulesPath}/config.yaml`,
                  ...(input.externalMetrics ? ['--external-metrics=true'] : []),
                  ...(query.customMetricsFallback === undefined
                    ? []
                    : [`--custom-metrics-fallback-token-file=${ownToken}`]),
                  ...(fallbackSecret === undefined ? [] : [`--custom-metrics-fallback-ca-file=${fallbackPath}/ca.crt`]),
                ]
              : []),
            `--log-level=${input.logLevel}`,
          ],
          env: [
            fromField('POD_NAMESPACE', 'metadata.namespace'),
            fromField('POD_NAME', 'metadata.name'),
            ...nodeMemoryEnv('query'),
            ...sinceRelease({
              // The values that decide capture where no policy does: `/api/v1/explain` uses them.
              obiInstrumentPorts: input.instrumentPorts,
              instrumentVersion: instrumentVersion(input),
              allowExtraConfig: String(input.allowExtraConfig === true),
              ...(longTermSecret === undefined ? {} : { longTermCaFile: `${longTermPath}/ca.crt` }),
            }),
          ],
          ports: containerPorts(portsOf(input)),
          ...lifeProbes('health', { path: '/readyz', port: 'health' }),
          resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '2Gi' } },
          securityContext: restrictedContainer,
          volumeMounts: volumes.map(({ name, path, writable }) => ({
            name,
            mountPath: path,
            ...(writable ? {} : { readOnly: true }),
          })),
        },
      ],
      volumes: volumes.map(({ name, source }) => ({ name, ...source })),
    }),
  });
}

export function renderQueryService(input: PlatformInput): KubeObject {
  return objectOf('Service', ofComponent('query', input.namespace), {
    spec: {
      type: 'ClusterIP',
      selector: selectorLabels('query'),
      ports: servicePorts(portsOf(input)),
    },
  });
}
