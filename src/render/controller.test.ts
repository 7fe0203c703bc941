import { expectGolden } from '../testing/golden.ts';
import { yamlStream } from '../testing/yaml.ts';
import { controllerDefaults, renderController } from './index.ts';
import type { ControllerInput } from './index.ts';

describe('renderController', () => {
  test('renders the operator installation as its golden file says', () => {
    expectGolden(
      import.meta.dirname,
      'controller-defaults.golden.yaml',
      yamlStream(renderController(controllerDefaults)),
    );
  });

  test('renders it with every setting as its golden file says', () => {
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
    };
    expectGolden(import.meta.dirname, 'controller-with-settings.golden.yaml', yamlStream(renderController(input)));
  });

  test('has no disruption budget for a single replica, which it would make undrainable', () => {
    const kinds = renderController({ ...controllerDefaults, replicas: 1 }).map((object) => object.kind);
    expect(kinds).not.toContain('PodDisruptionBudget');
  });

  test('lets people do with our kinds what they may do with their namespace, and with policies nothing but look', () => {
    const roles = renderController(controllerDefaults).filter(({ metadata }) =>
      /^svc-(view|edit)$/.test(metadata.name!),
    );
    expect(
      roles.map(({ kind, metadata }) => [kind, Object.keys(metadata.labels!).filter((l) => /aggregate/.test(l))]),
    ).toEqual([
      ['ClusterRole', ['view', 'edit', 'admin'].map((role) => `rbac.authorization.k8s.io/aggregate-to-${role}`)],
      ['ClusterRole', ['edit', 'admin'].map((role) => `rbac.authorization.k8s.io/aggregate-to-${role}`)],
    ]);
    const [, edit] = roles as unknown as { rules: { resources: string[] }[] }[];
    expect(edit!.rules.flatMap(({ resources }) => resources)).not.toContain('clustertrafficpolicies');
  });

  test('puts the namespace first, so that the stream can be applied in order', () => {
    expect(renderController(controllerDefaults)[0]?.kind).toBe('Namespace');
  });
});
