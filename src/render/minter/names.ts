import type { KubeObject } from '../../api/meta.ts';
import { groupVersion } from '../../api/v1alpha1/index.ts';
import type { MinterDeployment } from '../../api/v1alpha1/index.ts';
import { ports } from '../names.ts';
import { objectOf } from '../objects.ts';
import type { RenderedKind } from '../objects.ts';

/**
 * The names of the objects of one minter: the name of the MinterDeployment, or the one that the spec gives. The ConfigMap
 * of the rules has the suffix `-rules` unless the spec names it.
 */
export function minterNames(minter: MinterDeployment) {
  const name = minter.metadata.name ?? '';
  return {
    deployment: name,
    service: name,
    serviceAccount: minter.spec.serviceAccount.name ?? name,
    rules: minter.spec.rules.configMapRef?.name ?? `${name}-rules`,
    networkPolicy: name,
  };
}

/** The URL of a minter inside the cluster. Also its audience, unless the spec names another. */
export function minterUrl(minter: MinterDeployment): string {
  const scheme = minter.spec.tls ? 'https' : 'http';
  const { name = '', namespace = '' } = minter.metadata;
  return `${scheme}://${name}.${namespace}.svc.cluster.local:${ports.minter}`;
}

/** An object in the minter's namespace that the garbage collector removes with it. */
export function minterObject(
  kind: RenderedKind,
  minter: MinterDeployment,
  name: string,
  body: Record<string, unknown>,
): KubeObject {
  const owner = minter.metadata;
  const object = objectOf(
    kind,
    { component: 'minter', name, namespace: owner.namespace ?? '', instance: owner.name ?? '' },
    body,
  );
  object.metadata.ownerReferences = [
    {
      apiVersion: groupVersion,
      kind: 'MinterDeployment',
      name: owner.name ?? '',
      uid: owner.uid ?? '',
      controller: true,
      blockOwnerDeletion: true,
    },
  ];
  return object;
}
