import { readdirSync, readFileSync } from 'node:fs';
import type { KubeObject } from '../api/meta.ts';
import { agentSettingTable, initConfigSettingTable } from '../agent/settings.ts';
import { flagOf, readSettings, variableOf } from '../base/settings.ts';
import type { SettingTable } from '../base/settings.ts';
import { operatorSettingTable, platformInput } from '../controllers/operator-settings.ts';
import { minterSettingTable } from '../minter/setting-table.ts';
import { minterSettings } from '../minter/settings.ts';
import { querySettingTable } from '../query/settings.ts';
import { aMinterDeployment } from '../testing/builders/minter-deployment.ts';
import { controllerDefaults, platformDefaults, renderController, renderMinter, renderPlatform } from './index.ts';
import type { PlatformInput, QueryOption, QueryOptions } from './index.ts';
import { nodeMemory } from './node-memory.ts';

/** The manifests and the programs agree on every flag: a program refuses a flag that it does not know. */

interface Container {
  name: string;
  args: string[];
  env?: { name: string; value?: string }[];
}
interface PodSpec {
  initContainers?: Container[];
  containers: Container[];
}

function container(objects: KubeObject[], kind: string, name: string): Container {
  for (const object of objects.filter((o) => o.kind === kind)) {
    const { spec } = (object['spec'] as { template: { spec: PodSpec } }).template;
    const found = [...(spec.initContainers ?? []), ...spec.containers].find((c) => c.name === name);
    if (found) return found;
  }
  throw new Error(`no container ${name} in a ${kind}`);
}

/** `--scrape-port=9090` → `scrapePort: '9090'`, with the variables of the pod filled in. */
function flagsOf(args: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    args
      .filter((arg) => arg.startsWith('--'))
      .map((arg) => {
        const [flag = '', value = ''] = arg.slice(2).split(/=(.*)/s);
        const key = flag.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
        return [
          key,
          value
            .replace('$(NODE_NAME)', 'node-1')
            .replace('$(POD_IP)', '10.0.0.1')
            .replace('$(POD_NAMESPACE)', 'svc-system'),
        ];
      }),
  );
}

/** The container's environment variables; undefined for those without a literal value. */
function variablesOf({ env = [] }: Container): Record<string, string | undefined> {
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}

/** Every option of the query server, with a value that is not its default. */
const everyQueryOption: QueryOptions = {
  pushdown: 'series',
  agentTimeout: '5s',
  queryTimeout: '1m',
  maxSamples: '1000000',
  queryMemory: '536870912',
  lookbackDelta: '1m',
  maxConcurrency: '4',
  tenancy: 'true',
  loopbackExempt: 'false',
  clusterName: 'east',
  partialAggregates: 'true',
  customMetricsFallback: 'https://prometheus-adapter.monitoring.svc',
  customMetricsFallbackSecret: 'adapter',
  longTermUrl: 'https://mimir.example/prometheus',
  longTermAfter: '12h',
  longTermApi: 'query',
  longTermTenant: 'team-a',
  longTermLabels: 'cluster=eu,replica',
  longTermSecret: 'mimir',
  queryLog: 'true',
} satisfies Record<QueryOption, string>;
const autoscaling = { customMetrics: { register: true }, externalMetrics: { register: true } };

const elsewhere: PlatformInput = { ...platformDefaults, namespace: 'observability' };
const onEmptyDir: PlatformInput = { ...platformDefaults, agentDataHostPath: '', hostNetwork: true };

describe.each([
  ['defaults', platformDefaults],
  ['an emptyDir and the host network', onEmptyDir],
  ['another namespace', elsewhere],
])('with %s', (_, input) => {
  test.each<[string, SettingTable]>([
    ['agent', agentSettingTable],
    ['init-config', initConfigSettingTable],
  ])('container %s knows and takes each of its flags', (name, table) => {
    const flags = flagsOf(container(renderPlatform(input), 'DaemonSet', name).args);
    expect(Object.keys(flags).length).toBeGreaterThan(5);
    expect(Object.keys(flags).filter((flag) => !(flag in table))).toEqual([]);
    expect(() => readSettings(table, { flags, env: {}, prefix: 'SVC_' })).not.toThrow();
  });

  test('the init container writes the same file as the agent: both get the same flags for that file', () => {
    const objects = renderPlatform(input);
    const agent = flagsOf(container(objects, 'DaemonSet', 'agent').args);
    const {
      dataOwner: _owner,
      supervisorDir: _dir,
      ...init
    } = flagsOf(container(objects, 'DaemonSet', 'init-config').args);
    expect(Object.keys(init).length).toBeGreaterThan(3);
    expect(agent).toMatchObject(init);
  });
});

