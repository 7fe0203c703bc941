import type { KubeObject } from '../../api/meta.ts';
import { controllerRights } from './controller-rights.ts';
import type { ControllerInput } from '../input.ts';
import { names } from '../names.ts';
import { clusterRole, clusterRoleBinding, role, roleBinding, serviceAccount } from './rbac.ts';

/**
 * Identity and rights of the operator: exactly what its calls need. A test runs it with exactly these rights. The
 * rights for minters are a separate role, which is bound in no namespace until an installer or the namespace's
 * administrator binds it.
 */
export function renderControllerRbac(input: ControllerInput): KubeObject[] {
  const account = { namespace: input.namespace, name: names.controller };
  const system = { namespace: 'kube-system', name: names.controller };
  const rulesOf = (part: keyof typeof controllerRights) => controllerRights[part].map(({ rule }) => rule);
  return [
    serviceAccount('controller', account),
    clusterRole('controller', names.controller, rulesOf('cluster')),
    clusterRoleBinding('controller', names.controller, [account]),
    role('controller', account, rulesOf('own')),
    roleBinding('controller', account, [account]),
    role('controller', system, rulesOf('kubeSystem')),
    roleBinding('controller', system, [account]),
    clusterRole('controller', names.minterManager, rulesOf('minters')),
  ];
}

/**
 * Lets the operator run minters in a namespace. An administrator of only that namespace can create this binding, too.
 */
export function renderMinterRights(operatorNamespace: string, namespace: string): KubeObject {
  return roleBinding(
    'controller',
    { namespace, name: names.minterManager },
    [{ namespace: operatorNamespace, name: names.controller }],
    names.minterManager,
    'ClusterRole',
  );
}
