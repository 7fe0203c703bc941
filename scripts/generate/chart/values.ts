import { cidrPattern } from '../../../src/base/text/address-patterns.ts';
import { controllerDefaults, instrumentPrivileges } from '../../../src/render/index.ts';
import type { ChartValue } from './chart-value.ts';
import { queryOptionValues } from './query-options.ts';

const [repository = '', tag = ''] = controllerDefaults.svcImage.split(':');
const text = (pattern?: string) => ({ type: 'string', ...(pattern ? { pattern } : {}) });
const texts = { type: 'array', items: { type: 'string' } };
const flag = { type: 'boolean' };
const count = (minimum: number, maximum: number) => ({ type: 'integer', minimum, maximum });
const dnsName = '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$';

/** Every value of the chart, in the order of values.yaml. The same settings as the operator's and `svc install`'s. */
export const chartValues: readonly ChartValue[] = [
  {
    path: 'namespace.name',
    default: controllerDefaults.namespace,
    schema: text(dnsName),
    help: 'Namespace of the operator, its agents and its query server.',
  },
  {
    path: 'namespace.create',
    default: true,
    schema: flag,
    help: 'Make the namespace, with the label that admits the instrument. One that others made is left alone: label it yourself with\npod-security.kubernetes.io/enforce=privileged.',
  },
  { path: 'crds.install', default: true, schema: flag, help: 'Install and upgrade the three kinds.' },
  {
    path: 'crds.keep',
    default: true,
    schema: flag,
    help: 'Keep them when the release is uninstalled: without them every object of theirs would go.',
  },
  {
    path: 'image.repository',
    default: repository,
    schema: text(),
    help: 'Image of operator, agents and query server.',
  },
  { path: 'image.tag', default: tag, schema: text(), help: 'Its tag.' },
  {
    path: 'image.digest',
    default: '',
    schema: text('^(sha256:[0-9a-f]{64})?$'),
    help: 'Its digest, which beats the tag.',
  },
  {
    path: 'imagePullPolicy',
    default: '',
    schema: { enum: ['', 'Always', 'IfNotPresent', 'Never'] },
    help: 'Empty leaves it to the cluster. Images loaded into nodes by hand need IfNotPresent; it reaches all three workloads.',
  },
  {
    path: 'imagePullSecrets',
    default: [],
    schema: texts,
    help: 'Names of Secrets with registry credentials, in the namespace.',
  },
  {
    path: 'instrument.image',
    default: controllerDefaults.instrumentImage,
    schema: text(),
    help: 'The eBPF instrument; its tag is the version that its configuration is written for.',
  },
  {
    path: 'instrument.version',
    default: '',
    schema: text('^(v?[0-9]+\\.[0-9]+(\\.[0-9]+)?)?$'),
    help: 'That version, where the tag does not tell it.',
  },
  {
    path: 'instrument.program',
    default: '',
    schema: text('^(/[^\\s$]*)?$'),
    help: "Path of its program in the image, if it is not one of upstream's.",
  },
  {
    path: 'instrument.privileges',
    default: 'capabilities',
    schema: { enum: [...instrumentPrivileges] },
    help: 'Privileges of its container: capabilities (those that it checks for), sys-admin (SYS_ADMIN as well), or privileged, where nodes ask for it.',
  },
  {
    path: 'instrument.ports',
    default: controllerDefaults.instrumentPorts,
    schema: text('^[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*$'),
    help: 'Ports captured where no policy says otherwise.',
  },
  {
    path: 'agent.dataHostPath',
    default: controllerDefaults.agentDataHostPath,
    schema: text('^(/.{1,255})?$'),
    help: "Folder on each node for the agent's store; empty for one that ends with the pod.",
  },
  {
    path: 'replicas',
    default: controllerDefaults.replicas,
    schema: count(1, 5),
    help: 'Replicas of the operator: one works, the others stand by.',
  },
  {
    path: 'queryReplicas',
    default: controllerDefaults.queryReplicas,
    schema: count(1, 20),
    help: 'Replicas of the query server.',
  },
  {
    path: 'customMetrics',
    default: controllerDefaults.customMetrics,
    schema: { enum: ['auto', 'force', 'off'] },
    help: 'Offer captured metrics to autoscalers: auto (unless another server has the API), force (take it over) or off.',
  },
  {
    path: 'externalMetrics',
    default: controllerDefaults.externalMetrics,
    schema: { enum: ['auto', 'force', 'off'] },
    help: 'Offer them as external.metrics.k8s.io too, which KEDA often owns. Has no effect where customMetrics is off.',
  },
  {
    path: 'apiServerCidrs',
    default: [],
    schema: { type: 'array', items: text(cidrPattern) },
    help: 'Address ranges of the API servers: only they may then reach the custom metrics port.',
  },
  {
    path: 'admission',
    default: controllerDefaults.admission,
    schema: { enum: ['off', 'fail-open', 'fail-closed'] },
    help: 'Check monitors and policies when they are written: off, fail-open (accept one that cannot be checked) or fail-closed (refuse it).',
  },
  ...queryOptionValues,
  {
    path: 'allowExtraConfig',
    default: controllerDefaults.allowExtraConfig,
    schema: flag,
    help: "Let policies add keys of their own to the instrument's file.",
  },
  {
    path: 'collector.namespace',
    default: controllerDefaults.collector.namespace,
    schema: text(dnsName),
    help: "The metrics collector's namespace: it alone may reach the metrics ports.",
  },
  {
    path: 'collector.serviceAccount',
    default: controllerDefaults.collector.name,
    schema: text(),
    help: 'Its service account, which may get /metrics of the agents.',
  },
  {
    path: 'otlpEndpoint',
    default: '',
    schema: text('^(https?://.+)?$'),
    help: 'OTLP/HTTP endpoint for a span per reconcile of the operator.',
  },
  {
    path: 'logLevel',
    default: controllerDefaults.logLevel,
    schema: { enum: ['debug', 'info', 'warn', 'error'] },
    help: 'Least severe level that is logged.',
  },
  {
    path: 'tolerations',
    default: [],
    schema: { type: 'array', items: { type: 'object' } },
    help: 'Tolerations of the operator. Agents tolerate everything.',
  },
  {
    path: 'minterNamespaces',
    default: [],
    schema: texts,
    help: 'Namespaces in which the operator gets the rights that minters need. The namespace of vcsMinter is added when vcsMinter is enabled.',
  },
  {
    path: 'vcsMinter.enabled',
    default: false,
    schema: flag,
    help: 'Install a token minter too. For `helm install` the cluster must have the kinds: on a new one, set this by an upgrade.',
  },
  { path: 'vcsMinter.name', default: 'minter', schema: text(dnsName), help: 'Its name, also of its Service.' },
  {
    path: 'vcsMinter.namespace',
    default: 'platform-agent',
    schema: text(dnsName),
    help: 'Namespace of the platform agents.',
  },
  {
    path: 'vcsMinter.createNamespace',
    default: true,
    schema: flag,
    help: 'Make that namespace, unless it exists or is the operator’s own.',
  },
  { path: 'vcsMinter.image', default: `svc-minter:${tag}`, schema: text(), help: 'Image of the minter.' },
  { path: 'vcsMinter.replicas', default: 2, schema: count(1, 5), help: 'Its replicas.' },
  {
    path: 'vcsMinter.appId',
    default: '',
    schema: text('^[0-9]*$'),
    help: 'Numeric App ID (VCS_APP_ID), in quotes. Empty: Secret vcs-app-credentials is created separately.',
  },
  {
    path: 'vcsMinter.org',
    default: '',
    schema: text(),
    help: 'Organization that hosts the repository (GITOPS_ORG). A user name does not work.',
  },
  { path: 'vcsMinter.repository', default: '', schema: text(), help: 'Repository in it (GITOPS_REPO).' },
  {
    path: 'vcsMinter.extraRepositories',
    default: [],
    schema: texts,
    help: 'Further repositories of the same organization.',
  },
  {
    path: 'vcsMinter.kms.keyVersion',
    default: '',
    schema: text(),
    help: 'Key version that signs: projects/P/locations/L/keyRings/R/cryptoKeys/K/cryptoKeyVersions/N.\nTo rotate: import a new version, set it here, upgrade the release.',
  },
  {
    path: 'vcsMinter.callers',
    default: [],
    schema: texts,
    help: 'Emails of the service accounts that may ask for tokens.',
  },
  {
    path: 'vcsMinter.serviceAccountAnnotations',
    default: {},
    schema: { type: 'object', additionalProperties: { type: 'string' } },
    help: 'Such as iam.gke.io/gcp-service-account: the account that may sign with the key.',
  },
];