test('agents outside svc-system get their namespace by a flag, and those in svc-system get no such flag', () => {
  const namespaceOf = (input: PlatformInput) =>
    flagsOf(container(renderPlatform(input), 'DaemonSet', 'agent').args)['namespace'];
  expect([platformDefaults, elsewhere].map(namespaceOf)).toEqual([undefined, 'observability']);
});

describe.each<[string, string, KubeObject[], SettingTable]>([
  ['query', 'by default', renderPlatform(platformDefaults), querySettingTable],
  [
    'query',
    'with every option of queries',
    renderPlatform({ ...platformDefaults, ...autoscaling, query: everyQueryOption }),
    querySettingTable,
  ],
  ['controller', 'by default', renderController(controllerDefaults), operatorSettingTable],
  [
    'controller',
    'with every option of queries',
    renderController({ ...controllerDefaults, query: everyQueryOption }),
    operatorSettingTable,
  ],
])('container %s %s', (name, _how, objects, table) => {
  test('knows and takes each of its flags and variables', () => {
    const found = container(objects, 'Deployment', name);
    const flags = flagsOf(found.args);
    expect(Object.keys(flags).length).toBeGreaterThan(3);
    expect(Object.keys(flags).filter((flag) => !(flag in table))).toEqual([]);
    const env = variablesOf(found);
    const known = Object.keys(table).map((key) => variableOf(key, 'SVC_'));
    expect(Object.keys(env).filter((key) => key.startsWith('SVC_') && !known.includes(key))).toEqual([]);
    expect(() => readSettings(table, { flags, env, prefix: 'SVC_' })).not.toThrow();
  });
});

const releases = new URL('testdata/releases/', import.meta.url);
/** The flags of each release's programs, by container. */
const released = readdirSync(releases).map((file): [string, Record<string, string[]>] => [
  file.replace('.flags.json', ''),
  JSON.parse(readFileSync(new URL(file, releases), 'utf8')) as Record<string, string[]>,
]);

describe.each(released)('during an upgrade from %s', (_, knows) => {
  const everything = { ...platformDefaults, ...autoscaling, hostNetwork: true, query: everyQueryOption };

  test.each<[string, string, SettingTable]>([
    ['DaemonSet', 'agent', agentSettingTable],
    ['DaemonSet', 'init-config', initConfigSettingTable],
    ['Deployment', 'query', querySettingTable],
  ])(
    '%s, container %s: only flags of that release are passed, and this version still knows every flag of it',
    (kind, name, table) => {
      const flags = [platformDefaults, everything].flatMap((input) =>
        container(renderPlatform(input), kind, name).args.filter((arg) => arg.startsWith('--')),
      );
      expect(flags.length).toBeGreaterThan(10);
      expect(flags.filter((flag) => !knows[name]!.includes(flag.replace(/=.*/s, '')))).toEqual([]);
      expect(knows[name]!.filter((flag) => !Object.keys(table).map(flagOf).includes(flag))).toEqual([]);
    },
  );
});

test.each<[string, QueryOptions, boolean, string, string]>([
  ['by default, query server and agents exempt loopback', {}, false, 'true', 'true'],
  ['on the host network the agents exempt nothing', {}, true, 'true', 'false'],
  ['loopbackExempt=false withdraws both exemptions', { loopbackExempt: 'false' }, false, 'false', 'false'],
  ['tenancy withdraws both exemptions', { tenancy: 'true' }, false, 'false', 'false'],
])('%s', (_, query, hostNetwork, ofQuery, ofAgent) => {
  const objects = renderPlatform({ ...platformDefaults, query, hostNetwork });
  expect(flagsOf(container(objects, 'Deployment', 'query').args)['loopbackExempt']).toBe(ofQuery);
  expect(flagsOf(container(objects, 'DaemonSet', 'agent').args)['loopbackExempt']).toBe(ofAgent);
});

