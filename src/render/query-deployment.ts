import type { KubeObject } from '../api/meta.ts';
import { variableOf } from '../base/settings.ts';
import { instrumentVersion } from './agent/containers.ts';
import type { PlatformInput } from './input.ts';
import { names, ports, selectorLabels } from './names.ts';
import { nodeMemoryEnv } from './node-memory.ts';
import { loopbackExempt, queryServerFlags } from './query-options.ts';
import { objectOf, ofComponent } from './objects.ts';
import {
  fromField,
  lifeProbes,
  podMetadata,
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
 * Settings that the last release does not know, as environment variables. During an upgrade the release's program may
 * get this version's arguments. It exits at an unknown flag, but ignores an unknown variable.
 */
function sinceRelease(settings: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(settings).map(([key, value]) => ({ name: variableOf(key, 'SVC_'), value }));
}

/** The query server: stateless, so all replicas answer alike. */
export function renderQueryDeployment(input: PlatformInput): KubeObject {
  const labels = selectorLabels('query');
  const { query = {} } = input;
  const { longTermSecret } = query;
  const fallbackSecret = input.customMetrics ? query.customMetricsFallbackSecret : undefined;
  return objectOf('Deployment', ofComponent('query', input.namespace), {
    spec: {
      ...(input.queryReplicas === undefined ? {} : { replicas: input.queryReplicas }),
      selector: { matchLabels: labels },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: podMetadata(labels),
        spec: {
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
                '--bind-address=0.0.0.0',
                `--port=${ports.query}`,
                `--health-port=${ports.queryHealth}`,
                `--tls-dir=${tlsPath}`,
                '--agent-selector=app.kubernetes.io/component=agent',
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
                      ...(fallbackSecret === undefined
                        ? []
                        : [`--custom-metrics-fallback-ca-file=${fallbackPath}/ca.crt`]),
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
                }),
                // Trusted only by connections without an authority of their own, such as those to the long-term store.
                ...(longTermSecret === undefined
                  ? []
                  : [{ name: 'NODE_EXTRA_CA_CERTS', value: `${longTermPath}/ca.crt` }]),
              ],
              ports: [
                { name: 'https', containerPort: ports.query, protocol: 'TCP' },
                { name: 'health', containerPort: ports.queryHealth, protocol: 'TCP' },
                ...(input.customMetrics
                  ? [{ name: 'custom-metrics', containerPort: ports.customMetrics, protocol: 'TCP' }]
                  : []),
              ],
              ...lifeProbes('health', { path: '/readyz', port: 'health' }),
              resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '2Gi' } },
              securityContext: restrictedContainer,
              volumeMounts: [
                { name: 'tls', mountPath: tlsPath, readOnly: true },
                { name: 'state', mountPath: statePath },
                ...(longTermSecret === undefined
                  ? []
                  : [{ name: 'long-term', mountPath: longTermPath, readOnly: true }]),
                ...(input.customMetrics ? [{ name: 'rules', mountPath: rulesPath, readOnly: true }] : []),
                ...(fallbackSecret === undefined
                  ? []
                  : [{ name: 'fallback', mountPath: fallbackPath, readOnly: true }]),
              ],
            },
          ],
          volumes: [
            { name: 'tls', secret: { secretName: names.queryTls, defaultMode: keyFileMode } },
            { name: 'state', emptyDir: { sizeLimit: '16Mi' } },
            ...(longTermSecret === undefined
              ? []
              : [{ name: 'long-term', secret: { secretName: longTermSecret, defaultMode: keyFileMode } }]),
            // Rules of another adapter, for users who migrate from it.
            ...(input.customMetrics
              ? [{ name: 'rules', configMap: { name: names.customMetricsRules, optional: true } }]
              : []),
            // Only `ca.crt` is mounted: the rest of that Secret is not used. When the Secret is missing, the second
            // adapter (another server of custom metrics) is not called, but the query server still runs.
            ...(fallbackSecret === undefined
              ? []
              : [
                  {
                    name: 'fallback',
                    secret: {
                      secretName: fallbackSecret,
                      defaultMode: keyFileMode,
                      items: [{ key: 'ca.crt', path: 'ca.crt' }],
                      optional: true,
                    },
                  },
                ]),
          ],
        },
      },
    },
  });
}

export function renderQueryService(input: PlatformInput): KubeObject {
  return objectOf('Service', ofComponent('query', input.namespace), {
    spec: {
      type: 'ClusterIP',
      selector: selectorLabels('query'),
      ports: [
        { name: 'https', port: ports.query, protocol: 'TCP', targetPort: 'https', appProtocol: 'https' },
        { name: 'health', port: ports.queryHealth, protocol: 'TCP', targetPort: 'health' },
        ...(input.customMetrics
          ? [{ name: 'custom-metrics', port: ports.customMetrics, protocol: 'TCP', targetPort: 'custom-metrics' }]
          : []),
      ],
    },
  });
}
