/** The two text formats of the metrics page. */
export type ExpositionFormat = 'text' | 'openmetrics';
export type ExpositionEncoding = 'identity' | 'gzip' | 'zstd';

/**
 * The Content-Type of each format. Metric and label names hold only characters that every parser knows, so no escaping
 * scheme is needed.
 */
export const contentTypes: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/**
 * The format that an Accept header prefers (RFC 9110 §12.5.1); plain text, as from other exporters, when it accepts
 * neither of ours. Of equal weights the first wins. An unknown version is skipped.
 */
export function chooseFormat(accept: string | undefined): ExpositionFormat {
  let best: { format: ExpositionFormat; weight: number } = { format: 'text', weight: 0 };
  for (const range of parseQualityList(accept ?? '')) {
    const format = formatOf(range);
    if (format && range.weight > best.weight) best = { format, weight: range.weight };
  }
  return best.format;
}

function formatOf({ value, parameters }: Weighted): ExpositionFormat | null {
  const version = parameters.get('version');
  switch (value) {
    case 'application/openmetrics-text':
      return version === undefined || version === '1.0.0' || version === '0.0.1' ? 'openmetrics' : null;
    case 'text/plain':
      // 1.0.0 is 0.0.4 with quoted names allowed; our names need no quotes.
      return version === undefined || version === '0.0.4' || version === '1.0.0' ? 'text' : null;
    case 'text/*':
    case '*/*':
      return 'text';
    default:
      return null;
  }
}

/** The encoding that an Accept-Encoding header prefers; of equal weights gzip, which costs the least here. */
export function chooseEncoding(acceptEncoding: string | undefined): ExpositionEncoding {
  const weights = new Map(parseQualityList(acceptEncoding ?? '').map(({ value, weight }) => [value, weight]));
  const rest = weights.get('*') ?? 0;
  const gzip = weights.get('gzip') ?? weights.get('x-gzip') ?? rest;
  const zstd = weights.get('zstd') ?? 0;
  const identity = weights.get('identity') ?? 0;
  if (gzip > 0 && gzip >= zstd && gzip >= identity) return 'gzip';
  return zstd > 0 && zstd >= identity ? 'zstd' : 'identity';
}

/** One member of an Accept or Accept-Encoding header. `value` and parameter names are lower-case. */
interface Weighted {
  readonly value: string;
  /** In [0, 1]; 1 when the header gives none, 0 when its value is not a valid weight. */
  readonly weight: number;
  readonly parameters: ReadonlyMap<string, string>;
}

/** Members of a header with quality values, in its order (RFC 9110 §12.4.2). Members that do not parse are left out. */
function parseQualityList(header: string): Weighted[] {
  const list: Weighted[] = [];
  for (const member of header.split(',')) {
    const [head = '', ...rest] = member.split(';');
    const value = head.trim().toLowerCase();
    if (value === '') continue;
    const parameters = new Map<string, string>();
    for (const parameter of rest) {
      const at = parameter.indexOf('=');
      if (at < 0) continue;
      const text = parameter.slice(at + 1).trim();
      parameters.set(parameter.slice(0, at).trim().toLowerCase(), text.replace(/^"(.*)"$/, '$1'));
    }
    list.push({ value, weight: weightOf(parameters.get('q')), parameters });
  }
  return list;
}

function weightOf(text: string | undefined): number {
  if (text === undefined) return 1;
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}
