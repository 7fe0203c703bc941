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

/** What we render and ship, judged by the API server: strict, so that a misspelt field is an error. */

let cluster: Cluster;
/** What is rendered for the platform and for a minter, as the tests of `render` hold it. */
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
  // One golden file is an installation under another name.
  await cluster.kubectl(['create', 'namespace', 'observability']);
  await installMonitorKinds(cluster);
});

afterAll(() => cluster?.stop());

describe('the API server takes', () => {
  test.each(goldens)('every object of %s', async (_name, file) => {
    const objects = parseAllDocuments(readFileSync(file, 'utf8'));
    const applied = await cluster.kubectl(['apply', ...strictly, '-f', file]);
    expect(applied.trim().split('\n')).toHaveLength(objects.length);
  });

  test('every sample', async () => {
    const applied = await cluster.kubectl(['apply', ...strictly, '-k', join(repository, 'config/samples')]);
    for (const name of ['policy', 'trafficmonitor', 'minterdeployment']) expect(applied).toContain(name);
  });

  test('every sample of a usual wish: five of each kind', async () => {
    const wishes = join(repository, 'config/samples/wishes');
    const applied = await cluster.kubectl(['apply', ...strictly, '-k', wishes, '-o', 'name']);
    const names = applied.trim().split('\n');
    for (const kind of ['trafficmonitor', 'clustertrafficpolicy', 'minterdeployment']) {
      expect(names.filter((name) => name.startsWith(`${kind}.`))).toHaveLength(5);
    }
  });
});

test('every sample names a schema that is there, for editors and linters', () => {
  const samples = join(repository, 'config/samples');
  const files = readdirSync(samples, { recursive: true, encoding: 'utf8' });
  const ours = files.filter((file) => file.endsWith('.yaml') && !/(kustomization|namespaces)\.yaml$/.test(file));
  expect(ours.length).toBeGreaterThanOrEqual(7);
  for (const file of ours) {
    const text = readFileSync(join(samples, file), 'utf8');
    // A sample of a Kubernetes kind has its schema from Kubernetes.
    if (!text.includes('apiVersion: svc.dev/')) continue;
    const [line = ''] = text.split('\n');
    const schema = /^# yaml-language-server: \$schema=(.+)$/.exec(line)?.[1] ?? 'none';
    expect({ file, there: existsSync(join(samples, file, '..', schema)) }).toEqual({ file, there: true });
  }
});

describe('applying the same again writes nothing', () => {
  test.each(goldens)('for %s', async (_name, file) => {
    // Their owner does not exist here: the garbage collector would remove them under the test.
    const wanted = parseAllDocuments(readFileSync(file, 'utf8')).map((document) => {
      const { metadata, ...rest } = document.toJS() as KubeObject;
      const { ownerReferences: _, ...meta } = metadata;
      return { ...rest, metadata: meta } as KubeObject;
    });
    const first = await applyAll(wanted);
    expect(first).toHaveLength(wanted.length);
    expect(versionsIn(await applyAll(wanted))).toEqual(versionsIn(first));
    // And the runtime sees that without asking: not even a request that changes nothing is sent.
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
 * What shows that an object was written: its generation where it has one, because controllers write its status at any
 * time; otherwise its resource version. To APIServices and token Secrets the server's own controllers write at any time
 * without counting a generation: of these the fields that we apply are compared.
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
