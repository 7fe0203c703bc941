import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../api/meta.ts';
import { names, platformDefaults, renderedKinds } from '../render/index.ts';
import { expectGolden } from '../testing/golden.ts';
import { ordinaryObjects, runWholeOperator } from '../testing/whole-operator.ts';
import { yamlStream } from '../testing/yaml.ts';

/**
 * What an operator of this version leaves in a cluster. In later versions the end-to-end test of an upgrade applies the
 * files of all versions before. The file is named after the version in package.json, so that of an earlier version is
 * never written again.
 */
test('what this version makes of ordinary objects is kept for later versions to upgrade', async () => {
  const operator = await runWholeOperator();
  await operator.idle();
  // What is registered once the query server answers belongs to it, too.
  const conditions = [{ type: 'Available', status: 'True' }];
  operator.server.putStatus(renderedKinds.Deployment, platformDefaults.namespace, names.query, { conditions });
  const registered = () =>
    operator.server.storage.find(renderedKinds.ClusterRole, undefined, names.customMetricsAccess);
  await operator.passUntil(registered, 'the registration');
  await operator.idle();
  const made = Object.values(renderedKinds).flatMap((resource) =>
    operator.server.storage.list(resource).filter(isMade),
  );
  await operator.stop();
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
    version: string;
  };
  const stream = yamlStream([...ordinaryObjects, ...made].map(asWritten));
  expectGolden(import.meta.dirname, `releases/v${version}.yaml`, stream);
});

/** Certificates differ with each installation, and with them what carries the authority. */
function isMade({ kind, metadata, ...rest }: KubeObject): boolean {
  const labels = metadata.labels ?? {};
  const carriesAuthority = JSON.stringify(rest).includes('caBundle') || metadata.name === 'svc-ca-bundle';
  return labels['app.kubernetes.io/managed-by'] === 'svc-controller' && kind !== 'Secret' && !carriesAuthority;
}

/** Without what the server adds, and without owners, whose uids are another cluster's. */
function asWritten({ apiVersion, kind, metadata, status: _, ...rest }: KubeObject & { status?: unknown }): KubeObject {
  const { name, namespace, labels, annotations } = metadata;
  const kept = Object.entries({ name, namespace, labels, annotations }).filter(([, value]) => value !== undefined);
  return { apiVersion, kind, metadata: Object.fromEntries(kept), ...rest } as KubeObject;
}
