import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../src/api/meta.ts';
import { repository } from '../install/tools.ts';
import type { LifeStage } from './stage.ts';

const folder = join(repository, 'src/controllers/testdata/releases');

/** The released versions whose objects in a cluster are recorded, oldest first. Those of the next one are in `../next.yaml`. */
export const releases: readonly string[] = readdirSync(folder)
  .map((file) => file.replace(/\.yaml$/, ''))
  .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));

/**
 * Puts a cluster into the state in which the operator of the release `version` left it: the objects that the operator
 * applied, with its field managers.
 * Missing namespaces of the objects are created. Returns what was applied.
 */
export async function applyRelease(stage: LifeStage, version: string): Promise<KubeObject[]> {
  const text = readFileSync(join(folder, `${version}.yaml`), 'utf8');
  const objects = parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
  const namespaces = [...new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []))];
  await stage.apply(
    namespaces.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    '--server-side',
  );
  const bundles = Map.groupBy(objects, ({ metadata }) => {
    const { 'app.kubernetes.io/managed-by': by, 'app.kubernetes.io/component': part } = metadata.labels ?? {};
    if (by === undefined) return 'kubectl';
    return part === 'minter' ? 'svc-controller/minter-deployment' : 'svc-controller/platform';
  });
  for (const [manager, bundle] of bundles) {
    await stage.apply(bundle, '--server-side', '--force-conflicts', `--field-manager=${manager}`);
  }
  return objects;
}
