import type { KubeObject } from '../../src/api/meta.ts';
import {
  controllerDefaults,
  platformDefaults,
  renderInstallation,
  renderMinterRights,
  renderMonitors,
} from '../../src/render/index.ts';
import type { GeneratedFile } from './generated-file.ts';
import { yamlOf } from './yaml.ts';

/** The parts of the operator's installation, each a kustomize base, in an order in which they can be applied. */
const parts = ['namespace', 'crd', 'rbac', 'network-policy', 'manager'] as const;

function partOf(kind: string): (typeof parts)[number] {
  switch (kind) {
    case 'Namespace':
      return 'namespace';
    case 'CustomResourceDefinition':
      return 'crd';
    case 'NetworkPolicy':
      return 'network-policy';
    case 'Deployment':
    case 'Service':
    case 'PodDisruptionBudget':
      return 'manager';
    default:
      return 'rbac';
  }
}

const kustomization = (...resources: string[]) =>
  yamlOf({ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', resources });

/**
 * `manifests/install.yaml`, the same objects as kustomize bases under `config/`, and the monitors by which Prometheus
 * scrapes the product.
 */
export function installationFiles(): GeneratedFile[] {
  const objects = renderInstallation({ controller: controllerDefaults });
  return [
    { path: 'manifests/install.yaml', content: yamlOf(...objects) },
    { path: 'config/default/kustomization.yaml', content: kustomization(...parts.map((part) => `../${part}`)) },
    ...parts.flatMap((part) =>
      base(
        part,
        objects.filter(({ kind }) => partOf(kind) === part),
      ),
    ),
    ...prometheusFiles(),
    ...minterFiles(),
  ];
}

const base = (part: string, objects: readonly KubeObject[]): GeneratedFile[] => [
  { path: `config/${part}/kustomization.yaml`, content: kustomization(`${part}.yaml`) },
  { path: `config/${part}/${part}.yaml`, content: yamlOf(...objects) },
];

/**
 * The operator creates these monitors itself where the Prometheus Operator's kinds exist. The files are for clusters
 * that install those kinds later, or that manage the monitors with their own tools.
 */
function prometheusFiles(): GeneratedFile[] {
  const monitors = renderMonitors({ ...platformDefaults, monitors: { pod: true, service: true } });
  return [
    { path: 'config/prometheus/monitors.yaml', content: yamlOf(...monitors) },
    {
      path: 'config/prometheus/kustomization.yaml',
      content: kustomization('monitors.yaml', 'network-policy.yaml'),
    },
  ];
}

/**
 * A kustomize component that gives the operator the rights for minters in one namespace: the one that the minter of
 * `config/samples` is in.
 */
function minterFiles(): GeneratedFile[] {
  const component = { apiVersion: 'kustomize.config.k8s.io/v1alpha1', kind: 'Component', resources: ['rights.yaml'] };
  return [
    { path: 'config/minter/kustomization.yaml', content: yamlOf(component) },
    {
      path: 'config/minter/rights.yaml',
      content: yamlOf(renderMinterRights(platformDefaults.namespace, 'platform-agent')),
    },
  ];
}
