import type { KubeObject } from '../../api/meta.ts';
import type { MinterInput } from '../input.ts';
import { minterNames, minterObject, minterUrl } from './names.ts';
import { catchAllKey, renderMinterRules, declaredRepositories } from './rules.ts';
import { serviceAccount } from '../rights/rbac.ts';
import { ports, selectorLabels } from '../names.ts';
import { namespacePeer, tcp, type NetworkPeer } from '../network-policy.ts';
import { containerPorts, oneAtATime, servicePorts } from '../objects.ts';
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

/**
 * Every object of one MinterDeployment, all in its namespace and owned by it.
 * The objects can be applied in this order: the NetworkPolicy exists before the first pod.
 */
export function renderMinter(input: MinterInput): KubeObject[] {
  return [
    ...renderMinterAccount(input),
    ...renderMinterRulesMap(input),
    renderMinterNetworkPolicy(input),
    renderMinterService(input),
    ...renderMinterDisruptionBudget(input),
    renderMinterDeployment(input),
  ];
}

function renderMinterAccount({ minter }: MinterInput): KubeObject[] {
  const { create, annotations } = minter.spec.serviceAccount;
  if (!create) return [];
  const { name = '', namespace = '' } = minter.metadata;
  const account = serviceAccount(
    'minter',
    { namespace, name: minterNames(minter).serviceAccount },
    { instance: name, ...(annotations ? { annotations } : {}) },
  );
  const { ownerReferences } = minterObject('ServiceAccount', minter, name, {}).metadata;
  return [{ ...account, metadata: { ...account.metadata, ...(ownerReferences ? { ownerReferences } : {}) } }];
}

/** The ConfigMap of inline rules; rules that the spec refers to stay where they are. */
function renderMinterRulesMap({ minter }: MinterInput): KubeObject[] {
  const { inline } = minter.spec.rules;
  if (!inline) return [];
  const data = { [catchAllKey]: renderMinterRules(minter.spec, inline) };
  return [minterObject('ConfigMap', minter, minterNames(minter).rules, { data })];
}

/**
 * The sources of a pod's cloud identity: the metadata server, by its address on port 80, and with workload identity the
 * node-local server in front of it (port 988). Without these no token can be signed.
 */
const metadataServers: NetworkPeer[] = [
  { ipBlock: { cidr: '169.254.169.252/32' } },
  { ipBlock: { cidr: '169.254.169.254/32' } },
];

/**
 * The ports of DNS. Networks judge a connection to a Service by the port of the pod that it leads to, and behind the 53
 * of OpenShift's DNS Service that is 5353.
 */
const dnsPorts = [53, 5353].flatMap((port) => [
  { port, protocol: 'UDP' },
  { port, protocol: 'TCP' },
]);

/** Which pods may request tokens from a minter, and which servers it may connect to. */
function renderMinterNetworkPolicy(input: MinterInput): KubeObject {
  const { spec } = input.minter;
  const name = minterNames(input.minter);
  const operator: NetworkPeer = {
    ...namespacePeer(input.operatorNamespace),
    podSelector: { matchLabels: selectorLabels('controller') },
  };
  const scrapers = spec.metrics?.allowedScrapers;
  return minterObject('NetworkPolicy', input.minter, name.networkPolicy, {
    spec: {
      podSelector: { matchLabels: selectorLabels('minter', name.deployment) },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        { from: [spec.allowedCallers], ports: tcp(ports.minter) },
        { from: [operator, ...(scrapers ? [scrapers] : [])], ports: tcp(ports.minterAdmin) },
      ],
      egress: [{ ports: dnsPorts }, { ports: tcp(...httpsPorts(input)) }, { to: metadataServers, ports: tcp(80, 988) }],
    },
  });
}

/** 443 for the key service, and the ports of the platform and of the issuer's keys if they differ. */
function httpsPorts(input: MinterInput): number[] {
  const { vcs, issuer } = input.minter.spec;
  const own = [vcs.apiBaseURL, issuer.jwksURI].map((url) => Number(URL.parse(url)?.port || 443));
  return [...new Set([443, ...own])].sort((a, b) => a - b);
}

/** The annotation of a minter's pods that replaces them when the App ID changes. */
export const appIdHashAnnotation = 'svc.dev/app-id-hash';

const configsDir = '/etc/minter';
const tlsDir = '/etc/svc/tls';

/** The environment of `minter server run`. A changed value changes the pod template and so rolls the pods. */
function environment(input: MinterInput): EnvVar[] {
  const { spec } = input.minter;
  const audiences = [spec.audience?.url ?? minterUrl(input.minter), ...(spec.audience?.additional ?? [])];
  const plain: Record<string, string> = {
    BIND_ADDRESS: '::',
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
function renderMinterDeployment(input: MinterInput): KubeObject {
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
        nodeSelector: { ...spec.nodeSelector, 'kubernetes.io/os': 'linux' },
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
          // Optional: of a ConfigMap that is deleted, the kubelet then mounts none of the rules. Otherwise it would leave
          // the last ones in place, and the pods would mint by rules that do not exist any more.
          { name: 'rules', configMap: { name: name.rules, defaultMode: 0o444, optional: true } },
          ...(spec.tls ? [{ name: 'tls', secret: { secretName: spec.tls.secretName, defaultMode: keyFileMode } }] : []),
        ],
      },
      input.appIdHash === undefined ? {} : { [appIdHashAnnotation]: input.appIdHash },
    ),
  });
}

/** The Service that callers address; its URL is the default audience. */
function renderMinterService(input: MinterInput): KubeObject {
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
function renderMinterDisruptionBudget(input: MinterInput): KubeObject[] {
  const { spec } = input.minter;
  if (!spec.podDisruptionBudget || spec.replicas < 2) return [];
  const name = minterNames(input.minter);
  return [
    minterObject('PodDisruptionBudget', input.minter, name.deployment, {
      spec: oneAtATime(selectorLabels('minter', name.deployment)),
    }),
  ];
}
