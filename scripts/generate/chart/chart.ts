import type { KubeObject } from '../../../src/api/meta.ts';
import {
  controllerDefaults,
  renderInstallation,
  renderMinterRights,
  type ControllerInput,
} from '../../../src/render/index.ts';
import type { GeneratedFile } from '../generated-file.ts';
import { yamlOf } from '../yaml.ts';
import { markedQueryOptions, queryOptionRules } from './query-options.ts';
import { valuesSchema, valuesYaml } from './values.ts';
import { when } from './when.ts';

const folder = 'config/helm/svc-operator';
const version = controllerDefaults.svcImage.split(':').at(-1)!;

/**
 * Marks in the place of the chart's values: the operator's installation is rendered with them, and each is then
 * replaced by the template expression it stands for. So the templates follow every change of the renderer.
 */
const marks = {
  namespace: 'mark-namespace',
  image: 'mark-image',
  instrumentImage: 'mark-instrument-image',
  instrumentVersion: 'mark-instrument-version',
  instrumentProgram: '/mark-instrument-program',
  ports: '9999',
  dataHostPath: '/mark-data-host-path',
  pullSecret: 'mark-pull-secret',
  collectorNamespace: 'mark-collector-namespace',
  collectorName: 'mark-collector-name',
  apiServerCidr: 'mark-api-server-cidr',
  otlpEndpoint: 'mark-otlp-endpoint',
  replicas: 990_001,
  queryReplicas: 990_002,
} as const;

const marked: ControllerInput = {
  namespace: marks.namespace,
  svcImage: marks.image,
  instrumentImage: marks.instrumentImage,
  instrumentVersion: marks.instrumentVersion,
  instrumentProgram: marks.instrumentProgram,
  instrumentPrivileges: 'privileged',
  imagePullPolicy: 'Never',
  imagePullSecrets: [marks.pullSecret],
  instrumentPorts: marks.ports,
  agentDataHostPath: marks.dataHostPath,
  logLevel: 'error',
  replicas: marks.replicas,
  queryReplicas: marks.queryReplicas,
  customMetrics: 'force',
  externalMetrics: 'force',
  query: markedQueryOptions,
  allowExtraConfig: true,
  collector: { namespace: marks.collectorNamespace, name: marks.collectorName },
  apiServerCidrs: [marks.apiServerCidr],
  admission: 'fail-closed',
  otlpEndpoint: marks.otlpEndpoint,
};

/** Finds a line of the rendered text, and gives the template lines that replace it; they may put it under an `if`. */
const lineRules: readonly { find: RegExp; put: (line: string) => string[] }[] = [
  {
    find: /--image-pull-policy=/,
    put: (line) => when('.Values.imagePullPolicy', line.replace('Never', '{{ .Values.imagePullPolicy }}')),
  },
  {
    find: /^\s+imagePullPolicy: Never$/,
    put: (line) => when('.Values.imagePullPolicy', line.replace('Never', '{{ .Values.imagePullPolicy }}')),
  },
  {
    find: /--instrument-version=/,
    put: (line) =>
      when('.Values.instrument.version', line.replace(marks.instrumentVersion, '{{ .Values.instrument.version }}')),
  },
  {
    find: /--instrument-program=/,
    put: (line) =>
      when('.Values.instrument.program', line.replace(marks.instrumentProgram, '{{ .Values.instrument.program }}')),
  },
  {
    find: /--instrument-privileges=/,
    put: (line) =>
      when(
        'ne .Values.instrument.privileges "capabilities"',
        line.replace('privileged', '{{ .Values.instrument.privileges }}'),
      ),
  },
  {
    find: /--image-pull-secrets=/,
    put: (line) =>
      when('.Values.imagePullSecrets', line.replace(marks.pullSecret, '{{ join "," .Values.imagePullSecrets }}')),
  },
  {
    find: /--api-server-cidrs=/,
    put: (line) =>
      when('.Values.apiServerCidrs', line.replace(marks.apiServerCidr, '{{ join "," .Values.apiServerCidrs }}')),
  },
  {
    find: /--admission=/,
    // After `helm upgrade --reuse-values` from a version without the value it is not set.
    put: (line) =>
      when(
        'and .Values.admission (ne .Values.admission "off")',
        line.replace('fail-closed', '{{ .Values.admission }}'),
      ),
  },
  {
    find: /--otlp-endpoint=/,
    put: (line) => when('.Values.otlpEndpoint', line.replace(marks.otlpEndpoint, '{{ .Values.otlpEndpoint }}')),
  },
  { find: /--external-metrics=/, put: (line) => when('ne .Values.externalMetrics "off"', line) },
  ...queryOptionRules,
  { find: /^\s+imagePullSecrets:$/, put: (line) => ['{{- with .Values.imagePullSecrets }}', line] },
  {
    find: new RegExp(`- name: ${marks.pullSecret}$`),
    put: (line) => ['{{- range . }}', line.replace(marks.pullSecret, '{{ . }}'), '{{- end }}', '{{- end }}'],
  },
  {
    find: /^ {6}terminationGracePeriodSeconds:/,
    put: (line) => [
      '{{- with .Values.tolerations }}',
      '      tolerations:',
      '        {{- toYaml . | nindent 8 }}',
      '{{- end }}',
      line,
    ],
  },
];

