import { isObject } from '../../base/text/texts.ts';
import { keyTables, selectionKeys, type KeyRule } from './keys.ts';
import type { InstrumentVersion } from './version.ts';

/**
 * Every fault that would make the instrument end at start-up or silently behave otherwise than intended, as sentences
 * that begin with the key. Rules that involve several keys are checked only when each key is valid by itself. An empty
 * list means that this version of the instrument accepts the document and behaves as it says.
 */
export function validateInstrumentDocument(version: InstrumentVersion, document: unknown): string[] {
  const problems: string[] = [];
  checkRule(keyTables[version], document, '', problems);
  if (problems.length === 0) checkWhole(document as Doc, problems);
  return problems;
}

function checkRule(rule: KeyRule, value: unknown, path: string, problems: string[]): void {
  const wrong = (what: string): void => void problems.push(`${path || 'document'}: ${what}`);
  switch (rule.kind) {
    case 'string':
      if (typeof value !== 'string') return wrong('must be a string');
      if (rule.pattern && !rule.pattern.test(value)) return wrong(`${JSON.stringify(value)} has the wrong form`);
      if (/\$[{(]/.test(value)) return wrong('would be expanded from the environment of the instrument');
      return;
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? undefined : wrong('must be a number');
    case 'boolean':
      return typeof value === 'boolean' ? undefined : wrong('must be true or false');
    case 'duration':
      return typeof value === 'string' && /^([0-9]+(ms|s|m|h))+$/.test(value) ? undefined : wrong('must be a duration');
    case 'enum':
      return rule.values.includes(value as string) ? undefined : wrong(`must be one of ${rule.values.join(' ')}`);
    case 'list':
      if (!Array.isArray(value)) return wrong('must be a list');
      return value.forEach((item, i) => checkRule(rule.item, item, `${path}[${i}]`, problems));
    case 'map':
      if (!isObject(value)) return wrong('must be a map');
      return Object.entries(value).forEach(([key, item]) => checkRule(rule.value, item, `${path}.${key}`, problems));
    case 'object':
      if (!isObject(value)) return wrong('must be a map');
      for (const [key, item] of Object.entries(value)) {
        const next = path ? `${path}.${key}` : key;
        const known = Object.hasOwn(rule.keys, key) ? rule.keys[key] : undefined;
        if (known) checkRule(known, item, next, problems);
        else problems.push(`${next}: this version of the instrument has no such key`);
      }
      return;
    case 'either': {
      const attempts = rule.rules.map((r) => {
        const found: string[] = [];
        checkRule(r, value, path, found);
        return found;
      });
      if (!attempts.some((found) => found.length === 0)) problems.push(...attempts[0]!);
    }
  }
}

interface Doc {
  discovery?: { instrument?: Entry[]; exclude_instrument?: Entry[] };
  metrics?: { features?: string[] };
  network?: unknown;
  internal_metrics?: { exporter?: string };
  otel_metrics_export?: { endpoint?: string };
  otel_traces_export?: { endpoint?: string; batch_max_size?: number; queue_size?: number };
}
type Entry = Record<string, unknown>;

/** The rules that involve several keys. */
function checkWhole(doc: Doc, problems: string[]): void {
  const features = doc.metrics?.features ?? [];
  const entries = doc.discovery?.instrument ?? [];
  const has = (prefix: string): boolean => features.some((f) => f === 'all' || f.startsWith(prefix));
  if (features.length === 0) problems.push('metrics.features: at least one feature is needed');
  if (has('application_span') && features.includes('application_span') && features.includes('application_span_otel')) {
    problems.push('metrics.features: application_span and application_span_otel exclude each other');
  }
  if (!doc.otel_metrics_export?.endpoint && !doc.otel_traces_export?.endpoint) {
    problems.push('otel_metrics_export.endpoint: at least one exporter is needed');
  }
  if (entries.length === 0 && !has('network')) {
    problems.push('discovery.instrument: without an entry and without network the instrument has nothing to do');
  }
  for (const [list, items] of [
    ['instrument', entries],
    ['exclude_instrument', doc.discovery?.exclude_instrument ?? []],
  ] as const) {
    items.forEach((entry, i) => {
      if (!selectionKeys.some((key) => entry[key] !== undefined)) {
        problems.push(`discovery.${list}[${i}]: selects nothing`);
      }
    });
  }
  if (doc.internal_metrics?.exporter === 'otel' && !doc.otel_metrics_export?.endpoint) {
    problems.push('internal_metrics.exporter: otel needs otel_metrics_export.endpoint');
  }
  const traces = doc.otel_traces_export;
  if (traces?.queue_size !== undefined && traces.queue_size < 2 * (traces.batch_max_size ?? 0)) {
    problems.push('otel_traces_export.queue_size: must be at least twice batch_max_size');
  }
}
