import type { KubeObject } from '../api/meta.ts';
import { renderControllerRbac } from './rights/controller-rbac.ts';
import type { ControllerInput } from './input.ts';
import { names, ports, selectorLabels } from './names.ts';
import { renderControllerNetworkPolicies } from './network-policy.ts';
import { containerPorts, disruptionBudget, objectOf, ofComponent, servicePorts } from './objects.ts';
import { deploymentSpec, fromField, lifeProbes, replicatedPod, restrictedContainer } from './pod-security.ts';
import { queryOptionFlags } from './query-options.ts';
import { nodeMemoryEnv } from './node-memory.ts';
import { renderUserRbac } from './rights/user-rbac.ts';

/**
 * The operator's own installation: the objects that a user applies. The operator creates the rest (`renderPlatform`,
 * `renderMinter`). The CRDs are not among these objects; they come first in the installation manifest.
 */
export function renderController(input: ControllerInput): KubeObject[] {
  return [
    renderNamespace(input.namespace),
    ...renderControllerRbac(input),
    ...renderUserRbac(),
    ...renderControllerNetworkPolicies(input.namespace, input.collector),
    renderControllerService(input),
    ...disruptionBudget('controller', input.namespace, input.replicas),
    renderControllerDeployment(input),
  ];
}

/** The namespace. Its pod security is `privileged`, as the instrument shares the node's processes and host paths. */
export function renderNamespace(name: string): KubeObject {
  const object = objectOf('Namespace', { component: 'controller', name }, {});
  object.metadata.labels = {
    ...object.metadata.labels,
    'pod-security.kubernetes.io/enforce': 'privileged',
    'pod-security.kubernetes.io/audit': 'privileged',
    'pod-security.kubernetes.io/warn': 'privileged',
  };
  return object;
}

function renderControllerDeployment(input: ControllerInput): KubeObject {
  const labels = selectorLabels('controller');
  return objectOf('Deployment', ofComponent('controller', input.namespace), {
    spec: deploymentSpec(input.replicas, labels, {
      ...replicatedPod(names.controller, labels, input.imagePullSecrets),
      containers: [
        {
          name: 'controller',
          image: input.svcImage,
          ...(input.imagePullPolicy === undefined ? {} : { imagePullPolicy: input.imagePullPolicy }),
          args: [
            'operator',
            '--namespace=$(POD_NAMESPACE)',
            '--bind-address=::',
            `--metrics-port=${ports.controllerMetrics}`,
            `--svc-image=${input.svcImage}`,
            `--instrument-image=${input.instrumentImage}`,
            ...(input.instrumentVersion === undefined ? [] : [`--instrument-version=${input.instrumentVersion}`]),
            ...(input.instrumentProgram === undefined ? [] : [`--instrument-program=${input.instrumentProgram}`]),
            ...(input.instrumentPrivileges === undefined || input.instrumentPrivileges === 'capabilities'
              ? []
              : [`--instrument-privileges=${input.instrumentPrivileges}`]),
            ...(input.imagePullPolicy === undefined ? [] : [`--image-pull-policy=${input.imagePullPolicy}`]),
            ...(input.imagePullSecrets?.length ? [`--image-pull-secrets=${input.imagePullSecrets.join(',')}`] : []),
            `--query-replicas=${input.queryReplicas}`,
            `--collector=${input.collector.namespace}/${input.collector.name}`,
            `--custom-metrics=${input.customMetrics}`,
            ...(input.externalMetrics === 'off' ? [] : [`--external-metrics=${input.externalMetrics}`]),
            ...(input.apiServerCidrs?.length ? [`--api-server-cidrs=${input.apiServerCidrs.join(',')}`] : []),
            ...queryOptionFlags(input.query),
            `--allow-extra-config=${input.allowExtraConfig}`,
            '--leader-elect=true',
            `--obi-instrument-ports=${input.instrumentPorts}`,
            `--agent-data-host-path=${input.agentDataHostPath}`,
            ...(input.admission === 'off' ? [] : [`--admission=${input.admission}`]),
            ...(input.otlpEndpoint ? [`--otlp-endpoint=${input.otlpEndpoint}`] : []),
            `--log-level=${input.logLevel}`,
          ],
          env: [
            fromField('POD_NAMESPACE', 'metadata.namespace'),
            fromField('POD_NAME', 'metadata.name'),
            ...nodeMemoryEnv('controller'),
          ],
          ports: containerPorts({ metrics: ports.controllerMetrics }),
          ...lifeProbes('metrics', { path: '/readyz', port: 'metrics' }),
          resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '512Mi' } },
          securityContext: restrictedContainer,
        },
      ],
    }),
  });
}

/** The Service of the operator's metrics, for scrapers that discover Services. */
function renderControllerService(input: ControllerInput): KubeObject {
  return objectOf('Service', ofComponent('controller', input.namespace), {
    spec: {
      type: 'ClusterIP',
      selector: selectorLabels('controller'),
      ports: servicePorts({ metrics: ports.controllerMetrics }),
    },
  });
}
