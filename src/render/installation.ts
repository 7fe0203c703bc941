import type { KubeObject } from '../api/meta.ts';
import { customResourceDefinition } from '../api/schema/crd.ts';
import { groupVersion, kinds } from '../api/v1alpha1/index.ts';
import { renderController } from './controller.ts';
import type { ControllerInput } from './input.ts';
import { renderMinterRights } from './rights/controller-rbac.ts';
import { appCredentialsSecret } from './names.ts';
import { base64, objectOf } from './objects.ts';

/** A minter (a server that gives out GitHub tokens) that is installed with the operator: what an installer can set. */
export interface MinterInstallation {
  name: string;
  namespace: string;
  image: string;
  replicas: number;
  /** Numeric ID of the GitHub App. Undefined: the user creates the Secret that has it. */
  appId?: string;
  org: string;
  repository: string;
  extraRepositories: readonly string[];
  keyVersion: string;
  /** Emails of the service accounts that may ask for tokens. */
  callers: readonly string[];
  /** Annotations of the minter's service account, such as that of workload identity. */
  serviceAccountAnnotations: Readonly<Record<string, string>>;
}

export interface InstallationInput {
  controller: ControllerInput;
  minter?: MinterInstallation;
  /** Namespaces in which the operator gets the rights for minters; that of `minter` is always one of them. */
  minterNamespaces?: readonly string[];
}

/** The permissions in the specification of the platform agent; a custom rule file may grant others. */
const callerPermissions = { contents: 'write', pull_requests: 'write', issues: 'write' };

/**
 * Every object that a user installs, in an order that can be applied as one stream. All ways of installing use exactly
 * these: the one-file manifest, the kustomize bases and the chart's templates are generated from them, and `svc
 * install` applies them.
 */
export function renderInstallation({ controller, minter, minterNamespaces = [] }: InstallationInput): KubeObject[] {
  const [namespace, ...operator] = renderController(controller);
  return [
    namespace!,
    ...kinds.map((kind) => customResourceDefinition(kind) as unknown as KubeObject),
    ...operator,
    ...minterNamespaces
      .filter((name) => name !== minter?.namespace)
      .map((name) => renderMinterRights(controller.namespace, name)),
    ...(minter ? renderMinterInstallation(minter, controller.namespace) : []),
  ];
}

function renderMinterInstallation(minter: MinterInstallation, operatorNamespace: string): KubeObject[] {
  const { namespace, appId } = minter;
  const secret = { component: 'minter', name: appCredentialsSecret, namespace } as const;
  return [
    // The operator's own namespace is rendered with the operator: the labels there admit its agents' pods.
    ...(namespace === operatorNamespace ? [] : [objectOf('Namespace', { component: 'minter', name: namespace }, {})]),
    renderMinterRights(operatorNamespace, namespace),
    // Not `stringData`: the values of a Secret that a user made are in `data`, where an apply conflicts with them.
    ...(appId === undefined ? [] : [objectOf('Secret', secret, { type: 'Opaque', data: { 'app-id': base64(appId) } })]),
    {
      apiVersion: groupVersion,
      kind: 'MinterDeployment',
      metadata: { name: minter.name, namespace },
      spec: {
        image: minter.image,
        replicas: minter.replicas,
        vcs: {
          org: minter.org,
          repository: minter.repository,
          ...(minter.extraRepositories.length > 0 ? { extraRepositories: [...minter.extraRepositories] } : {}),
        },
        kms: { keyVersion: minter.keyVersion },
        rules: {
          inline: {
            scopes: [
              { name: 'platform-agent-scope', emails: [...minter.callers], permissions: { ...callerPermissions } },
            ],
          },
        },
        ...(Object.keys(minter.serviceAccountAnnotations).length > 0
          ? { serviceAccount: { create: true, annotations: { ...minter.serviceAccountAnnotations } } }
          : {}),
      },
    },
  ];
}
