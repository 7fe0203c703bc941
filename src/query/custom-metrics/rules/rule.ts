import { parse as parseYaml } from 'yaml';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { OperatorError } from '../../../base/errors.ts';
import { type Matcher, parseSelector } from '../../../promql/index.ts';
import { labelReader, metricNamer, nameTest, type NamedKind } from './rule-patterns.ts';
import { type QueryTemplate, readTemplate } from './query-template.ts';

/** One rule of a prometheus-adapter configuration, checked. */
export interface AdapterRule {
  /** Canonical JSON of the rule: rules of equal text make equal metrics. */
  readonly text: string;
  readonly seriesQuery: string;
  readonly matchers: readonly Matcher[];
  /** Whether a series of this name is selected: its name passes all filters. */
  readonly selects: (series: string) => boolean;
  /** Label → kind of object, such as `pod` or `deployments.apps`. */
  readonly overrides: ReadonlyMap<string, string>;
  /** The kind of objects that a label of this form names; undefined without a template. */
  readonly kindOf: ((label: string) => NamedKind | undefined) | undefined;
  /** Whether an external metric is that of the requested namespace. Other metrics always are. */
  readonly namespaced: boolean;
  /** The metric's name for a series' name; undefined if the rule does not match it. */
  readonly nameOf: (series: string) => string | undefined;
  readonly metricsQuery: QueryTemplate;
}

export interface AdapterRules {
  readonly rules: readonly AdapterRule[];
  readonly externalRules: readonly AdapterRule[];
}

/**
 * Reads a prometheus-adapter configuration: `rules` and `externalRules`. `unread` has the keys that are not read, with
 * their places. The adapter refuses keys that it does not know; here, they take no metric away.
 * Errors: ERR_INPUT_INVALID that names the rule and its field.
 */
export function readAdapterRules(text: string): AdapterRules & { readonly unread: readonly string[] } {
  let document: unknown;
  try {
    document = parseYaml(text);
  } catch (cause) {
    throw new OperatorError('ERR_INPUT_INVALID', 'rules: not YAML', { cause });
  }
  const unread: string[] = [];
  const fields: ReadFields = (value, at, known) => {
    const found = mapping(value, at === '' ? 'the file' : at);
    for (const key of Object.keys(found)) if (!known.includes(key)) unread.push(at === '' ? key : `${at}.${key}`);
    return found;
  };
  const root = fields(document ?? {}, '', ['rules', 'externalRules']);
  const list = (name: string): AdapterRule[] => {
    const value = root[name] ?? [];
    if (!Array.isArray(value)) return refuse(name, 'must be a list');
    return value.map((rule, i) => readRule(rule, `${name}[${i}]`, fields));
  };
  return { rules: list('rules'), externalRules: list('externalRules'), unread };
}

type Mapping = Readonly<Record<string, unknown>>;

/** The mapping at a place of the file, of which these keys are read. Errors: ERR_INPUT_INVALID. */
type ReadFields = (value: unknown, at: string, known: readonly string[]) => Mapping;

function readRule(value: unknown, at: string, fields: ReadFields): AdapterRule {
  const rule = fields(value, at, ['seriesQuery', 'seriesFilters', 'resources', 'name', 'metricsQuery']);
  const seriesQuery = text(rule['seriesQuery'], `${at}.seriesQuery`);
  const metricsQuery = readTemplate(text(rule['metricsQuery'], `${at}.metricsQuery`), `${at}.metricsQuery`);
  const resources = fields(rule['resources'] ?? {}, `${at}.resources`, ['template', 'overrides', 'namespaced']);
  const name = fields(rule['name'] ?? {}, `${at}.name`, ['matches', 'as']);
  const filters = rule['seriesFilters'] ?? [];
  if (!Array.isArray(filters)) return refuse(`${at}.seriesFilters`, 'must be a list');
  const tests = filters.flatMap((filter, i) => {
    const { is, isNot } = fields(filter, `${at}.seriesFilters[${i}]`, ['is', 'isNot']);
    const test = (pattern: unknown, where: string): ((series: string) => boolean) =>
      nameTest(text(pattern, where), where);
    const isMatch = is === undefined ? undefined : test(is, `${at}.seriesFilters[${i}].is`);
    const isOther = isNot === undefined ? undefined : test(isNot, `${at}.seriesFilters[${i}].isNot`);
    return [...(isMatch ? [isMatch] : []), ...(isOther ? [(series: string): boolean => !isOther(series)] : [])];
  });
  const namespaced = resources['namespaced'] ?? true;
  if (typeof namespaced !== 'boolean') return refuse(`${at}.resources.namespaced`, 'must be true or false');
  const template = optionalText(resources['template'], `${at}.resources.template`);
  const overrides = Object.entries(mapping(resources['overrides'] ?? {}, `${at}.resources.overrides`));
  return {
    text: canonicalJson(rule),
    seriesQuery,
    matchers: selector(seriesQuery, `${at}.seriesQuery`),
    selects: (series) => tests.every((test) => test(series)),
    overrides: new Map(
      overrides.map(([label, of]) => {
        const { group = '', resource } = fields(of, `${at}.resources.overrides.${label}`, ['group', 'resource']);
        const kind = plural(text(resource, `${at}.resources.overrides.${label}.resource`));
        return [label, group === '' ? kind : `${kind}.${text(group, 'group')}`];
      }),
    ),
    namespaced,
    kindOf: template === undefined ? undefined : labelReader(template, `${at}.resources.template`),
    nameOf: metricNamer(
      optionalText(name['matches'], `${at}.name.matches`) ?? '.*',
      optionalText(name['as'], `${at}.name.as`),
      `${at}.name.matches`,
    ),
    metricsQuery,
  };
}

function selector(query: string, at: string): readonly Matcher[] {
  try {
    return parseSelector(query).matchers;
  } catch (cause) {
    return refuse(at, cause instanceof Error ? cause.message : 'not a selector');
  }
}

/** The plural of a kind, which rules name in the singular or the plural. */
const plural = (kind: string): string => (kind.endsWith('s') ? kind : `${kind}s`);

function mapping(value: unknown, at: string): Mapping {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse(at, 'must be a mapping');
  return value as Mapping;
}

function text(value: unknown, at: string): string {
  return typeof value === 'string' && value !== '' ? value : refuse(at, 'must be text');
}

const optionalText = (value: unknown, at: string): string | undefined =>
  value === undefined || value === '' ? undefined : text(value, at);

function refuse(at: string, why: string): never {
  throw new OperatorError('ERR_INPUT_INVALID', `${at}: ${why}`);
}