const replacements: readonly [string | RegExp, string][] = [
  [marks.namespace, '{{ .Values.namespace.name }}'],
  [marks.instrumentImage, '{{ .Values.instrument.image }}'],
  [marks.image, '{{ include "svc-operator.image" . }}'],
  [`--obi-instrument-ports=${marks.ports}`, '--obi-instrument-ports={{ .Values.instrument.ports }}'],
  [marks.dataHostPath, '{{ .Values.agent.dataHostPath }}'],
  [marks.collectorNamespace, '{{ .Values.collector.namespace }}'],
  [marks.collectorName, '{{ .Values.collector.serviceAccount }}'],
  [String(marks.replicas), '{{ .Values.replicas }}'],
  [String(marks.queryReplicas), '{{ .Values.queryReplicas }}'],
  ['--custom-metrics=force', '--custom-metrics={{ .Values.customMetrics }}'],
  ['--external-metrics=force', '--external-metrics={{ .Values.externalMetrics }}'],
  ['--allow-extra-config=true', '--allow-extra-config={{ .Values.allowExtraConfig }}'],
  ['--log-level=error', '--log-level={{ .Values.logLevel }}'],
];

const header = '# Generated by `npm run generate`; do not edit.\n';

/** The text of objects as a template. Errors: throws when a mark is left, which would be a value that cannot be set. */
function templateOf(objects: readonly KubeObject[]): string {
  const lines = yamlOf(...objects)
    .split('\n')
    .slice(1)
    .flatMap((line) => lineRules.find(({ find }) => find.test(line))?.put(line) ?? [line]);
  const text = replacements.reduce((all, [mark, expression]) => all.replaceAll(mark, expression), lines.join('\n'));
  const left = /mark-[a-zA-Z-]+|99000\d|9999/.exec(text);
  if (left) throw new Error(`the chart's templates lack a rule for ${left[0]}`);
  return header + text;
}

/** Every file of the chart. */
export function chartFiles(): GeneratedFile[] {
  const objects = renderInstallation({ controller: marked });
  const of = (...kinds: string[]) => templateOf(objects.filter(({ kind }) => kinds.includes(kind)));
  const apart = [
    'Namespace',
    'CustomResourceDefinition',
    'NetworkPolicy',
    'Service',
    'Deployment',
    'PodDisruptionBudget',
  ];
  const rest = templateOf(objects.filter(({ kind }) => !apart.includes(kind)));
  return [
    { path: `${folder}/Chart.yaml`, content: chartYaml },
    { path: `${folder}/values.yaml`, content: valuesYaml() },
    { path: `${folder}/values.schema.json`, content: valuesSchema() },
    { path: `${folder}/templates/_helpers.tpl`, content: helpers },
    { path: `${folder}/templates/NOTES.txt`, content: notes },
    { path: `${folder}/templates/namespace.yaml`, content: namespaceTemplate(of('Namespace')) },
    {
      path: `${folder}/templates/crds.yaml`,
      content: crdTemplate(objects.filter(({ kind }) => kind === 'CustomResourceDefinition')),
    },
    { path: `${folder}/templates/rbac.yaml`, content: rest },
    { path: `${folder}/templates/network-policy.yaml`, content: of('NetworkPolicy') },
    { path: `${folder}/templates/manager.yaml`, content: of('Service', 'Deployment') },
    {
      path: `${folder}/templates/disruption-budget.yaml`,
      content: `${header}{{- if gt (int .Values.replicas) 1 }}\n${of('PodDisruptionBudget').slice(header.length)}{{- end }}\n`,
    },
    { path: `${folder}/templates/minter-rights.yaml`, content: minterRightsTemplate() },
    { path: `${folder}/templates/minter.yaml`, content: minterTemplate },
  ];
}

const chartYaml = `${header}apiVersion: v2
name: svc-operator
description: Traffic capture by eBPF, cluster-wide PromQL without a central store, and a token minter.
type: application
version: ${version}
appVersion: "${version}"
kubeVersion: ">=1.29.0-0"
`;

const helpers = `{{- /* The image of operator, agents and query server: by digest where there is one. */}}
{{- define "svc-operator.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end -}}
{{- end -}}
{{- /* Whether the release manages a namespace: it may create it, and the namespace does not exist, is this release's
already, or was made by another way of installing the operator (then Helm needs \`--take-ownership\`). Takes \`release\`,
\`name\` and \`create\`. */}}
{{- define "svc-operator.owns" -}}
{{- $found := lookup "v1" "Namespace" "" .name -}}
{{- if not .create -}}
{{- else if not $found -}}true
{{- else if eq (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $found) .release -}}true
{{- else if eq (dig "metadata" "labels" "app.kubernetes.io/name" "" $found) "svc-operator" -}}true
{{- end -}}
{{- end -}}
{{- define "svc-operator.ownsNamespace" -}}
{{- include "svc-operator.owns" (dict "release" .Release.Name "name" .Values.namespace.name "create" .Values.namespace.create) -}}
{{- end -}}
`;

