import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../../src/api/meta.ts';
import { agentSettingTable } from '../../src/agent/settings.ts';
import { variableOf } from '../../src/base/settings.ts';
import { minterSettingTable } from '../../src/minter/setting-table.ts';
import { querySettingTable } from '../../src/query/settings.ts';
import { platformDefaults, renderMinter, renderPlatform } from '../../src/render/index.ts';
import { aMinterDeployment } from '../../src/testing/builders/minter-deployment.ts';
import { agentEnvironment, imageEnvironment, minterEnvironment, queryEnvironment } from './as-rendered.ts';

interface Container {
  readonly name: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}

/** The environment variables of a rendered container that have a literal value and are not settings of its program. */
function environmentOf(objects: readonly KubeObject[], container: string, table: object): Record<string, string> {
  const containers = objects.flatMap(
    ({ spec }) =>
      (spec as { template?: { spec?: { containers?: Container[] } } } | undefined)?.template?.spec?.containers ?? [],
  );
  const { env = [] } = containers.find(({ name }) => name === container)!;
  const settings = Object.keys(table).map((key) => variableOf(key, container === 'minter' ? '' : 'SVC_'));
  return Object.fromEntries(
    env.flatMap(({ name, value }) => (value === undefined || settings.includes(name) ? [] : [[name, value]])),
  );
}

test.each<[string, Readonly<Record<string, string>>, readonly KubeObject[], object]>([
  ['agent', agentEnvironment, renderPlatform(platformDefaults), agentSettingTable],
  ['query', queryEnvironment, renderPlatform(platformDefaults), querySettingTable],
  [
    'minter',
    minterEnvironment,
    renderMinter({ minter: aMinterDeployment(), operatorNamespace: 'svc-system' }),
    minterSettingTable,
  ],
])('benchmarks start each %s with the environment of the rendered container', (name, environment, objects, table) => {
  expect({ ...imageEnvironment, ...environmentOf(objects, name, table) }).toEqual(environment);
});

test('benchmarks start processes with the environment of the image', () => {
  const dockerfile = readFileSync(join(import.meta.dirname, '../../Dockerfile'), 'utf8');
  const set = /^ENV ((?:.*\\\n)*.*)$/m.exec(dockerfile)![1]!.split(/\s*\\\n\s*|\s+/);
  const own = set.map((pair) => pair.split('=', 2) as [string, string]).filter(([name]) => name !== 'PATH');
  expect(Object.fromEntries(own)).toEqual(imageEnvironment);
});
