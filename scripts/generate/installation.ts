import type { KubeObject } from '../../src/api/meta.ts';
import { customResourceDefinition } from '../../src/api/schema/crd.ts';
import { kinds } from '../../src/api/v1alpha1/index.ts';
import { controllerDefaults, renderController } from '../../src/render/index.ts';
import type { GeneratedFile } from './files.ts';
import { yamlOf } from './yaml.ts';

/** The operator's installation, in the parts that a kustomize base each is made of. */
interface Installation {
  namespace: KubeObject[];
  crd: KubeObject[];
  rbac: KubeObject[];
  'network-policy': KubeObject[];
  manager: KubeObject[];
}

function installation(): Installation {
  const parts: Installation = {
    namespace: [],
    crd: kinds.map(customResourceDefinition),
    rbac: [],
    'network-policy': [],
    manager: [],
  };
  for (const object of renderController(controllerDefaults)) parts[partOf(object.kind)].push(object);
  return parts;
}

function partOf(kind: string): keyof Installation {
  switch (kind) {
    case 'Namespace':
      return 'namespace';
    case 'NetworkPolicy':
      return 'network-policy';
    case 'Deployment':
      return 'manager';
    default:
      return 'rbac';
  }
}

/** Every object of the installation in an order that can be applied as one stream. */
export function installationObjects(): KubeObject[] {
  return Object.values(installation()).flat() as KubeObject[];
}

const kustomization = (...resources: string[]) =>
  yamlOf({ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', resources });

/** `manifests/install.yaml`, and the same objects as kustomize bases under `config/`. */
export function installationFiles(): GeneratedFile[] {
  const parts = Object.entries(installation());
  return [
    { path: 'manifests/install.yaml', content: yamlOf(...installationObjects()) },
    { path: 'config/default/kustomization.yaml', content: kustomization(...parts.map(([part]) => `../${part}`)) },
    ...parts.flatMap(([part, objects]: [string, KubeObject[]]) => [
      { path: `config/${part}/kustomization.yaml`, content: kustomization(`${part}.yaml`) },
      { path: `config/${part}/${part}.yaml`, content: yamlOf(...objects) },
    ]),
  ];
}
