import { expectGolden } from '../testing/golden.ts';
import { yamlStream } from '../testing/yaml.ts';
import { clusterTrafficPolicies, minterDeployments, trafficMonitors } from '../api/v1alpha1/index.ts';
import { aMinterDeployment } from '../testing/builders/minter-deployment.ts';
import { controllerDefaults, platformDefaults, renderController, renderMinter, renderPlatform } from './index.ts';
import type { ControllerInput } from './index.ts';

describe('renderController', () => {
  test('renders the operator installation as in its golden file', () => {
    expectGolden(
      import.meta.dirname,
      'controller-defaults.golden.yaml',
      yamlStream(renderController(controllerDefaults)),
    );
  });

  test('renders the installation with every setting as in its golden file', () => {
    const input: ControllerInput = {
      namespace: 'observability',
      svcImage: 'registry.example/svc-operator@sha256:abc',
      instrumentImage: 'registry.example/obi@sha256:def',
      instrumentVersion: 'v0.9.0',
      instrumentPrivileges: 'sys-admin',
      imagePullPolicy: 'IfNotPresent',
      imagePullSecrets: ['registry', 'mirror'],
      instrumentPorts: '8000-9000',
      agentDataHostPath: '',
      logLevel: 'debug',
      replicas: 1,
      queryReplicas: 3,
      customMetrics: 'auto',
      externalMetrics: 'force',
      query: { tenancy: 'true', clusterName: 'east', longTermUrl: 'https://mimir.example/prometheus' },
      allowExtraConfig: true,
      collector: { namespace: 'monitoring', name: 'prometheus-k8s' },
      apiServerCidrs: ['10.0.0.0/28', 'fd00::/8'],
      admission: 'fail-open',
      otlpEndpoint: 'http://otel.monitoring.svc:4318',
    };
    expectGolden(import.meta.dirname, 'controller-with-settings.golden.yaml', yamlStream(renderController(input)));
  });

  test('has a disruption budget only for several replicas: for a single one it would prevent draining the node', () => {
    const kinds = (replicas: number) => renderController({ ...controllerDefaults, replicas }).map(({ kind }) => kind);
    expect(kinds(2)).toContain('PodDisruptionBudget');
    expect(kinds(1)).not.toContain('PodDisruptionBudget');
  });

  test('lets pods that are not ready be evicted: a budget would keep them, and the node, for as long as none is', () => {
    const minter = renderMinter({ minter: aMinterDeployment(), operatorNamespace: controllerDefaults.namespace });
    const objects = [...renderController(controllerDefaults), ...renderPlatform(platformDefaults), ...minter];
    const budgets = objects.filter(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budgets.map(({ metadata }) => metadata.name)).toEqual(['svc-controller', 'svc-query', 'minter']);
    for (const budget of budgets) expect(budget['spec']).toMatchObject({ unhealthyPodEvictionPolicy: 'AlwaysAllow' });
  });

  test('adds our kinds to the roles view, edit and admin, but ClusterTrafficPolicy only for reading', () => {
    const roles = renderController(controllerDefaults).filter(({ metadata }) =>
      /^svc-(view|edit)$/.test(metadata.name!),
    );
    expect(
      roles.map(({ kind, metadata }) => [kind, Object.keys(metadata.labels!).filter((l) => /aggregate/.test(l))]),
    ).toEqual([
      ['ClusterRole', ['view', 'edit', 'admin'].map((role) => `rbac.authorization.k8s.io/aggregate-to-${role}`)],
      ['ClusterRole', ['edit', 'admin'].map((role) => `rbac.authorization.k8s.io/aggregate-to-${role}`)],
    ]);
    const [look, change] = (
      roles as unknown as { rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[] }[]
    ).map(({ rules }) =>
      rules.flatMap(({ apiGroups, resources, verbs }) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${apiGroups.join()}`)),
      ),
    );
    const each = (verbs: readonly string[], kinds: readonly string[]) =>
      kinds.flatMap((kind) => verbs.map((verb) => `${verb} ${kind}.svc.dev`)).sort();
    const namespaced = [trafficMonitors.plural, minterDeployments.plural];
    expect(look!.sort()).toEqual(each(['get', 'list', 'watch'], [clusterTrafficPolicies.plural, ...namespaced]));
    expect(change!.sort()).toEqual(each(['create', 'delete', 'deletecollection', 'patch', 'update'], namespaced));
  });

  test('puts the namespace first, so that the stream can be applied in order', () => {
    expect(renderController(controllerDefaults)[0]?.kind).toBe('Namespace');
  });
});
