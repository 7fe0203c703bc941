import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../../src/api/meta.ts';
import { parse } from 'yaml';
import { installSettingTable } from '../../src/bin/install/settings.ts';
import { findBinaries } from '../cluster/binaries.ts';
import { findHelm } from '../helm/programs.ts';
import { chart, objectsOf, repository, run, runWell, svc } from './tools.ts';

/** The four ways to install create the same objects. The tests run each way as its users do. */

let helm: string;
let kubectl: string;

beforeAll(async () => {
  [{ helm }, { kubectl }] = await Promise.all([findHelm(), findBinaries()]);
}, 900_000);

const template = async (...args: string[]): Promise<Map<string, KubeObject>> =>
  objectsOf((await runWell(helm, ['template', 'svc-operator', chart, ...args])).stdout);
const installed = async (...args: string[]): Promise<Map<string, KubeObject>> => {
  const { code, stdout, stderr } = await svc(['install', '--dry-run=client', ...args]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return objectsOf(stdout);
};

function expectSame(actual: Map<string, KubeObject>, expected: Map<string, KubeObject>): void {
  expect([...actual.keys()].sort()).toEqual([...expected.keys()].sort());
  for (const [name, object] of expected) expect(actual.get(name)).toEqual(object);
}

/** Paths of the values inside an object; a list is one value. */
function leaves(value: object, path = ''): string[] {
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner) && Object.keys(inner).length > 0
      ? leaves(inner, `${path}${key}.`)
      : [`${path}${key}`],
  );
}

describe('with default settings', () => {
  const oneFile = objectsOf(readFileSync(join(repository, 'manifests/install.yaml'), 'utf8'));

  test('manifests/install.yaml has what an installation needs', () => {
    for (const name of [
      'Namespace /svc-system',
      'CustomResourceDefinition /trafficmonitors.svc.dev',
      'Deployment svc-system/svc-controller',
      'PodDisruptionBudget svc-system/svc-controller',
      'NetworkPolicy svc-system/svc-default-deny-ingress',
    ])
      expect([...oneFile.keys()]).toContain(name);
  });

  test('kustomize makes the objects of manifests/install.yaml', async () => {
    const { stdout } = await runWell(kubectl, ['kustomize', join(repository, 'config/default')]);
    expectSame(objectsOf(stdout), oneFile);
  });

  test('the chart makes the objects of manifests/install.yaml', async () => expectSame(await template(), oneFile));

  test('svc install makes the objects of manifests/install.yaml', async () => expectSame(await installed(), oneFile));
});

