import { OperatorError } from '../../../base/errors.ts';
import { isPlainLabelName, parse, printMatcher, quote, type Matcher } from '../../../promql/index.ts';
import { anyOf } from '../../../base/text/texts.ts';

/**
 * The position of a placeholder in the query: outside of every string, in a string, or in the string of a `=~` or `!~`.
 */
type Place = { readonly quotes?: '"' | "'"; readonly pattern: boolean };

type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'series' | 'matchers' | 'groupBy'; readonly place: Place }
  | { readonly kind: 'valueOf'; readonly label: string; readonly place: Place };

/** The parsed `metricsQuery` of a rule. */
export type QueryTemplate = readonly Part[];

/** The values that a rule's query is expanded with. */
export interface TemplateValues {
  readonly series: string;
  readonly matchers: readonly Matcher[];
  /** The label whose value is the name of the Kubernetes object. */
  readonly label: string | undefined;
}

const slot =
  /^<<\s*(?:\.(Series)|\.(LabelMatchers)|\.(GroupBy(?:Slice)?)|\.LabelValuesByName\.(\w+)|index\s+\.LabelValuesByName\s+"(\w+)")\s*>>/;

/**
 * Parses a rule's query and finds the position of every placeholder. A string in back quotes becomes a string in double
 * quotes, because back quotes allow no escapes; comments are dropped.
 * Errors: ERR_INPUT_INVALID that names the field: an unknown `<<…>>`, label matchers inside of a string, or a label's
 * value outside of a string.
 */
export function readTemplate(text: string, at: string): QueryTemplate {
  const parts: Part[] = [];
  let plain = '';
  let opened: '"' | "'" | '`' | undefined;
  let pattern = false;
  const add = (more: string): void => void (plain += opened === '`' ? quote(more).slice(1, -1) : more);
  for (let i = 0; i < text.length;) {
    const c = text[i]!;
    if (text.startsWith('<<', i)) {
      const found = slot.exec(text.slice(i));
      if (!found) return refuse(at, `cannot read ${JSON.stringify(text.slice(i, i + 40))}`);
      const place: Place = opened === undefined ? { pattern } : { quotes: opened === "'" ? "'" : '"', pattern };
      parts.push({ kind: 'text', text: plain }, partOf(found, place, at));
      plain = '';
      i += found[0].length;
    } else if (opened === undefined && c === '#') {
      const end = text.indexOf('\n', i);
      i = end < 0 ? text.length : end;
    } else if (opened === undefined && (c === '"' || c === "'" || c === '`')) {
      pattern = /[=!]~\s*$/.test(plain);
      opened = c;
      plain += c === '`' ? '"' : c;
      i++;
    } else if (c === opened) {
      plain += c === '`' ? '"' : c;
      opened = undefined;
      pattern = false;
      i++;
    } else {
      const escaped = c === '\\' && opened !== undefined && opened !== '`';
      add(text.slice(i, i + (escaped ? 2 : 1)));
      i += escaped ? 2 : 1;
    }
  }
  return [...parts, { kind: 'text', text: plain }];
}

function partOf([, series, matchers, groupBy, value, indexed]: RegExpExecArray, place: Place, at: string): Part {
  const quoted = place.quotes !== undefined;
  if (series !== undefined) return { kind: 'series', place };
  if (groupBy !== undefined) return { kind: 'groupBy', place };
  if (matchers !== undefined) {
    return quoted ? refuse(at, '<<.LabelMatchers>> cannot stand inside of a string') : { kind: 'matchers', place };
  }
  if (!quoted) return refuse(at, "a label's value can stand only inside of a string");
  return { kind: 'valueOf', label: value ?? indexed ?? '', place };
}

/** Whether the query can be expanded for a series of this name: outside of strings only plain names are possible. */
export function takesSeries(template: QueryTemplate, series: string): boolean {
  return !template.some((part) => part.kind === 'series' && part.place.quotes === undefined) || isSelector(series);
}

/** Whether the query contains `<<.LabelValuesByName>>` of this label. */
export function insertsValueOf(template: QueryTemplate, label: string): boolean {
  return template.some((part) => part.kind === 'valueOf' && part.label === label);
}

/** Whether the bare name is a selector in PromQL. It is none if it is a keyword, such as `inf`. */
function isSelector(series: string): boolean {
  try {
    const expr = parse(`${series}{}`);
    return expr.kind === 'vector' && /^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(series);
  } catch {
    return false;
  }
}

/**
 * The query with its values filled in. Guarantees: for any values, the query parses to the same tree, apart from names
 * and the text of strings.
 */
export function fillTemplate(template: QueryTemplate, { series, matchers, label }: TemplateValues): string {
  return template
    .map((part) => {
      switch (part.kind) {
        case 'text':
          return part.text;
        case 'series':
          return part.place.quotes === undefined ? series : inString(series, part.place);
        case 'groupBy':
          return part.place.quotes === undefined ? labelText(label ?? '') : inString(label ?? '', part.place);
        case 'matchers':
          return matchers.map(printMatcher).join(',');
        case 'valueOf': {
          const found = matchers.find((matcher) => matcher.name === part.label);
          const isPattern = found?.type === '=~' || found?.type === '!~';
          return inString(found?.value ?? '', { ...part.place, pattern: part.place.pattern && !isPattern });
        }
      }
    })
    .join('');
}

/** A label's name; a name that is not plain is quoted, as PromQL allows. */
function labelText(name: string): string {
  return name === '' || isPlainLabelName(name) ? name : quote(name);
}

function inString(value: string, { quotes, pattern }: Place): string {
  const inner = quote(pattern ? anyOf([value]) : value).slice(1, -1);
  return quotes === "'" ? inner.replaceAll('\\"', '"').replaceAll("'", "\\'") : inner;
}

function refuse(at: string, why: string): never {
  throw new OperatorError('ERR_INPUT_INVALID', `${at}: ${why}`);
}
