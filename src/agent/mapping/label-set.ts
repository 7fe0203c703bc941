import { nodeLabel } from '../../api/labels.ts';
import { compareUtf8 } from '../../tsdb/index.ts';
import type { AnyValue, Attribute } from '../otlp/model.ts';
import { labelName } from './names.ts';

export type Pair = readonly [name: string, value: string];

const alwaysDropped = 'span.metrics.skip';

/** False for Resource attributes that describe the sender's software or machine, not the workload. */
export function isPromoted(key: string): boolean {
  return !(
    key === 'container.id' ||
    key === 'k8s.pod.ip' ||
    key.startsWith('telemetry.') ||
    key.startsWith('host.') ||
    key.startsWith('obi.') ||
    key.startsWith('beyla.') ||
    key === 'os.type' ||
    key === 'service.instance.id' ||
    key === alwaysDropped
  );
}

export interface LabelRules {
  readonly drop: ReadonlySet<string>;
  /** Longest label value, in characters. */
  readonly maxValueLength: number;
  readonly node: string;
  /** Redacts an attribute; undefined drops it. */
  readonly redact: (key: string, value: AnyValue) => AnyValue | undefined;
  /**
   * The values of labels that were made of a Resource's attributes before, by the same rules for redaction and length;
   * null for those that redaction dropped. All streams of a Resource share its attributes.
   */
  readonly made: WeakMap<Attribute, string | null>;
}

/**
 * The labels of one stream without its metric name, sorted by name. The point's attributes override the promoted
 * Resource attributes. Dropped labels are left out, and `k8s_node_name` is always this node.
 * When two keys of the Resource, or two of the point, escape to one name, their values are joined with `;`, in the
 * order of the keys.
 */
export function streamLabels(
  resource: readonly Attribute[],
  point: readonly Attribute[],
  rules: LabelRules,
): readonly Pair[] {
  const byName = new Map<string, string>();
  collect(resource, true, rules, byName);
  if (point.length > 0) {
    const own = new Map<string, string>();
    collect(point, false, rules, own);
    for (const [name, value] of own) byName.set(name, value);
  }
  byName.set(nodeLabel, rules.node);
  const pairs: Pair[] = [];
  for (const [name, value] of byName) if (value !== '') pairs.push([name, value]);
  return pairs.sort((a, b) => compareUtf8(a[0], b[0]));
}

function collect(
  attributes: readonly Attribute[],
  fromResource: boolean,
  rules: LabelRules,
  into: Map<string, string>,
): void {
  let joined: Map<string, { key: string; value: string }[]> | undefined;
  for (const attribute of attributes) {
    const { key } = attribute;
    if (key === alwaysDropped || (fromResource && !isPromoted(key))) continue;
    const name = freeOfReserved(labelName(key));
    if (rules.drop.has(name)) continue;
    const text = fromResource ? sharedLabelText(attribute, rules) : labelText(attribute, rules);
    if (text === null) continue;
    const before = into.get(name);
    if (before === undefined) into.set(name, text);
    else {
      joined ??= new Map();
      const parts = joined.get(name) ?? [{ key: firstKey(attributes, name), value: before }];
      parts.push({ key, value: text });
      joined.set(name, parts);
    }
  }
  for (const [name, parts] of joined ?? []) {
    parts.sort((a, b) => compareUtf8(a.key, b.key));
    into.set(name, truncate([...new Map(parts.map((p) => [p.key, p.value])).values()].join(';'), rules.maxValueLength));
  }
}

function sharedLabelText(attribute: Attribute, rules: LabelRules): string | null {
  let text = rules.made.get(attribute);
  if (text === undefined) rules.made.set(attribute, (text = labelText(attribute, rules)));
  return text;
}

function labelText({ key, value }: Attribute, { redact, maxValueLength }: LabelRules): string | null {
  const kept = redact(key, value);
  return kept === undefined ? null : truncate(valueText(kept), maxValueLength);
}

function firstKey(attributes: readonly Attribute[], name: string): string {
  return attributes.find(({ key }) => freeOfReserved(labelName(key)) === name)?.key ?? name;
}

/** `le` and `quantile` belong to histograms and summaries. */
function freeOfReserved(name: string): string {
  return name === 'le' || name === 'quantile' ? `exported_${name}` : name;
}

/** The texts of lists, maps and bytes, which may be long, and of which each stream of a Resource asks. */
const texts = new WeakMap<object, string>();

/** An attribute value as a label's text: plain for scalars, JSON for lists and maps, base64 for bytes. */
export function valueText(value: AnyValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (value === null) return '';
  let text = texts.get(value);
  if (text === undefined) {
    const plain = plainValue(value);
    texts.set(value, (text = typeof plain === 'string' ? plain : JSON.stringify(plain)));
  }
  return text;
}

/** An attribute value as plain JSON data. */
export function plainValue(value: AnyValue): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(plainValue);
  const entries = (value as { entries: readonly Attribute[] }).entries;
  return Object.fromEntries(entries.map((e) => [e.key, plainValue(e.value)]));
}

/** Approximate memory of a value and all that it holds. Units: bytes. */
export function memoryOf(value: unknown): number {
  // One character beyond Latin-1 makes all characters of a text take two bytes.
  if (typeof value === 'string') return /[^\0-\xff]/.test(value) ? 2 * value.length : value.length;
  if (value instanceof Uint8Array) return 96 + value.byteLength;
  if (Array.isArray(value)) return value.reduce((sum: number, element) => sum + 16 + memoryOf(element), 16);
  if (typeof value !== 'object' || value === null) return 16;
  return Object.entries(value).reduce((sum, [key, member]) => sum + 48 + key.length + memoryOf(member), 0);
}

/** Cuts a text without lone surrogates to `max` characters, never through a surrogate pair. */
export function truncate(text: string, max: number): string {
  if (text.length <= max) return text;
  return copied(text.slice(0, /[\ud800-\udbff]/.test(text[max - 1] ?? '') ? max - 1 : max));
}

/** The text with memory of its own: a slice keeps the whole text that it is a part of. */
export function copied(slice: string): string {
  return Buffer.from(slice).toString();
}

/** The text of the attribute with this key; `''` where there is none. */
export function attributeText(attributes: readonly Attribute[], key: string): string {
  for (const attribute of attributes) if (attribute.key === key) return valueText(attribute.value);
  return '';
}
