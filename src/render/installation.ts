import type { KubeObject } from '../api/meta.ts';
import { customResourceDefinition } from '../api/schema/crd.ts';
import { groupVersion, kinds } from '../api/v1alpha1/index.ts';
import { renderController } from './controller.ts';
import type { ControllerInput } from './input.ts';
import { objectOf } from './objects.ts';

/** A minter that is installed along with the operator, as far as an installer knows about it. */
export interface MinterInstallation {
  name: string;
  namespace: string;
  image: string;
  replicas: number;
  /** Numeric App ID. Undefined: the Secret is made by somebody else. */
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
}

/** What the specification of the platform agent's permissions says; a rule file of one's own says otherwise. */
const callerPermissions = { contents: 'write', pull_requests: 'write', issues: 'write' };

/**
 * Every object that a person installs, in an order that can be applied as one stream. All ways of installing give
 * exactly these: the one-file manifest and the kustomize bases are written from it, the chart's templates too, and
 * `svc install` applies it.
 */
export function renderInstallation({ controller, minter }: InstallationInput): KubeObject[] {
  const [namespace, ...operator] = renderController(controller);
  return [
    namespace!,
    ...kinds.map((kind) => customResourceDefinition(kind) as unknown as KubeObject),
    ...operator,
    ...(minter ? renderMinterInstallation(minter) : []),
  ];
}

function renderMinterInstallation(minter: MinterInstallation): KubeObject[] {
  const { namespace, appId } = minter;
  const credentials = objectOf(
    'Secret',
    { component: 'minter', name: 'vcs-app-credentials', namespace },
    { type: 'Opaque', stringData: { 'app-id': appId } },
  );
  return [
    objectOf('Namespace', { component: 'minter', name: namespace }, {}),
    ...(appId === undefined ? [] : [credentials]),
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
