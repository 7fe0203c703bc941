import type { KubeObject, ResourceRef } from '../../../api/meta.ts';
import { clusterTrafficPolicies, trafficMonitors } from '../../../api/v1alpha1/index.ts';
import { errorText } from '../../../base/errors.ts';
import { ApiError, isForbidden, isNotFound, type KubeClient } from '../../../kube/index.ts';
import type { Fault, SourceObject } from './documents.ts';
import { refOf } from './documents.ts';

export interface ServerVerdicts {
  readonly faults: readonly Fault[];
  /** Objects that the server could not check, and why. */
  readonly unasked: readonly string[];
}

const manager = 'kubectl-svc-diff';

/**
 * Asks the API server by a dry run whether it would accept the objects: schema, CEL rules, and admission if enabled.
 * An object with `exists` is patched; any other is created.
 */
export async function askServer(
  client: KubeClient,
  asked: readonly { source: SourceObject; stored: KubeObject; exists: boolean }[],
  signal: AbortSignal,
): Promise<ServerVerdicts> {
  const faults: Fault[] = [];
  const unasked: string[] = [];
  for (const { source, stored, exists } of asked) {
    const resource = stored.kind === 'TrafficMonitor' ? trafficMonitors : clusterTrafficPolicies;
    try {
      await dryRun(client, resource, stored, exists, signal);
    } catch (error) {
      const refusal = refusalsOf(error);
      const { file, document } = source;
      if (refusal) faults.push(...refusal.map((fault) => ({ file, document, object: refOf(stored), ...fault })));
      else if (isForbidden(error) || isNotFound(error)) unasked.push(`${refOf(stored)}: ${errorText(error)}`);
      else throw error;
    }
  }
  return { faults, unasked };
}

async function dryRun(
  client: KubeClient,
  resource: ResourceRef,
  object: KubeObject,
  exists: boolean,
  signal: AbortSignal,
): Promise<void> {
  const options = { dryRun: true, fieldManager: manager, signal };
  const { name = '', namespace, labels, annotations } = object.metadata;
  if (exists) {
    // Without a resourceVersion, as with kubectl apply: a change by others since the read is not a conflict.
    const operations = [
      { op: 'replace', path: '/spec', value: object['spec'] } as const,
      ...Object.entries({ labels, annotations }).flatMap(([member, value]) =>
        value ? [{ op: 'add', path: `/metadata/${member}`, value } as const] : [],
      ),
    ];
    await client.patch(resource, { name, namespace }, { type: 'json', operations }, options);
    return;
  }
  const metadata = {
    name,
    ...(namespace ? { namespace } : {}),
    ...(labels ? { labels } : {}),
    ...(annotations ? { annotations } : {}),
  };
  const { apiVersion, kind, spec } = object;
  await client.create(resource, { apiVersion, kind, metadata, spec } as KubeObject, options);
}

/** Fields and reasons of an answer that refuses the object itself; null for any other error. */
function refusalsOf(error: unknown): { field: string; reason: string }[] | null {
  if (!(error instanceof ApiError)) return null;
  const byWebhook = /admission webhook "/.test(error.message);
  if (error.status !== 422 && error.status !== 400 && !byWebhook) return null;
  const causes = error.causes.filter(({ message }) => message !== undefined);
  if (causes.length === 0) return [{ field: '', reason: error.message }];
  return causes.map(({ field = '', message = '' }) => ({ field, reason: message }));
}