test.each<[string, Readonly<Record<string, string>>, object]>([
  ['a new installation', {}, { ports: '80,443,8080,8443', instrumentVersion: 'v0.10.0', allowExtraConfig: false }],
  [
    'an installation with other settings',
    { obiInstrumentPorts: '8000-8100', instrumentImage: 'mirror.example/obi:v0.11.1', allowExtraConfig: 'true' },
    { ports: '8000-8100', instrumentVersion: 'v0.11.1', allowExtraConfig: true },
  ],
  [
    'an installation whose image names no version',
    { instrumentImage: 'mirror.example/obi@sha256:00', instrumentVersion: 'v0.9.0' },
    { ports: '80,443,8080,8443', instrumentVersion: 'v0.9.0', allowExtraConfig: false },
  ],
])('the query server of %s gets the capture settings of the operator', (_, own, expected) => {
  const flags = {
    ...flagsOf(container(renderController(controllerDefaults), 'Deployment', 'controller').args),
    ...own,
  };
  const settings = readSettings(operatorSettingTable, { flags, env: {}, prefix: 'SVC_' });
  const rendered = container(renderPlatform(platformInput(settings)), 'Deployment', 'query');
  const told = readSettings(querySettingTable, {
    flags: flagsOf(rendered.args),
    env: variablesOf(rendered),
    prefix: 'SVC_',
  });
  const { obiInstrumentPorts: ports, instrumentVersion, allowExtraConfig } = told;
  expect({ ports, instrumentVersion, allowExtraConfig }).toEqual(expected);
});

test('every pod of ours refuses the proxies of service meshes', () => {
  const minter = renderMinter({ minter: aMinterDeployment(), operatorNamespace: 'svc-system' });
  const objects = [...renderPlatform(platformDefaults), ...renderController(controllerDefaults), ...minter];
  const templates = objects.flatMap((object) => {
    const spec = object['spec'] as { template?: { metadata: unknown } } | undefined;
    return spec?.template ? [spec.template] : [];
  });
  expect(templates).toHaveLength(4);
  for (const { metadata } of templates) {
    expect(metadata).toMatchObject({
      labels: { 'sidecar.istio.io/inject': 'false', 'kuma.io/sidecar-injection': 'disabled' },
      annotations: { 'sidecar.istio.io/inject': 'false', 'linkerd.io/inject': 'disabled' },
    });
  }
});

test.each<[string, string, KubeObject[]]>([
  ['DaemonSet', 'agent', renderPlatform(platformDefaults)],
  ['DaemonSet', 'agent', renderPlatform(onEmptyDir)],
  ['Deployment', 'query', renderPlatform(platformDefaults)],
  ['Deployment', 'controller', renderController(controllerDefaults)],
])('%s, container %s listens on every address of IPv6 and IPv4', (kind, name, objects) => {
  const { args } = container(objects, kind, name);
  expect(args.filter((arg) => arg.startsWith('--bind-address'))).toEqual(['--bind-address=::']);
});

describe('the minter', () => {
  test('knows and takes each of its variables', () => {
    const objects = renderMinter({ minter: aMinterDeployment(), operatorNamespace: 'svc-system' });
    const env = container(objects, 'Deployment', 'minter').env ?? [];
    const settable = Object.keys(minterSettingTable).map((key) => variableOf(key, ''));
    const known = [...settable, ...Object.keys(nodeMemory('minter'))];
    expect(env.map((variable) => variable.name).filter((name) => !known.includes(name))).toEqual([]);
    const values = Object.fromEntries(env.map(({ name, value }) => [name, value ?? '4711']));
    const settings = minterSettings(readSettings(minterSettingTable, { flags: {}, env: values, prefix: '' }));
    expect(settings).toMatchObject({ org: 'acme', appId: 4711, bindAddress: '::' });
  });
});
