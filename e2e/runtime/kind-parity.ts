import { resourceRef, type KubeObject, type ResourceRef } from '../../src/api/meta.ts';
import { coreResources, isInvalid, isNotFound, type KubeClient } from '../../src/kube/index.ts';
import { until } from '../../src/testing/until.ts';
import { failure, type OneServer } from './both-servers.ts';

/** How kinds differ on both API servers: in their generation, in what an update must name, and in their status. */

const core = coreResources;
const manager = 'svc-controller/parity';
export const namespace = 'kinds';
const widgets = resourceRef({
  group: 'example.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
});
/** Of a group whose name is like one of Kubernetes, as VerticalPodAutoscaler is. */
const scalers = resourceRef({
  group: 'autoscaling.k8s.io',
  version: 'v1',
  kind: 'Scaler',
  plural: 'scalers',
  namespaced: true,
});

/** The definition of a kind with a status subresource and any content. */
export const definitionOf = ({ group, version, kind, plural }: ResourceRef): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  // A group of k8s.io needs the annotation.
  metadata: { name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' } },
  spec: {
    group,
    scope: 'Namespaced',
    names: { kind, plural },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        subresources: { status: {} },
      },
    ],
  },
});

/** A kind of Kubernetes that the operator has no use for, but a stranger's controller may have. */
const other = (group: string, kind: string, plural: string, over: Partial<ResourceRef> = {}): ResourceRef =>
  resourceRef({ group, version: 'v1', kind, plural, namespaced: true, ...over });
const backend = { service: { name: 'web', port: { number: 80 } } };

