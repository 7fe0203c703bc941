import type { Exemplar } from '../otlp/model.ts';
import type { ExpositionFormat } from './negotiate.ts';

/** A metric family as a page shows it, wherever its values come from. */
export interface PageFamily {
  /** As it is queried: with `_total` where it has one. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
  readonly help: string;
  /** As the sender gave it (UCUM), or empty. */
  readonly unit: string;
  /** Blocks of lines that belong together: each is written without a pause. */
  readonly blocks: Iterable<readonly PageSample[]>;
}

/** One line. `labels` is the text between the braces. */
export interface PageSample {
  readonly suffix: string;
  readonly labels: string;
  readonly value: number;
  readonly exemplar?: Exemplar | null;
}

/** About how much text is handed out at a time. Units: characters. */
const chunkChars = 32 * 1024;

/**
 * Writes families as a page of the Prometheus text format 0.0.4 or of OpenMetrics 1.0, in chunks of about 32 KiB,
 * so that the caller can pause between them. Families without a sample are left out.
 *
 * The names are a contract and the same in both formats. OpenMetrics wants `_total` at the end of a counter: one that
 * has none is of type `unknown` there. `# UNIT` stands only where the name ends with the unit, as OpenMetrics demands;
 * exemplars stand in OpenMetrics only, on buckets and on counters.
 */
export function* pageText(families: Iterable<PageFamily>, format: ExpositionFormat): Generator<string> {
  const taken = new Set<string>();
  let text = '';
  for (const family of families) {
    let head: string | null = null;
    const shown = format === 'openmetrics' ? openFamily(family, taken) : { name: family.name, type: family.type };
    for (const block of family.blocks) {
      for (const sample of block) {
        if (head === null) {
          head = header(family, shown, format);
          text += head;
          taken.add(shown.name);
        }
        text += line(family.name, shown.type, sample, format);
      }
      if (text.length >= chunkChars) {
        yield text;
        text = '';
      }
    }
  }
  if (format === 'openmetrics') text += '# EOF\n';
  if (text !== '') yield text;
}

interface Shown {
  readonly name: string;
  readonly type: PageFamily['type'] | 'unknown';
}

/** A counter's family is named without `_total`, unless another family has that name already. */
function openFamily({ name, type }: PageFamily, taken: ReadonlySet<string>): Shown {
  if (type !== 'counter') return { name, type };
  const base = name.endsWith('_total') ? name.slice(0, -'_total'.length) : '';
  return base !== '' && !taken.has(base) ? { name: base, type } : { name, type: 'unknown' };
}

function header(family: PageFamily, shown: Shown, format: ExpositionFormat): string {
  const { name, type } = shown;
  const help = family.help === '' ? '' : `# HELP ${name} ${escapeHelp(family.help, format)}\n`;
  if (format === 'text') return `${help}# TYPE ${name} ${type}\n`;
  const unit = unitWord(family.unit, name);
  return `# TYPE ${name} ${type}\n${unit === '' ? '' : `# UNIT ${name} ${unit}\n`}${help}`;
}

/** UCUM units and the words that Prometheus uses for them. */
const unitWords: Readonly<Record<string, string>> = {
  s: 'seconds',
  By: 'bytes',
  '{bytes}': 'bytes',
  '1': 'ratio',
};

/** The unit that a family's name ends with, or nothing: OpenMetrics refuses any other. */
function unitWord(unit: string, name: string): string {
  const word = unitWords[unit] ?? ['seconds', 'bytes', 'ratio'].find((w) => name.endsWith(`_${w}`)) ?? '';
  return name.endsWith(`_${word}`) ? word : '';
}

function line(name: string, type: Shown['type'], sample: PageSample, format: ExpositionFormat): string {
  const { suffix, labels, value, exemplar } = sample;
  const braces = labels === '' ? '' : `{${labels}}`;
  const head = `${name}${suffix}${braces} ${numberText(value)}`;
  const may = exemplar && format === 'openmetrics' && (suffix === '_bucket' || type === 'counter');
  return may ? `${head}${exemplarText(exemplar)}\n` : `${head}\n`;
}

/** 128 characters are what OpenMetrics allows: two identifiers take 73. */
function exemplarText({ traceId, spanId, value, timeNs }: Exemplar): string {
  const span = spanId === '' ? '' : `,span_id="${spanId}"`;
  const time = timeNs > 0 ? ` ${(timeNs / 1e9).toFixed(3)}` : '';
  return ` # {trace_id="${traceId}"${span}} ${numberText(value)}${time}`;
}

/** A sample value as both formats want it. */
export function numberText(value: number): string {
  if (value === Infinity) return '+Inf';
  if (value === -Infinity) return '-Inf';
  return String(value);
}

/** A bound or quantile: OpenMetrics wants a point in every number. `text` is what the series' label says. */
export function boundLabel(text: string, format: ExpositionFormat): string {
  return format === 'openmetrics' && /^-?\d+$/.test(text) ? `${text}.0` : text;
}

/** Backslash, double quote and line feed are escaped; everything else is UTF-8 as it is. */
export function escapeLabelValue(value: string): string {
  if (!/[\\"\n]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function escapeHelp(text: string, format: ExpositionFormat): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return format === 'openmetrics' ? escaped.replaceAll('"', '\\"') : escaped;
}
