import type { KubeObject } from '../../api/meta.ts';
import type { ServiceAccountRef } from '../input.ts';
import type { Component } from '../names.ts';
import { objectOf } from '../objects.ts';

export interface PolicyRule {
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
  verbs: string[];
}

const subject = (account: ServiceAccountRef) => ({
  kind: 'ServiceAccount',
  name: account.name,
  namespace: account.namespace,
});

/** A service account. Its token is mounted only where a pod asks for it. */
export function serviceAccount(
  component: Component,
  account: ServiceAccountRef,
  extra: { instance?: string; annotations?: Record<string, string> } = {},
): KubeObject {
  const object = objectOf(
    'ServiceAccount',
    { component, ...account, ...(extra.instance === undefined ? {} : { instance: extra.instance }) },
    { automountServiceAccountToken: false },
  );
  if (extra.annotations && Object.keys(extra.annotations).length > 0) object.metadata.annotations = extra.annotations;
  return object;
}

export function clusterRole(component: Component, name: string, rules: PolicyRule[]): KubeObject {
  return objectOf('ClusterRole', { component, name }, { rules });
}

/** Makes the role a part of the API server's own roles for users. */
export function aggregatedTo(roles: readonly ('view' | 'edit' | 'admin')[], object: KubeObject): KubeObject {
  const labels = roles.map((role) => [`rbac.authorization.k8s.io/aggregate-to-${role}`, 'true']);
  return {
    ...object,
    metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...Object.fromEntries(labels) } },
  };
}

/** A binding named `name` to the ClusterRole `roleName`, by default the one of the same name. */
export function clusterRoleBinding(
  component: Component,
  name: string,
  subjects: ServiceAccountRef[],
  roleName = name,
): KubeObject {
  return objectOf(
    'ClusterRoleBinding',
    { component, name },
    {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: roleName },
      subjects: subjects.map(subject),
    },
  );
}

export function role(component: Component, ref: ServiceAccountRef, rules: PolicyRule[]): KubeObject {
  return objectOf('Role', { component, ...ref }, { rules });
}

/** A binding in a namespace to a Role there, or to a ClusterRole; by default to the one of the same name. */
export function roleBinding(
  component: Component,
  ref: ServiceAccountRef,
  subjects: ServiceAccountRef[],
  roleName = ref.name,
  kind: 'Role' | 'ClusterRole' = 'Role',
): KubeObject {
  return objectOf(
    'RoleBinding',
    { component, ...ref },
    {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: roleName },
      subjects: subjects.map(subject),
    },
  );
}

/** A rule of a role, and the calls that need it, which `docs/reference/rights.md` lists. */
export interface Right {
  readonly rule: PolicyRule;
  readonly why: string;
}

/** Resources of our kinds. */
export const ourKinds = ['trafficmonitors', 'clustertrafficpolicies', 'minterdeployments'];

/** A rule for resources of one group: for all of them, or for those with these names. */
export const rule = (
  apiGroup: string,
  resources: string[],
  verbs: string[],
  resourceNames?: readonly string[],
): PolicyRule => ({
  apiGroups: [apiGroup],
  resources,
  ...(resourceNames ? { resourceNames: [...resourceNames] } : {}),
  verbs,
});

/** The rights to ask the API server for the owner of a token, and for the owner's rights. */
export const reviewRights = (why: string): Right[] => [
  { rule: rule('authentication.k8s.io', ['tokenreviews'], ['create']), why },
  { rule: rule('authorization.k8s.io', ['subjectaccessreviews'], ['create']), why },
];
