import { parseJson } from '../../../base/text/parse-json.ts';
import { customGroup, externalGroup, type ValuePath } from '../api/paths.ts';
import { AdapterFailure } from './adapter-failure.ts';

/** Most values of an answer, which may have some 10 for each object. They take up to 150 MB. */
const maxValues = 1_000_000;
/** A Kubernetes quantity, as text. */
const quantityText = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?$/;

type Members = Readonly<Record<string, unknown>>;

/**
 * Validates an answer of the second adapter, another metrics server, against the request: kind, version, and for each
 * item the object, the metric, the time and the value.
 * Errors: AdapterFailure `invalid`, which names the field.
 */
export function readValues(text: Buffer, path: ValuePath): unknown {
  const list = members(parsed(text), 'the answer');
  const external = path.kind === 'external';
  const kind = external ? 'ExternalMetricValueList' : 'MetricValueList';
  const version = external ? `${externalGroup}/v1beta1` : `${customGroup}/${path.version}`;
  if (list['kind'] !== kind) throw invalid('kind', `${shown(list['kind'])}, not ${kind}`);
  if (list['apiVersion'] !== version) throw invalid('apiVersion', `${shown(list['apiVersion'])}, not ${version}`);
  const items = list['items'] ?? [];
  if (!Array.isArray(items)) throw invalid('items', 'not a list');
  for (const [i, item] of items.entries()) checkItem(members(item, `items[${i}]`), path, `items[${i}]`);
  return { ...list, items };
}

function checkItem(item: Members, path: ValuePath, field: string): void {
  const { timestamp, value } = item;
  const isNamed = path.kind === 'external' || path.version === 'v1beta1';
  const metric = isNamed ? item['metricName'] : members(item['metric'], `${field}.metric`)['name'];
  if (metric !== path.metric) throw invalid(`${field}.metric`, `${shown(metric)}, not ${path.metric}`);
  if (typeof value !== 'string' || !quantityText.test(value)) throw invalid(`${field}.value`, 'not a quantity');
  if (typeof timestamp !== 'string' || Number.isNaN(Date.parse(timestamp))) {
    throw invalid(`${field}.timestamp`, 'not a time');
  }
  if (path.kind === 'external') return;
  const object = members(item['describedObject'], `${field}.describedObject`);
  const { name, namespace = '' } = object;
  if (typeof name !== 'string' || (path.name !== '*' && name !== path.name)) {
    throw invalid(`${field}.describedObject.name`, `${shown(name)}, not ${path.name}`);
  }
  if (path.namespace !== undefined && namespace !== path.namespace) {
    throw invalid(`${field}.describedObject.namespace`, `${shown(namespace)}, not ${path.namespace}`);
  }
}

/** The members of a JSON object. Errors: AdapterFailure `invalid`. */
export function members(value: unknown, field: string): Members {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members;
  throw invalid(field, 'not an object');
}

/** Parses an answer as JSON. Errors: AdapterFailure `invalid`. */
export function parsed(text: Buffer): unknown {
  try {
    return parseJson(text, 'its answer', maxValues);
  } catch (cause) {
    throw new AdapterFailure('invalid', (cause as Error).message, { cause });
  }
}

export const invalid = (field: string, reason: string): AdapterFailure =>
  new AdapterFailure('invalid', `its answer cannot be used: ${field}: ${reason}`);

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 100);
