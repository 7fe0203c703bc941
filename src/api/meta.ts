/**
 * The few Kubernetes object shapes that every part shares, as plain data.
 * They are our own minimal types: nothing above `src/kube` needs the cluster client to name an object.
 */

/** Points a dependent object at the object that owns it; the garbage collector follows it. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** One entry of `metadata.managedFields`: which manager owns which fields, and since when. */
export interface ManagedFieldsEntry {
  manager?: string;
  operation?: 'Apply' | 'Update';
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: Record<string, unknown>;
  subresource?: string;
}

/** `metadata` of any object. Times are RFC 3339 strings, as the API server writes them. */
export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: ManagedFieldsEntry[];
}

/** Whether an aspect holds; `Unknown` while it cannot be determined. */
export type ConditionStatus = 'True' | 'False' | 'Unknown';

/** `metav1.Condition`. `lastTransitionTime` moves only when `status` does. */
export interface Condition {
  type: string;
  status: ConditionStatus;
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}

/** `metadata` of an object that came from the API server: the fields that it always fills in. */
export type StoredMeta = ObjectMeta & { name: string; uid: string; resourceVersion: string; creationTimestamp: string };

/** Any Kubernetes object as plain JSON. Kind-specific members are reached by narrowing to a typed kind. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [member: string]: unknown;
}

/** The named members of an object's metadata, without those that it lacks. Pure. */
export function someMeta(meta: ObjectMeta, ...names: readonly (keyof ObjectMeta)[]): ObjectMeta {
  return Object.fromEntries(names.filter((name) => meta[name] !== undefined).map((name) => [name, meta[name]]));
}

/** Where a kind lives in the API: enough to build its REST path, `apiVersion` and `kind`. */
export interface ResourceRef {
  /** Empty for the core group. */
  group: string;
  version: string;
  /** `group/version`, or just `version` for the core group. */
  apiVersion: string;
  kind: string;
  /** The name in REST paths, lower case. */
  plural: string;
  namespaced: boolean;
}

/** Whether an owner reference names an object of that kind. A reference may use any version of the kind's group. */
export function refersTo({ apiVersion, kind }: OwnerReference, resource: ResourceRef): boolean {
  return kind === resource.kind && apiVersion.split('/').slice(0, -1).join('/') === resource.group;
}

/** Builds a `ResourceRef`; `apiVersion` follows from group and version. */
export function resourceRef(ref: Omit<ResourceRef, 'apiVersion'>): ResourceRef {
  return { ...ref, apiVersion: ref.group === '' ? ref.version : `${ref.group}/${ref.version}` };
}

export interface LabelSelectorRequirement {
  key: string;
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  values?: string[];
}

/** `metav1.LabelSelector`: requirements are AND-ed; an empty selector matches everything. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: LabelSelectorRequirement[];
}
