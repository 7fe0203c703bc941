import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { ClusterTrafficPolicy, TrafficMonitor } from '../api/v1alpha1/index.ts';
import { aMonitor, aPod, aPolicy, aWorld } from '../testing/capture/world.ts';
import { expectGolden } from '../testing/golden.ts';
import type { CaptureConfig } from './capture-config.ts';
import { compile } from './compile/compile.ts';
import { emitYaml, type YamlValue } from './instrument-yaml/emit.ts';
import { instrumentVersions } from './instrument-yaml/version.ts';

/**
 * `testdata/cases/<case>.yaml` holds policies and monitors, `testdata/<version>/` the files that nodes get for them.
 * Versions v0.10 and v0.12 of the instrument accept the same config, so both are compared with the same files.
 * A golden file has the instrument's file of node-1 and, where it differs, of node-3 (in another node pool), each
 * followed by the agent's rules.
 */
const folder = join(import.meta.dirname, 'testdata/cases');
const cases = existsSync(folder) ? readdirSync(folder).map((f) => f.replace(/\.yaml$/, '')) : [];

const folderOf = { 'v0.9': 'v0.9', 'v0.10': 'v0.10', 'v0.12': 'v0.10' };

/** All that the agent itself carries out: the config without the instrument's file, version, node and generations. */
function rulesOf({ monitors, fallback, limits, ...more }: CaptureConfig): Record<string, YamlValue | undefined> {
  const elsewhere = { version: undefined, node: undefined, instrument: undefined, generations: undefined };
  return { monitors, fallback, limits, ...more, ...elsewhere } as Record<string, YamlValue | undefined>;
}

test('there are enough cases', () => expect(cases.length).toBeGreaterThanOrEqual(40));

describe.each(instrumentVersions)('instrument %s', (version) => {
  test.each(cases)('%s', (name) => {
    const objects = parseAllDocuments(readFileSync(join(folder, `${name}.yaml`), 'utf8')).map(
      (doc) => doc.toJS() as ClusterTrafficPolicy | TrafficMonitor,
    );
    const result = compile(
      aWorld({
        environment: { instrumentVersion: version, ports: '80,443,8080,8443', allowExtraConfig: true },
        policies: objects
          .filter((o) => o.kind === 'ClusterTrafficPolicy')
          .map((o) => aPolicy(o.metadata.name!, o.spec)),
        monitors: objects
          .filter((o) => o.kind === 'TrafficMonitor')
          .map((o) => aMonitor(`${o.metadata.namespace}/${o.metadata.name}`, o.spec)),
        pods: [
          aPod('shop/checkout-1', 'node-1', { labels: { app: 'checkout', tier: 'web' } }),
          aPod('shop/cart-1', 'node-1'),
          aPod('pay/ledger-1', 'node-3'),
        ],
      }),
    );
    const verdicts = [...result.policies.values(), ...result.monitors.values()].map((o) =>
      `# ${'namespace' in o ? `${o.namespace}/` : ''}${o.name}: ${o.accepted.reason} ${o.accepted.message}`.trimEnd(),
    );
    const parts = [verdicts.join('\n')];
    for (const node of ['node-1', 'node-3']) {
      const { config, yamlHash } = result.nodes.get(node)!;
      if (node !== 'node-1' && yamlHash === result.nodes.get('node-1')!.yamlHash)
        parts.push(`# ${node}: the same file`);
      else parts.push(`# ${node}: the instrument's file\n${config.instrument.yaml}`.trimEnd());
      parts.push(`# ${node}: the agent's rules\n${emitYaml(rulesOf(config))}`.trimEnd());
    }
    expectGolden(import.meta.dirname, `${folderOf[version]}/${name}.yaml`, `${parts.join('\n---\n')}\n`);
  });
});