const notes = `The operator runs in namespace {{ .Values.namespace.name }}; it brings up an agent on every node, and {{ .Values.queryReplicas }} query servers:

  kubectl -n {{ .Values.namespace.name }} get pods -o wide
{{- if not (include "svc-operator.ownsNamespace" .) }}

The namespace was not made by this release. Agents need it to admit privileged pods:

  kubectl label namespace {{ .Values.namespace.name }} pod-security.kubernetes.io/enforce=privileged
{{- end }}
{{- if .Values.vcsMinter.enabled }}

The minter becomes ready once the App's private key is imported as
{{ .Values.vcsMinter.kms.keyVersion }}:

  kubectl -n {{ .Values.vcsMinter.namespace }} get minterdeployments
{{- end }}
`;

const namespaceTemplate = (text: string): string =>
  `${header}{{- if include "svc-operator.ownsNamespace" . }}\n${text.slice(header.length)}{{- end }}\n`;

/** CRDs carry no value of the chart, and their own braces are escaped: only what is around them is a template. */
function crdTemplate(crds: readonly KubeObject[]): string {
  const documents = crds.map((crd) =>
    yamlOf(crd)
      .slice(header.length)
      .replaceAll('{{', '{{ "{{" }}')
      .replace(
        /^metadata:\n/m,
        'metadata:\n{{- if .Values.crds.keep }}\n  annotations:\n    helm.sh/resource-policy: keep\n{{- end }}\n',
      ),
  );
  return `${header}{{- if .Values.crds.install }}\n${documents.join('---\n')}{{- end }}\n`;
}

/** One binding for each namespace that minters may be in. Helm creates `vcsMinter`'s namespace before the binding. */
function minterRightsTemplate(): string {
  const binding = templateOf([renderMinterRights(marks.namespace, 'NAMESPACE')])
    .slice(header.length)
    .replaceAll('{{ .Values.', '{{ $.Values.')
    .replace('namespace: NAMESPACE', 'namespace: {{ . }}');
  const namespaces =
    '{{- $own := ternary (list .Values.vcsMinter.namespace) list .Values.vcsMinter.enabled }}\n' +
    '{{- range concat .Values.minterNamespaces $own | uniq }}\n';
  return `${header}${namespaces}---\n${binding}{{- end }}\n`;
}

/** Helm builds every object of a release before it creates one, and so it knows no kind that the release itself brings. */
const minterTemplate = `${header}{{- with .Values.vcsMinter }}
{{- if .enabled }}
{{- /* \`lookup\` finds objects only where Helm talks to a cluster. \`helm template\`, as Argo CD runs it, does not. */}}
{{- if and (lookup "v1" "Namespace" "" "kube-system") (not ($.Capabilities.APIVersions.Has "svc.dev/v1alpha1/MinterDeployment")) }}
{{- fail "the cluster does not have the kind MinterDeployment yet, and one release cannot bring a kind and an object of it: install with vcsMinter.enabled=false first, then run helm upgrade with vcsMinter.enabled=true" }}
{{- end }}
{{- $owned := include "svc-operator.owns" (dict "release" $.Release.Name "name" .namespace "create" .createNamespace) }}
{{- if and $owned (ne .namespace $.Values.namespace.name) }}
apiVersion: v1
kind: Namespace
metadata:
  name: {{ .namespace }}
  labels:
    app.kubernetes.io/name: svc-operator
    app.kubernetes.io/component: minter
    app.kubernetes.io/managed-by: svc-controller
  annotations:
    # Platform agents live there too: the namespace stays when the release is removed.
    helm.sh/resource-policy: keep
---
{{- end }}
{{- if .appId }}
apiVersion: v1
kind: Secret
metadata:
  name: vcs-app-credentials
  namespace: {{ .namespace }}
  labels:
    app.kubernetes.io/name: svc-operator
    app.kubernetes.io/component: minter
    app.kubernetes.io/managed-by: svc-controller
type: Opaque
data:
  app-id: {{ .appId | b64enc }}
---
{{- end }}
apiVersion: svc.dev/v1alpha1
kind: MinterDeployment
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
spec:
  image: {{ .image }}
  replicas: {{ .replicas }}
  vcs:
    org: {{ required "vcsMinter.org is needed for a minter" .org | quote }}
    repository: {{ required "vcsMinter.repository is needed for a minter" .repository | quote }}
    {{- with .extraRepositories }}
    extraRepositories: {{ toJson . }}
    {{- end }}
  kms:
    keyVersion: {{ required "vcsMinter.kms.keyVersion is needed for a minter" .kms.keyVersion }}
  rules:
    inline:
      scopes:
        - name: platform-agent-scope
          emails: {{ required "vcsMinter.callers is needed for a minter" .callers | toJson }}
          permissions:
            contents: write
            pull_requests: write
            issues: write
  {{- with .serviceAccountAnnotations }}
  serviceAccount:
    create: true
    annotations: {{ toJson . }}
  {{- end }}
{{- end }}
{{- end }}
`;
