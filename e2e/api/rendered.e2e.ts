import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

import type { KubeObject } from '../../src/api/meta.ts';
import { canonicalJson } from '../../src/base/canonical-json.ts';
import { ownsExactly } from '../../src/runtime/apply/managed-fields.ts';
import { startCluster } from '../cluster/cluster.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { installCrds, installMonitorKinds } from './install.ts';
import { repository } from '../install/tools.ts';

/** The API server validates what we render and ship, strictly: a misspelt field is an error. */

let cluster: Cluster;
/** The golden files of a rendered installation and of rendered minters. */
const goldens = ['src/render/testdata', 'src/render/minter/testdata'].flatMap((folder) =>
  readdirSync(join(repository, folder))
    .filter((name) => name.endsWith('.golden.yaml'))
    .map((name): [name: string, file: string] => [name, join(repository, folder, name)]),
);
const strictly = ['--server-side', '--validate=strict', '--dry-run=server'];

beforeAll(async () => {
  cluster = await startCluster({ nodes: 0 });
  await installCrds(cluster);
  await cluster.kubectl(['apply', '--server-side', '-f', join(repository, 'config/samples/namespaces.yaml')]);
  await cluster.kubectl(['apply', '--server-side', '-k', join(repository, 'config/namespace')]);
  // One golden file is an installation in this namespace.
  await cluster.kubectl(['create', 'namespace', 'observability']);
  await installMonitorKinds(cluster);
});

afterAll(() => cluster?.stop());

describe('the API server accepts', () => {
  test.each(goldens)('every object of %s', async (_name, file) => {
    const objects = parseAllDocuments(readFileSync(file, 'utf8'));
    const applied = await cluster.kubectl(['apply', ...strictly, '-f', file]);
    expect(applied.trim().split('\n')).toHaveLength(objects.length);
  });

  test('every sample', async () => {
    const applied = await cluster.kubectl(['apply', ...strictly, '-k', join(repository, 'config/samples')]);
    for (const name of ['policy', 'trafficmonitor', 'minterdeployment']) expect(applied).toContain(name);
  });

  test('every sample in config/samples/wishes: five of each kind', async () => {
    const wishes = join(repository, 'config/samples/wishes');
    const applied = await cluster.kubectl(['apply', ...strictly, '-k', wishes, '-o', 'name']);
    const names = applied.trim().split('\n');
    for (const kind of ['trafficmonitor', 'clustertrafficpolicy', 'minterdeployment']) {
      expect(names.filter((name) => name.startsWith(`${kind}.`))).toHaveLength(5);
    }
  });
});

test('every sample names a schema that exists, for editors and linters', () => {
  const samples = join(repository, 'config/samples');
  const files = readdirSync(samples, { recursive: true, encoding: 'utf8' });
  const ours = files.filter((file) => file.endsWith('.yaml') && !/(kustomization|namespaces)\.yaml$/.test(file));
  expect(ours.length).toBeGreaterThanOrEqual(7);
  for (const file of ours) {
    const text = readFileSync(join(samples, file), 'utf8');
    // Samples of built-in kinds do not name a schema of ours.
    if (!text.includes('apiVersion: svc.dev/')) continue;
    const [line = ''] = text.split('\n');
    const schema = /^# yaml-language-server: \$schema=(.+)$/.exec(line)?.[1] ?? 'none';
    expect({ file, there: existsSync(join(samples, file, '..', schema)) }).toEqual({ file, there: true });
  }
});

describe('applying the same objects again writes nothing', () => {
  test.each(goldens)('for %s', async (_name, file) => {
    // The owner does not exist here: the garbage collector would delete the objects during the test.
    const wanted = parseAllDocuments(readFileSync(file, 'utf8')).map((document) => {
      const { metadata, ...rest } = document.toJS() as KubeObject;
      const { ownerReferences: _, ...meta } = metadata;
      return { ...rest, metadata: meta } as KubeObject;
    });
    const first = await applyAll(wanted);
    expect(first).toHaveLength(wanted.length);
    expect(versionsIn(await applyAll(wanted))).toEqual(versionsIn(first));
    // From the managed fields the runtime sees that nothing would change, and does not even send the request.
    const unsure = first.filter((live, index) => !ownsExactly(live, wanted[index]!, manager));
    expect(unsure.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).toEqual([]);
  });
});

const manager = 'svc-controller/test';

async function applyAll(objects: readonly KubeObject[]): Promise<Rendered[]> {
  const stdin = objects.map((object) => JSON.stringify(object)).join('\n');
  const flags = ['--server-side', '--force-conflicts', `--field-manager=${manager}`, '--show-managed-fields'];
  const list = await cluster.kubectl(['apply', ...flags, '-f', '-', '-o', 'json'], { stdin });
  return (JSON.parse(list) as { items: Rendered[] }).items;
}

type Rendered = KubeObject & { metadata: { name: string; resourceVersion: string } };

/**
 * For each object a value that changes when the object is written: its generation if it has one, because controllers
 * write the status at any time; otherwise its resource version. The server's own controllers write to APIServices and
 * token Secrets at any time without a new generation: for these the value has the fields that we apply.
 */
function versionsIn(items: readonly Rendered[]): Map<string, string> {
  return new Map(
    items.map(({ kind, metadata, ...rest }) => {
      const name = `${kind}/${metadata.name}`;
      if (/^(APIService|Secret)$/.test(kind)) {
        const { spec, type } = rest as { spec?: unknown; type?: unknown };
        return [name, canonicalJson({ labels: metadata.labels, spec, type })];
      }
      const { generation, resourceVersion } = metadata;
      return [name, generation === undefined ? `version ${resourceVersion}` : `generation ${generation}`];
    }),
  );
}
