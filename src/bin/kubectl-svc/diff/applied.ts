import { isObject } from '../../../base/text/texts.ts';
import type { KubeObject } from '../../../api/meta.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';

/** The annotation in which `kubectl apply` keeps the last applied object. */
export const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * The object as stored after `kubectl apply` of a file: fields of the file are set, fields of the last applied file
 * that are now missing are removed, and fields set by others stay. Lists are replaced as a whole, as kubectl does with
 * custom resources. Pure.
 */
export function applied(live: KubeObject | undefined, wanted: KubeObject): KubeObject {
  if (!live) return { ...wanted, metadata: { generation: 1, ...wanted.metadata }, ...defaulted(wanted) };
  const last = lastApplied(live);
  const spec = merged(live['spec'], wanted['spec'], last?.['spec']);
  const labels = merged(live.metadata.labels, wanted.metadata.labels, last?.metadata?.labels) as Record<string, string>;
  // kubectl adds its own annotation to every file. So a file without other annotations removes those of the last
  // applied file, and keeps those that others have set.
  const { [lastAppliedAnnotation]: _record, ...annotations } = merged(
    live.metadata.annotations,
    wanted.metadata.annotations ?? {},
    last?.metadata?.annotations,
  ) as Record<string, string>;
  const next: KubeObject = { ...live, metadata: { ...live.metadata, labels, annotations }, spec };
  const result = { ...next, ...defaulted(next) };
  const edited = canonicalJson(result['spec'] ?? null) !== canonicalJson(live['spec'] ?? null);
  if (edited) result.metadata = { ...result.metadata, generation: (live.metadata.generation ?? 0) + 1 };
  return result;
}

/** The spec with defaults. The schemas of the compared kinds have a single default: `mode` of a TrafficMonitor. */
function defaulted({ kind, ...object }: KubeObject): { spec: object } {
  const spec = (object['spec'] ?? {}) as object;
  return { spec: kind === 'TrafficMonitor' ? { mode: 'Capture', ...spec } : spec };
}

function lastApplied(live: KubeObject): Partial<KubeObject> | undefined {
  try {
    return JSON.parse(live.metadata.annotations?.[lastAppliedAnnotation] ?? 'null') as Partial<KubeObject> | undefined;
  } catch {
    return undefined;
  }
}

function merged(live: unknown, wanted: unknown, last: unknown): unknown {
  if (wanted === undefined && last === undefined) return live ?? {};
  if (!isObject(wanted)) return wanted ?? {};
  const result: Record<string, unknown> = isObject(live) ? { ...live } : {};
  if (isObject(last))
    for (const key of Object.keys(last)) if (wanted[key] === undefined || wanted[key] === null) delete result[key];
  for (const [key, value] of Object.entries(wanted)) {
    if (value === null) delete result[key];
    else
      result[key] = isObject(value)
        ? merged(isObject(result[key]) ? result[key] : {}, value, isObject(last) ? last[key] : undefined)
        : value;
  }
  return result;
}