/** values.yaml: every value with its default. The comment above a value says what it means. */
export function valuesYaml(): string {
  const lines = [
    '# Generated by `npm run generate`; do not edit.',
    '# Every value of the chart. The schema beside this file checks them.',
  ];
  let open: string[] = [];
  for (const value of chartValues) {
    const parts = value.path.split('.');
    const parents = parts.slice(0, -1);
    const shared = parents.findIndex((part, i) => open[i] !== part);
    const from = shared === -1 ? parents.length : shared;
    if (parts.length === 1 || (from === 0 && parents.length > 0)) lines.push('');
    parents.slice(from).forEach((part, i) => lines.push(`${'  '.repeat(from + i)}${part}:`));
    open = parents;
    const indent = '  '.repeat(parents.length);
    for (const line of value.help.split('\n')) lines.push(`${indent}# ${line}`);
    lines.push(`${indent}${parts.at(-1)!}: ${JSON.stringify(value.default)}`);
  }
  return `${lines.join('\n')}\n`;
}

interface ObjectSchema {
  type: 'object';
  additionalProperties: false;
  properties: Record<string, unknown>;
}

/** values.schema.json: Helm refuses what it does not know, and editors complete the rest. */
export function valuesSchema(): string {
  const empty = (): ObjectSchema => ({ type: 'object', additionalProperties: false, properties: {} });
  const root = empty();
  // Helm puts this into every chart's values.
  root.properties['global'] = { type: 'object' };
  for (const value of chartValues) {
    const parts = value.path.split('.');
    let at = root;
    for (const part of parts.slice(0, -1)) at = (at.properties[part] ??= empty()) as ObjectSchema;
    at.properties[parts.at(-1)!] = {
      description: value.help.replaceAll('\n', ' '),
      default: value.default,
      ...value.schema,
    };
  }
  return `${JSON.stringify({ $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Values of svc-operator', ...root }, undefined, 2)}\n`;
}
