import type { DataKind } from '../object-cache.ts';
import { fieldValue, resourceValue } from '../volumes/downward.ts';
import type { PodAddresses } from '../volumes/downward.ts';
import { WaitingError } from '../types.ts';
import type { Container, DataObject, EnvVar, Pod } from '../types.ts';

/** Reads a config map or secret of the pod's namespace. */
export type ReadData = (kind: DataKind, name: string) => Promise<DataObject | undefined>;

/**
 * A container's own environment: `envFrom` in order, then `env` in order, `$(NAME)` expanded from what came before.
 * Errors: a `WaitingError` with reason CreateContainerConfigError if a source that is not optional is missing.
 */
export async function containerEnvironment(
  pod: Pod,
  container: Container,
  addresses: PodAddresses,
  read: ReadData,
): Promise<Record<string, string>> {
  const env: Record<string, string> = {};
  for (const source of container.envFrom ?? []) {
    const prefix = source.prefix ?? '';
    const kind: DataKind = source.secretRef ? 'secrets' : 'configmaps';
    const ref = source.secretRef ?? source.configMapRef;
    if (!ref) continue;
    const object = await read(kind, ref.name);
    if (!object && !ref.optional) throw missing(`${singular(kind)} "${ref.name}" not found`);
    for (const [key, value] of Object.entries(object?.data ?? {})) env[prefix + key] = decode(kind, value);
  }
  for (const variable of container.env ?? []) {
    const value = await valueOf(pod, container, addresses, variable, read);
    if (value !== undefined) env[variable.name] = variable.valueFrom ? value : expand(value, env);
  }
  return env;
}

/** Replaces `$(NAME)` by the variable, `$$` by `$`; a name that is not set stays as it is written. */
export function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$(\$|\(([A-Za-z_.-][\w.-]*)\))/g, (match, what: string, name?: string) =>
    what === '$' ? '$' : (env[name ?? ''] ?? match),
  );
}

async function valueOf(
  pod: Pod,
  container: Container,
  addresses: PodAddresses,
  variable: EnvVar,
  read: ReadData,
): Promise<string | undefined> {
  const from = variable.valueFrom;
  if (!from) return variable.value ?? '';
  if (from.fieldRef) return fieldValue(pod, addresses, from.fieldRef);
  if (from.resourceFieldRef) return resourceValue(pod, container, from.resourceFieldRef);
  const kind: DataKind = from.secretKeyRef ? 'secrets' : 'configmaps';
  const ref = from.secretKeyRef ?? from.configMapKeyRef;
  if (!ref) return '';
  const object = await read(kind, ref.name);
  const value = object?.data?.[ref.key];
  if (value !== undefined) return decode(kind, value);
  if (ref.optional) return undefined;
  throw missing(
    object
      ? `couldn't find key ${ref.key} in ${singular(kind)} ${pod.metadata.namespace}/${ref.name}`
      : `${singular(kind)} "${ref.name}" not found`,
  );
}

const singular = (kind: DataKind): string => (kind === 'secrets' ? 'secret' : 'configmap');
const missing = (message: string): WaitingError => new WaitingError('CreateContainerConfigError', message);
const decode = (kind: DataKind, value: string): string =>
  kind === 'secrets' ? Buffer.from(value, 'base64').toString('utf8') : value;