describe('with settings', () => {
  /** Each flag of `svc install` with a value, and the chart values that mean the same. */
  const settingsOf: Readonly<Record<string, readonly [flag: string, values: Readonly<Record<string, string>>]>> = {
    namespace: ['observability', { 'namespace.name': 'observability' }],
    'svc-image': [
      'registry.example/svc-operator:v9',
      { 'image.repository': 'registry.example/svc-operator', 'image.tag': 'v9' },
    ],
    'instrument-image': ['registry.example/obi:latest', { 'instrument.image': 'registry.example/obi:latest' }],
    'instrument-version': ['v0.9.0', { 'instrument.version': 'v0.9.0' }],
    'instrument-program': ['/opt/obi', { 'instrument.program': '/opt/obi' }],
    'instrument-privileges': ['sys-admin', { 'instrument.privileges': 'sys-admin' }],
    'image-pull-policy': ['IfNotPresent', { imagePullPolicy: 'IfNotPresent' }],
    'image-pull-secrets': ['registry,mirror', { 'imagePullSecrets[0]': 'registry', 'imagePullSecrets[1]': 'mirror' }],
    'obi-instrument-ports': ['8000-9000', { 'instrument.ports': '8000-9000' }],
    'agent-data-host-path': ['', { 'agent.dataHostPath': '' }],
    collector: [
      'monitoring/prometheus-k8s',
      { 'collector.namespace': 'monitoring', 'collector.serviceAccount': 'prometheus-k8s' },
    ],
    'custom-metrics': ['force', { customMetrics: 'force' }],
    'external-metrics': ['auto', { externalMetrics: 'auto' }],
    'api-server-cidrs': [
      '10.0.0.0/28,fd00::/8',
      { 'apiServerCidrs[0]': '10.0.0.0/28', 'apiServerCidrs[1]': 'fd00::/8' },
    ],
    admission: ['fail-open', { admission: 'fail-open' }],
    'otlp-endpoint': ['http://otel.monitoring.svc:4318', { otlpEndpoint: 'http://otel.monitoring.svc:4318' }],
    'allow-extra-config': ['true', { allowExtraConfig: 'true' }],
    replicas: ['1', { replicas: '1' }],
    'query-replicas': ['3', { queryReplicas: '3' }],
    pushdown: ['series', { 'query.pushdown': 'series' }],
    'agent-timeout': ['5s', { 'query.agentTimeout': '5s' }],
    'query-timeout': ['1m', { 'query.queryTimeout': '1m' }],
    'max-samples': ['1000000', { 'query.maxSamples': '1000000' }],
    'query-memory': ['536870912', { 'query.queryMemory': '536870912' }],
    'lookback-delta': ['1m', { 'query.lookbackDelta': '1m' }],
    'max-concurrency': ['4', { 'query.maxConcurrency': '4' }],
    tenancy: ['true', { 'query.tenancy': 'true' }],
    'loopback-exempt': ['false', { 'query.loopbackExempt': 'false' }],
    'cluster-name': ['east', { 'query.clusterName': 'east' }],
    'partial-aggregates': ['true', { 'query.partialAggregates': 'true' }],
    'custom-metrics-fallback': [
      'https://adapter.monitoring',
      { 'query.customMetricsFallback': 'https://adapter.monitoring' },
    ],
    'custom-metrics-fallback-secret': ['adapter', { 'query.customMetricsFallbackSecret': 'adapter' }],
    'long-term-url': ['https://mimir.example/prometheus', { 'query.longTermUrl': 'https://mimir.example/prometheus' }],
    'long-term-after': ['12h', { 'query.longTermAfter': '12h' }],
    'long-term-api': ['query', { 'query.longTermApi': 'query' }],
    'long-term-tenant': ['team-a', { 'query.longTermTenant': 'team-a' }],
    'long-term-labels': ['cluster=eu,replica', { 'query.longTermLabels': 'cluster=eu,replica' }],
    'long-term-secret': ['mimir', { 'query.longTermSecret': 'mimir' }],
    'query-log': ['true', { 'query.queryLog': 'true' }],
    'minter-namespaces': ['pay', { 'minterNamespaces[0]': 'pay' }],
    'log-level': ['debug', { logLevel: 'debug' }],
  };
  /** Values that only the chart has: for the namespace, CRDs, digest and tolerations. The minter has its own test. */
  const chartOnly = /^(namespace\.create|crds\.|image\.digest|tolerations|vcsMinter\.)/;

  test('the chart and svc install agree on every setting, and no setting of either is left out', async () => {
    const names = Object.keys(installSettingTable).map((key) => key.replaceAll(/[A-Z]/g, (c) => `-${c.toLowerCase()}`));
    expect(Object.keys(settingsOf).toSorted()).toEqual(names.toSorted());
    const values = Object.fromEntries(Object.values(settingsOf).flatMap(([, of]) => Object.entries(of)));
    const covered = new Set(Object.keys(values).map((name) => name.replace(/\[\d\]$/, '')));
    const all = parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as object;
    expect(
      leaves(all)
        .filter((name) => !chartOnly.test(name))
        .toSorted(),
    ).toEqual([...covered].toSorted());
    const set = Object.entries(values).flatMap(([name, value]) => [
      name === 'query.loopbackExempt' ? '--set-string' : '--set',
      `${name}=${value.replaceAll(',', '\\,')}`,
    ]);
    const flags = Object.entries(settingsOf).map(([name, [value]]) => `--${name}=${value}`);
    expectSame(await template(...set), await installed(...flags));
  });

  const keyVersion = 'projects/p/locations/global/keyRings/minter/cryptoKeys/app/cryptoKeyVersions/2';
  const account = 'minter@p.iam.gserviceaccount.com';
  const settings = {
    VCS_APP_ID: '4711',
    GITOPS_ORG: 'acme',
    GITOPS_REPO: 'gitops',
    KMS_KEY_VERSION: keyVersion,
    MINTER_CALLERS: 'platform-agent@p.iam.gserviceaccount.com',
    MINTER_SERVICE_ACCOUNT: account,
  };

  test('the chart and svc install agree on a minter that svc install reads from environment variables', async () => {
    const chartSide = await template(
      ...['enabled=true', 'org=acme', 'repository=gitops', `kms.keyVersion=${keyVersion}`].flatMap((v) => [
        '--set',
        `vcsMinter.${v}`,
      ]),
      ...['--set-string', 'vcsMinter.appId=4711', '--set', `vcsMinter.callers[0]=${settings.MINTER_CALLERS}`],
      ...['--set', `vcsMinter.serviceAccountAnnotations.iam\\.gke\\.io/gcp-service-account=${account}`],
    );
    const { code, stdout, stderr } = await svc(['install', '--dry-run=client'], settings);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expectSame(objectsOf(stdout), chartSide);
    expect(objectsOf(stdout).get('MinterDeployment platform-agent/minter')).toMatchObject({
      spec: { kms: { keyVersion }, vcs: { org: 'acme', repository: 'gitops' } },
    });
  });

  test('the old names of variables work too, each with a warning that has the new name', async () => {
    const { GITOPS_ORG, GITOPS_REPO, ...rest } = settings;
    const old = await svc(['install', '--dry-run=client'], { ...rest, VCS_ORG: GITOPS_ORG, VCS_REPO: GITOPS_REPO });
    const current = await svc(['install', '--dry-run=client'], settings);
    expect(old.code).toBe(0);
    expect(old.stdout).toBe(current.stdout);
    expect(old.stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/VCS_ORG is deprecated.*GITOPS_ORG/),
      expect.stringMatching(/VCS_REPO is deprecated.*GITOPS_REPO/),
    ]);
  });

  test('the chart refuses unknown and invalid values', async () => {
    for (const [value, said] of [
      ['replica=3', /replica/],
      ['replicas=0', /replicas/],
      ['customMetrics=maybe', /customMetrics/],
    ] as const) {
      const { code, stderr } = await run(helm, ['template', 'x', chart, '--set', value]);
      expect(code).not.toBe(0);
      expect(stderr).toMatch(said);
    }
    const { stderr } = await run(helm, ['template', 'x', chart, '--set', 'vcsMinter.enabled=true']);
    expect(stderr).toMatch(/vcsMinter.org is needed for a minter/);
  });

  test('svc install refuses invalid settings, and names them', async () => {
    for (const [args, env, said] of [
      [['--replicas=9'], {}, /--replicas/],
      [[], { ...settings, VCS_APP_ID: 'app' }, /VCS_APP_ID/],
      [[], { GITOPS_ORG: 'acme' }, /GITOPS_REPO/],
      [[], { VCS_APP_ID: '1' }, /GITOPS_ORG/],
      [[], { ...settings, KMS_KEY_VERSION: '' }, /KMS_KEY_VERSION/],
    ] as const) {
      const { code, stderr, stdout } = await svc(['install', '--dry-run=client', ...args], env);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(said);
    }
  });
});
