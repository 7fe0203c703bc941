import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

import { startCluster } from '../cluster/cluster.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { installCrds, repository } from './install.ts';

/** What we render and ship, judged by the API server: strict, so that a misspelt field is an error. */

let cluster: Cluster;
const goldens = join(repository, 'src/render/testdata');
const strictly = ['--server-side', '--validate=strict', '--dry-run=server'];

beforeAll(async () => {
  cluster = await startCluster({ nodes: 0 });
  await installCrds(cluster);
  await cluster.kubectl(['apply', '--server-side', '-f', join(repository, 'config/samples/namespaces.yaml')]);
  await cluster.kubectl(['apply', '--server-side', '-k', join(repository, 'config/namespace')]);
});

afterAll(() => cluster?.stop());

describe('the API server takes', () => {
  test.each(readdirSync(goldens).filter((name) => name.endsWith('.golden.yaml')))(
    'every object of %s',
    async (name) => {
      const objects = parseAllDocuments(readFileSync(join(goldens, name), 'utf8'));
      const applied = await cluster.kubectl(['apply', ...strictly, '-f', join(goldens, name)]);
      expect(applied.trim().split('\n')).toHaveLength(objects.length);
    },
  );

  test('every sample', async () => {
    const applied = await cluster.kubectl(['apply', ...strictly, '-k', join(repository, 'config/samples')]);
    for (const name of ['policy', 'trafficmonitor', 'minterdeployment']) expect(applied).toContain(name);
  });
});

describe('applying the same again writes nothing', () => {
  test.each(readdirSync(goldens).filter((name) => name.endsWith('.golden.yaml')))('for %s', async (name) => {
    // Their owner does not exist here: the garbage collector would remove them under the test.
    const objects = parseAllDocuments(readFileSync(join(goldens, name), 'utf8')).map((d) => d.toJS() as Rendered);
    const stdin = objects
      .map((o) => JSON.stringify({ ...o, metadata: { ...o.metadata, ownerReferences: undefined } }))
      .join('\n');
    const apply = () =>
      cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-', '-o', 'json'], { stdin });
    const first = versionsIn(await apply());
    expect([...first.keys()]).toHaveLength(objects.length);
    expect(versionsIn(await apply())).toEqual(first);
  });
});

interface Rendered {
  kind: string;
  metadata: { name: string; generation?: number; resourceVersion: string; ownerReferences?: object[] };
}

/** What tells that an object was written: its generation where it has one, for controllers write its status. */
function versionsIn(list: string): Map<string, string> {
  const { items } = JSON.parse(list) as { items: Rendered[] };
  return new Map(
    items.map(({ kind, metadata }) => [
      `${kind}/${metadata.name}`,
      metadata.generation === undefined ? `version ${metadata.resourceVersion}` : `generation ${metadata.generation}`,
    ]),
  );
}

describe('the ways of installing', () => {
  test('kustomize gives the same objects as the one file', async () => {
    const byName = (text: string): Map<string, unknown> =>
      new Map(
        parseAllDocuments(text).map((document) => {
          const object = document.toJS() as { kind: string; metadata: { name: string } };
          return [`${object.kind}/${object.metadata.name}`, object];
        }),
      );
    const kustomized = byName(await cluster.kubectl(['kustomize', join(repository, 'config/default')]));
    const oneFile = byName(readFileSync(join(repository, 'manifests/install.yaml'), 'utf8'));
    expect([...kustomized.keys()].sort()).toEqual([...oneFile.keys()].sort());
    for (const [name, object] of oneFile) expect(kustomized.get(name)).toEqual(object);
  });
});