const labels = { app: 'web' };
const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } };
const workload = { replicas: 0, selector: { matchLabels: labels }, template };
const once = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } };
const rule = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
/** A valid object of each kind, without its name, and whether the kind has a generation. */
const kinds: [ResourceRef, object, boolean][] = [
  [core.configMaps, {}, false],
  [core.secrets, {}, false],
  [core.services, { spec: { ports: [{ port: 80 }] } }, false],
  [core.serviceAccounts, {}, false],
  [core.namespaces, {}, false],
  [core.nodes, {}, false],
  [core.pods, { spec: template.spec }, true],
  [core.deployments, { spec: workload }, true],
  [core.replicaSets, { spec: workload }, true],
  [core.statefulSets, { spec: { ...workload, serviceName: 'web' } }, true],
  [core.daemonSets, { spec: { selector: workload.selector, template } }, true],
  [core.jobs, { spec: { template: once } }, true],
  [core.cronJobs, { spec: { schedule: '0 0 * * *', jobTemplate: { spec: { template: once } } } }, true],
  [core.networkPolicies, { spec: { podSelector: {} } }, true],
  [core.podDisruptionBudgets, { spec: { selector: workload.selector, maxUnavailable: 1 } }, true],
  [core.roles, { rules: [] }, false],
  [core.roleBindings, { roleRef: rule, subjects: [] }, false],
  [core.clusterRoles, { rules: [] }, false],
  [core.clusterRoleBindings, { roleRef: rule, subjects: [] }, false],
  [core.leases, { spec: { holderIdentity: 'one' } }, false],
  [core.customResourceDefinitions, { spec: definitionOf({ ...widgets, plural: 'kinds' })['spec'] }, true],
  [core.validatingWebhookConfigurations, { webhooks: [] }, true],
  [core.endpointSlices, { addressType: 'IPv4', endpoints: [] }, true],
  [core.priorityClasses, { value: 1 }, true],
  [other('', 'Endpoints', 'endpoints'), {}, false],
  [other('', 'LimitRange', 'limitranges'), { spec: { limits: [] } }, false],
  [other('', 'ResourceQuota', 'resourcequotas'), { spec: {} }, false],
  [other('', 'ReplicationController', 'replicationcontrollers'), { spec: { selector: labels, template } }, true],
  [other('', 'PodTemplate', 'podtemplates'), { template }, true],
  [
    other('', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
    { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
    false,
  ],
  [
    other('autoscaling', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', { version: 'v2' }),
    { spec: { maxReplicas: 2, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } } },
    false,
  ],
  [other('networking.k8s.io', 'Ingress', 'ingresses'), { spec: { defaultBackend: backend } }, true],
  [
    other('storage.k8s.io', 'StorageClass', 'storageclasses', { namespaced: false }),
    { provisioner: 'example.dev/none' },
    false,
  ],
  [other('apps', 'ControllerRevision', 'controllerrevisions'), { data: { a: 1 }, revision: 1 }, false],
];

export function kindParity(on: OneServer): void {
  let client: KubeClient;
  beforeAll(async () => {
    client = on.client;
    const ours = [widgets, scalers];
    if (!on.real) for (const resource of [...ours, ...kinds.map(([kind]) => kind)]) on.fake.addResource(resource);
    for (const one of ours) {
      if (on.real) await client.create(core.customResourceDefinitions, definitionOf(one));
      await until('the kind', async () => !isNotFound(await failure(client.list(one, { namespace }))));
    }
  });
  const object = (resource: ResourceRef, name: string, content: object, meta: object = {}): KubeObject => ({
    apiVersion: resource.apiVersion,
    kind: resource.kind,
    metadata: { name, ...(resource.namespaced ? { namespace } : {}), ...meta },
    ...content,
  });
  const widget = (name: string, content: object): KubeObject => object(widgets, name, content);

  test.each(
    kinds.map(([resource, content, has]) => [resource.kind, has ? 'has' : 'lacks', resource, content] as const),
  )('a new %s %s a generation', async (kind, has, resource, content) => {
    const name = kind === 'CustomResourceDefinition' ? 'kinds.example.dev' : 'any';
    const made = await client.create(resource, object(resource, name, content), { dryRun: true });
    expect(made.metadata.generation).toBe(has === 'has' ? 1 : undefined);
  });

  test('a change of an object without a generation gives it none', async () => {
    const made = await client.create(core.configMaps, object(core.configMaps, 'changed', { data: { a: '1' } }));
    const after = await client.update(core.configMaps, { ...made, data: { a: '2' } });
    expect(after.metadata).not.toHaveProperty('generation');
  });

  test('a change of annotations alone raises the generation of a Deployment, and of no other kind', async () => {
    for (const [resource, content, raised] of [
      [core.deployments, { spec: workload }, 2],
      [core.replicaSets, { spec: workload }, 1],
      [core.statefulSets, { spec: { ...workload, serviceName: 'web' } }, 1],
      [core.daemonSets, { spec: { selector: workload.selector, template } }, 1],
      [core.networkPolicies, { spec: { podSelector: {} } }, 1],
      [widgets, { spec: {} }, 1],
    ] as const) {
      const name = { namespace, name: 'annotated' };
      await client.create(resource, object(resource, 'annotated', content));
      const change = (metadata: object): Promise<KubeObject> =>
        client.patch(resource, name, { type: 'merge', body: { metadata } });
      const { metadata: labelled } = await change({ labels });
      const { metadata } = await change({ annotations: { 'svc.dev/parity': 'yes' } });
      expect([resource.kind, labelled.generation, metadata.generation]).toEqual([resource.kind, 1, raised]);
    }
  });

  test('a deletion that finalizers hold raises the generation, once, where there is one', async () => {
    const meta = { finalizers: ['svc.dev/parity'] };
    for (const [resource, content, raised] of [
      [core.networkPolicies, { spec: { podSelector: {} } }, 2],
      [widgets, { spec: {} }, 2],
      [core.configMaps, {}, undefined],
    ] as const) {
      const name = { namespace, name: 'held' };
      await client.create(resource, object(resource, 'held', content, meta));
      await client.delete(resource, name);
      await client.delete(resource, name);
      const going = await client.get<KubeObject>(resource, name);
      expect([resource.kind, going.metadata.generation]).toEqual([resource.kind, raised]);
      await client.patch(resource, name, { type: 'merge', body: { metadata: { finalizers: null } } });
      expect(isNotFound(await failure(client.get(resource, name)))).toBe(true);
    }
  });

  test('writes: an update without a version is taken for some kinds, and is 422 for others', async () => {
    for (const [resource, content, taken] of [
      [core.configMaps, {}, true],
      [core.secrets, {}, true],
      [core.services, { spec: { ports: [{ port: 80 }] } }, true],
      [core.networkPolicies, { spec: { podSelector: {} } }, true],
      [core.roles, { rules: [] }, true],
      [core.endpointSlices, { addressType: 'IPv4', endpoints: [] }, true],
      [core.podDisruptionBudgets, { spec: { selector: { matchLabels: labels }, maxUnavailable: 1 } }, false],
      [core.leases, { spec: { holderIdentity: 'one' } }, false],
      [core.validatingWebhookConfigurations, { webhooks: [] }, false],
      [widgets, { spec: {} }, false],
      [scalers, { spec: {} }, false],
    ] as const) {
      const made = await client.create(resource, object(resource, 'unconditional', content));
      const { resourceVersion: _, ...metadata } = made.metadata;
      const next = { ...made, metadata: { ...metadata, labels } };
      const error = await failure(client.update(resource, next));
      expect([resource.kind, isInvalid(error) ? 'refused' : error]).toEqual([
        resource.kind,
        taken ? undefined : 'refused',
      ]);
      if (!taken) expect(String(error)).toContain('must be specified for an update');
      await client.delete(resource, { name: 'unconditional', ...(resource.namespaced ? { namespace } : {}) });
    }
  });

  test('writes: the status of a custom resource is refused without a version, and an absent one is 404', async () => {
    await client.create(widgets, widget('versionless', { spec: {} }));
    const error = await failure(
      client.update(widgets, widget('versionless', { status: { ready: true } }), { subresource: 'status' }),
    );
    expect(isInvalid(error)).toBe(true);
    expect(isNotFound(await failure(client.update(widgets, widget('absent', { spec: {} }))))).toBe(true);
  });

  test('writes: a status in a create or an apply of the object is dropped, and nobody owns it', async () => {
    const content = { spec: { size: 1 }, status: { ready: true } };
    const created = await client.create(widgets, widget('made', content));
    expect(created).not.toHaveProperty('status');
    const applied = await client.apply(widgets, widget('applied', content), { fieldManager: manager });
    expect(applied).not.toHaveProperty('status');
    const again = await client.apply(widgets, widget('applied', content), { fieldManager: manager });
    expect(again).not.toHaveProperty('status');
    for (const { metadata } of [created, applied, again]) {
      expect(metadata.managedFields?.map(({ fieldsV1 }) => Object.keys(fieldsV1!))).toEqual([['f:spec']]);
    }
    const { apiVersion, kind, metadata } = widget('applied', {});
    const status = { apiVersion, kind, metadata, status: { ready: false } };
    const told = await client.applyStatus<KubeObject>(widgets, status, { fieldManager: 'teller' });
    expect(told['status']).toEqual({ ready: false });
    const kept = await client.apply(widgets, widget('applied', content), { fieldManager: manager });
    expect(kept['status']).toEqual({ ready: false });
    const deployment = { spec: workload, status: { replicas: 7 } };
    const web = await client.create(core.deployments, object(core.deployments, 'web', deployment), { dryRun: true });
    expect((web['status'] as { replicas?: number } | undefined)?.replicas).toBeUndefined();
  });

  test('apply: a map that became a text is a conflict; one that got entries is none', async () => {
    const apply = (spec: object, fieldManager: string): Promise<KubeObject> =>
      client.apply(widgets, widget('map', { spec }), { fieldManager });
    await apply({ map: {}, other: {} }, 'first');
    const filled = await apply({ map: { a: '1' } }, manager);
    expect(filled['spec']).toEqual({ map: { a: '1' }, other: {} });
    expect(await failure(apply({ other: 'text' }, manager))).toMatchObject({ code: 'ERR_APPLY_CONFLICT' });
  });
}
