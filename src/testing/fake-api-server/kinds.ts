import type { ResourceRef } from '../../api/meta.ts';

/** What an API server does for some kinds and not for others, as Kubernetes 1.36 does it. */

/** Kinds of Kubernetes in other groups than the core, to which the API server gives no generation. */
const withoutGeneration = new Set([
  'leases.coordination.k8s.io',
  'events.events.k8s.io',
  'roles.rbac.authorization.k8s.io',
  'rolebindings.rbac.authorization.k8s.io',
  'clusterroles.rbac.authorization.k8s.io',
  'clusterrolebindings.rbac.authorization.k8s.io',
  'apiservices.apiregistration.k8s.io',
  'horizontalpodautoscalers.autoscaling',
  'controllerrevisions.apps',
  'storageclasses.storage.k8s.io',
]);
/** Kinds of the core group to which it gives one. */
const coreWithGeneration = new Set(['pods', 'podtemplates', 'replicationcontrollers']);
/** Kinds of Kubernetes of which an update must name the version that it replaces. */
const conditional = new Set([
  'leases.coordination.k8s.io',
  'poddisruptionbudgets.policy',
  'customresourcedefinitions.apiextensions.k8s.io',
  'validatingwebhookconfigurations.admissionregistration.k8s.io',
  'mutatingwebhookconfigurations.admissionregistration.k8s.io',
  'apiservices.apiregistration.k8s.io',
]);
/** Groups of Kubernetes, by name: those of others end in `.k8s.io`, too, such as `autoscaling.k8s.io`. */
const groups = new Set([
  '',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'apps',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'internal.apiserver.k8s.io',
  'networking.k8s.io',
  'node.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'resource.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
  'storagemigration.k8s.io',
]);

/** Whether a kind is one of Kubernetes, not one of a CustomResourceDefinition. Pure. */
export const isBuiltIn = ({ group }: ResourceRef): boolean => groups.has(group);

/** Whether objects of a kind have `metadata.generation`. Pure. */
export const hasGeneration = ({ group, plural }: ResourceRef): boolean =>
  group === '' ? coreWithGeneration.has(plural) : !withoutGeneration.has(`${plural}.${group}`);

/**
 * Whether a change of annotations alone raises the generation, which a change of the labels never does: those of a
 * Deployment are copied to its ReplicaSets. Pure.
 */
export const countsAnnotations = ({ group, plural }: ResourceRef): boolean =>
  group === 'apps' && plural === 'deployments';

/** Whether an update without a resourceVersion is refused. Pure. */
export const needsVersion = (resource: ResourceRef): boolean =>
  !isBuiltIn(resource) || conditional.has(`${resource.plural}.${resource.group}`);
