import type { KubeObject } from '../../api/meta.ts';
import type { MinterInput } from '../input.ts';
import { declaredRepositories } from './rules.ts';
import { minterNames, minterObject, minterUrl } from './names.ts';
import { ports, selectorLabels } from '../names.ts';
import { containerPorts, servicePorts } from '../objects.ts';
import { nodeMemoryEnv } from '../node-memory.ts';
import {
  deploymentSpec,
  lifeProbes,
  keyFileMode,
  restrictedContainer,
  sharedVolumes,
  spreadOverNodes,
} from '../pod-security.ts';
import type { EnvVar } from '../pod-security.ts';

const configsDir = '/etc/minter';
const tlsDir = '/etc/svc/tls';

/** The environment of `minter server run`. A changed value changes the pod template and so rolls the pods. */
function environment(input: MinterInput): EnvVar[] {
  const { spec } = input.minter;
  const audiences = [spec.audience?.url ?? minterUrl(input.minter), ...(spec.audience?.additional ?? [])];
  const plain: Record<string, string> = {
    BIND_ADDRESS: '0.0.0.0',
    PORT: String(ports.minter),
    ADMIN_PORT: String(ports.minterAdmin),
    CONFIGS_DIR: configsDir,
    VCS_ORG: spec.vcs.org,
    VCS_API_BASE_URL: spec.vcs.apiBaseURL,
    KMS_KEY_VERSION: spec.kms.keyVersion,
    ...(spec.kms.nextKeyVersion === undefined ? {} : { KMS_NEXT_KEY_VERSION: spec.kms.nextKeyVersion }),
    AUDIENCES: audiences.join(','),
    ISSUER_URL: spec.issuer.url,
    JWKS_URI: spec.issuer.jwksURI,
    RATE_LIMIT_PER_MINUTE: String(spec.limits.requestsPerMinutePerCaller),
    MAX_REPOSITORIES: String(spec.limits.maxRepositoriesPerRequest),
    ...(spec.rules.undeclaredRepositories === 'Refuse' ? { REPOSITORIES: declaredRepositories(spec).join(',') } : {}),
    ...(spec.tls ? { TLS_DIR: tlsDir } : {}),
  };
  const { name, key } = spec.vcs.appIdSecretRef;
  return [
    ...Object.entries(plain).map(([variable, value]) => ({ name: variable, value })),
    { name: 'VCS_APP_ID', valueFrom: { secretKeyRef: { name, key } } },
    ...nodeMemoryEnv('minter'),
  ];
}

/**
 * The Deployment of one minter.
 * Caveats: the rules are mounted as a directory, because Kubernetes never updates a single mounted file; readiness asks
 * `/version`, which is 503 until rules, key and App are usable, so a rollout to a key that cannot sign stops by itself.
 */
export function renderMinterDeployment(input: MinterInput): KubeObject {
  const { spec } = input.minter;
  const name = minterNames(input.minter);
  const labels = selectorLabels('minter', name.deployment);
  return minterObject('Deployment', input.minter, name.deployment, {
    spec: deploymentSpec(
      spec.replicas,
      labels,
      {
        serviceAccountName: name.serviceAccount,
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        ...(spec.nodeSelector ? { nodeSelector: spec.nodeSelector } : {}),
        ...(spec.tolerations ? { tolerations: spec.tolerations } : {}),
        topologySpreadConstraints: spreadOverNodes(labels),
        terminationGracePeriodSeconds: 30,
        securityContext: sharedVolumes,
        containers: [
          {
            name: 'minter',
            image: spec.image,
            ...(input.imagePullPolicy === undefined ? {} : { imagePullPolicy: input.imagePullPolicy }),
            args: ['server', 'run'],
            env: environment(input),
            ports: containerPorts({ http: ports.minter, admin: ports.minterAdmin }),
            ...lifeProbes('admin', { path: '/version', port: 'http', scheme: spec.tls ? 'HTTPS' : undefined }),
            // When the minter cannot start, its last log lines are shown in the object's status.
            terminationMessagePolicy: 'FallbackToLogsOnError',
            resources: spec.resources,
            securityContext: restrictedContainer,
            volumeMounts: [
              { name: 'rules', mountPath: `${configsDir}/${spec.vcs.org}`, readOnly: true },
              ...(spec.tls ? [{ name: 'tls', mountPath: tlsDir, readOnly: true }] : []),
            ],
          },
        ],
        volumes: [
          { name: 'rules', configMap: { name: name.rules, defaultMode: 0o444 } },
          ...(spec.tls ? [{ name: 'tls', secret: { secretName: spec.tls.secretName, defaultMode: keyFileMode } }] : []),
        ],
      },
      input.appIdHash === undefined ? {} : { 'svc.dev/app-id-hash': input.appIdHash },
    ),
  });
}

/** The Service that callers address; its URL is the default audience. */
export function renderMinterService(input: MinterInput): KubeObject {
  const name = minterNames(input.minter);
  return minterObject('Service', input.minter, name.service, {
    spec: {
      type: 'ClusterIP',
      selector: selectorLabels('minter', name.deployment),
      ports: servicePorts({ http: ports.minter }),
    },
  });
}

/**
 * Keeps a pod up while nodes are drained. A single replica has no budget, because the budget would prevent draining the
 * node.
 */
export function renderMinterDisruptionBudget(input: MinterInput): KubeObject[] {
  const { spec } = input.minter;
  if (!spec.podDisruptionBudget || spec.replicas < 2) return [];
  const name = minterNames(input.minter);
  return [
    minterObject('PodDisruptionBudget', input.minter, name.deployment, {
      spec: { maxUnavailable: 1, selector: { matchLabels: selectorLabels('minter', name.deployment) } },
    }),
  ];
}
