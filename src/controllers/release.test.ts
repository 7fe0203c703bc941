import type { KubeObject } from '../api/meta.ts';
import { names, platformDefaults, renderedKinds } from '../render/index.ts';
import { expectGolden } from '../testing/golden.ts';
import { ordinaryObjects, runWholeOperator } from '../testing/operator/whole-operator.ts';
import { yamlStream } from '../testing/yaml.ts';

/**
 * The objects that an operator of the next version creates in a cluster. `npm run keep-release` copies this file to
 * `testdata/releases/v<version>.yaml` when the version is released. From then on the end-to-end test of upgrades applies
 * that copy, which no later change may touch.
 */
test('the objects that this version creates are in the file that becomes those of the next release', async () => {
  const operator = await runWholeOperator();
  await operator.idle();
  // Some objects are registered only when the query server answers; the file includes them.
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
  const stream = yamlStream([...ordinaryObjects, ...made].map(asWritten));
  expectGolden(import.meta.dirname, 'next.yaml', stream);
});

/** Whether the file includes an object. It omits Secrets and objects with the CA: they differ by installation. */
function isMade({ kind, metadata, ...rest }: KubeObject): boolean {
  const labels = metadata.labels ?? {};
  const carriesAuthority = JSON.stringify(rest).includes('caBundle') || metadata.name === 'svc-ca-bundle';
  return labels['app.kubernetes.io/managed-by'] === 'svc-controller' && kind !== 'Secret' && !carriesAuthority;
}

/** The object without what the server adds, and without owners, whose uids differ between clusters. */
function asWritten({ apiVersion, kind, metadata, status: _, ...rest }: KubeObject & { status?: unknown }): KubeObject {
  const { name, namespace, labels, annotations } = metadata;
  const kept = Object.entries({ name, namespace, labels, annotations }).filter(([, value]) => value !== undefined);
  return { apiVersion, kind, metadata: Object.fromEntries(kept), ...rest } as KubeObject;
}
