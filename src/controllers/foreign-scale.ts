import type { KubeObject } from '../api/meta.ts';

/**
 * Leaves `spec.replicas` out of a Deployment that an autoscaler scales, so that applying it gives the field up instead
 * of overwriting it. A manager that scales through the `scale` subresource counts as an autoscaler, unless it is
 * kubectl: a manual edit is undone. Pure; other objects are returned unchanged.
 * Caveats: when the autoscaler is removed, its last number stays until another manager sets one.
 */
export function withForeignScale(rendered: KubeObject, live: KubeObject | undefined): KubeObject {
  if (rendered.kind !== 'Deployment' || !live || !isAutoscaled(live)) return rendered;
  const { replicas: _, ...spec } = rendered['spec'] as { replicas?: number };
  return { ...rendered, spec };
}

function isAutoscaled(live: KubeObject): boolean {
  return (live.metadata.managedFields ?? []).some((entry) => {
    const spec = entry.fieldsV1?.['f:spec'] as Record<string, unknown> | undefined;
    return entry.subresource === 'scale' && !entry.manager?.startsWith('kubectl') && spec?.['f:replicas'] !== undefined;
  });
}
