import type { Exemplar } from '../otlp/model.ts';
import type { ExpositionFormat } from './negotiate.ts';
import { PageWriter } from './page-writer.ts';

/** A metric family of a page, wherever its values come from. */
export interface PageFamily {
  /** The name that queries use, including a suffix `_total`. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
  readonly help: string;
  /** The unit that the sender gave (UCUM), or empty. */
  readonly unit: string;
  /** Blocks of lines that belong together; the writer pauses only between blocks. */
  readonly blocks: Iterable<readonly PageSample[]>;
}

/** One line. */
export interface PageSample {
  readonly suffix: string;
  /** The text between the braces, UTF-8, without `extra`. */
  readonly labels: Uint8Array;
  /** The label that distinguishes the line within its block, such as `le="1"`; or empty. */
  readonly extra: string;
  readonly value: number;
  readonly exemplar?: Exemplar | null;
}

/**
 * Writes families as a page of the Prometheus text format 0.0.4 or of OpenMetrics 1.0, in chunks of about 128 KiB of
 * UTF-8, so that the caller can pause between them. A chunk is valid until the next one is asked for. Families without a
 * sample are left out.
 *
 * The names are a contract and the same in both formats. OpenMetrics requires `_total` at the end of a counter's name:
 * a counter without it has the type `unknown` there. `# UNIT` is written only when the name ends with the unit, as
 * OpenMetrics demands. Exemplars appear only in OpenMetrics, on buckets and on counters.
 */
export function* writePage(families: Iterable<PageFamily>, format: ExpositionFormat): Generator<Uint8Array> {
  const taken = new Set<string>();
  const out = new PageWriter();
  for (const family of families) {
    let begun = false;
    const names = new Map<string, Uint8Array>();
    const shown = format === 'openmetrics' ? openFamily(family, taken) : { name: family.name, type: family.type };
    for (const block of family.blocks) {
      for (const sample of block) {
        if (!begun) {
          begun = true;
          out.text(header(family, shown, format));
          taken.add(shown.name);
        }
        let name = names.get(sample.suffix);
        if (!name) names.set(sample.suffix, (name = encoder.encode(family.name + sample.suffix)));
        writeLine(out, name, shown.type, sample, format);
      }
      if (out.full) yield out.take();
    }
  }
  if (format === 'openmetrics') out.text('# EOF\n');
  if (!out.empty) yield out.take();
}

const encoder = new TextEncoder();

interface Shown {
  readonly name: string;
  readonly type: PageFamily['type'] | 'unknown';
}

/** In OpenMetrics, a counter's family is named without `_total`, unless another family has that name already. */
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

/** The unit that a family's name ends with, or none: OpenMetrics refuses any other. */
function unitWord(unit: string, name: string): string {
  const word = unitWords[unit] ?? ['seconds', 'bytes', 'ratio'].find((w) => name.endsWith(`_${w}`)) ?? '';
  return name.endsWith(`_${word}`) ? word : '';
}

function writeLine(
  out: PageWriter,
  name: Uint8Array,
  type: Shown['type'],
  { suffix, labels, extra, value, exemplar }: PageSample,
  format: ExpositionFormat,
): void {
  out.bytes(name);
  if (labels.length > 0 || extra !== '') {
    out.text('{');
    out.bytes(labels);
    if (labels.length > 0 && extra !== '') out.text(',');
    out.text(extra);
    out.text('}');
  }
  out.text(' ');
  out.text(numberText(value));
  const allowed = format === 'openmetrics' && (suffix === '_bucket' || type === 'counter');
  if (exemplar && allowed) out.text(exemplarText(exemplar));
  out.text('\n');
}

/** OpenMetrics allows 128 characters of label names and values in an exemplar; the two identifiers take 63. */
function exemplarText({ traceId, spanId, value, timeNs }: Exemplar): string {
  const span = spanId === '' ? '' : `,span_id="${spanId}"`;
  const time = timeNs > 0 ? ` ${(timeNs / 1e9).toFixed(3)}` : '';
  return ` # {trace_id="${traceId}"${span}} ${numberText(value)}${time}`;
}

/** A sample value in the form of both formats. */
export function numberText(value: number): string {
  if (value === Infinity) return '+Inf';
  if (value === -Infinity) return '-Inf';
  return String(value);
}

/** The text of a bound or quantile, from the stored label value. OpenMetrics requires a decimal point in it. */
export function boundLabel(text: string, format: ExpositionFormat): string {
  return format === 'openmetrics' && /^-?\d+$/.test(text) ? `${text}.0` : text;
}

/** Escapes backslash, double quote and line feed; everything else is UTF-8 unchanged. */
export function escapeLabelValue(value: string): string {
  if (!/[\\"\n]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function escapeHelp(text: string, format: ExpositionFormat): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return format === 'openmetrics' ? escaped.replaceAll('"', '\\"') : escaped;
}
